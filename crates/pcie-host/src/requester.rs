//! A core that reads and writes the buffer as a device would: same addresses, sizes and cache states.
//!
//! A latency is that of one load, or of one store and the load after it, and includes reading the clock, which
//! takes longer than a load that hits a cache. A pointer chase therefore times many loads at once, each of which
//! waits for the one before it. A bandwidth is that of one core, whose hardware limits the accesses in flight.
//! Slices during which the kernel ran another program on the core are measured again.

use crate::buffer::{Buffer, SharedBuffer};
use crate::clock::Clock;
use crate::host::over_buffer;
use crate::preemption::Preemption;
use crate::topology::Topology;
use pcie_bench::{
    BandwidthSlice, Condition, Device, DeviceError, DeviceFacts, DeviceHardware, LatencySlice, Remarks,
    Start, Stop, TimerFacts,
};
use pcie_workload::{AddressList, CacheState, Operation, Path, Test, cycle};
use std::hint::black_box;
use std::ops::ControlFlow;

/// Samples in a slice: few, so that the list of their addresses takes little cache.
const LATENCY_SLICE: u64 = 512;
/// Loads in a slice of a pointer chase: enough for reading the clock to cost under 1 % of those that hit the L1
/// cache, and less than a millisecond of those that miss all caches.
const CHASE_SLICE: u64 = 4096;
/// Slices of a chase whose results are returned at once: 50 ms of loads that miss all caches.
const CHASE_SLICES_AT_ONCE: usize = 32;
/// Most loads of a pass before each slice: those of 1 MiB, as much as many L2 caches hold.
const CHASE_FETCHED_MOST: u64 = 1 << 14;
/// The unit of a chase's latencies, which are averages over a slice.
const CHASE_TIMER: TimerFacts = TimerFacts { numerator_ns: 1, denominator: 1000, cycles: 1 };
const PICOSECONDS_IN_NS: f64 = 1000.0;
/// Visits to a cold window, in units of its size, after which its lines count as loaded.
const PASSES: u64 = 4;
/// Approximate bytes moved in a slice of a bandwidth test: a few milliseconds.
const BANDWIDTH_SLICE_BYTES: u64 = 8 << 20;
/// Most transactions in a slice of a bandwidth test.
const BANDWIDTH_SLICE_MOST: u64 = 16_384;
/// Longest transfer, bytes: takes less than 100 ms.
const TRANSFER_BYTES_MOST: u64 = 256 << 20;
/// Bytes of lines that a thrash from the device writes.
const THRASH_BYTES: u64 = 128 << 20;
/// Lines that it writes between two checks of the stop request.
const THRASH_LINES_AT_ONCE: u64 = 1 << 16;
/// Silence after which the core counts as lost, ms; normally it reports every few milliseconds.
const DEADLINE_MS: u64 = 20_000;
const WORD: usize = size_of::<u64>();

/// A core as the device.
#[derive(Debug)]
pub(crate) struct Requester {
    core: u32,
    processor: String,
    clock: Clock,
    buffer: SharedBuffer,
    /// Addresses and stop request of the current test.
    begun: Option<(AddressList, Stop)>,
    /// Preempted slices of the current test.
    preemption: Preemption,
    /// Whether the last test was a pointer chase.
    chased: bool,
}

impl Requester {
    pub(crate) fn new(topology: &Topology, core: u32, buffer: SharedBuffer) -> Self {
        let processor = topology.processor_name().unwrap_or_else(|| "a processor".to_owned());
        Self {
            core,
            processor,
            clock: Clock::measured(topology),
            buffer,
            begun: None,
            preemption: Preemption::default(),
            chased: false,
        }
    }

    fn stop(&self) -> Stop {
        self.begun.as_ref().map(|(_, stop)| stop.clone()).unwrap_or_default()
    }

    /// Addresses and stop request of the current test, if a core can run it.
    fn addresses(&self, test: &Test) -> Result<(AddressList, Stop), DeviceError> {
        let refused = |reason: String| Err(DeviceError::NotSupported(reason));
        if test.path == Path::Dma {
            return refused("path is dma: a core has no DMA engine; it has the path command".into());
        }
        if test.size_bytes > TRANSFER_BYTES_MOST {
            let size = test.size_bytes;
            return refused(format!("size_bytes is {size}: give {TRANSFER_BYTES_MOST} at most for a core"));
        }
        if test.outstanding.is_some() {
            return refused(
                "outstanding: the accesses in flight of a core cannot be limited: give null".into(),
            );
        }
        let length = self.buffer.borrow().length();
        if test.window_bytes > length {
            return Err(over_buffer(test.window_bytes, length));
        }
        let missing = || DeviceError::Failed("internal error: test started before begin()".into());
        self.begun.clone().ok_or_else(missing)
    }
}

impl Requester {
    /// Runs a pointer chase: each slice is timed as a whole, and each of its loads counts as their average.
    fn chase(
        &mut self,
        test: &Test,
        addresses: &AddressList,
        stop: &Stop,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let mut buffer = self.buffer.borrow_mut();
        // Warming has overwritten the chain. Laying it out again leaves the window as warm.
        if buffer.chain_mut().is_none() {
            buffer.link(&cycle(addresses));
        }
        let chain = buffer.chain_mut().ok_or_else(|| {
            DeviceError::Failed("internal error: the chase cannot be laid out in the buffer".into())
        })?;
        // Other programs, the kernel and the receiver of the results evict lines of a window that L1 or L2 holds: one
        // pass fetches them again.
        let pass = addresses.units().usable_count();
        let fetched = if pass <= CHASE_FETCHED_MOST { pass } else { 0 };
        let mut first = 0;
        while first < test.transactions && !stop.is_requested() {
            // Results are returned for many slices at once, because storing them evicts lines of the window.
            let mut timed = Vec::with_capacity(CHASE_SLICES_AT_ONCE);
            while first < test.transactions && timed.len() < CHASE_SLICES_AT_ONCE && !stop.is_requested() {
                let length = CHASE_SLICE.min(test.transactions - first);
                let repeatable = repeatable(test, addresses, first);
                let elapsed_ns = self.preemption.slice(repeatable, stop, || {
                    chain.follow(if repeatable { fetched } else { 0 });
                    let started = self.clock.now();
                    chain.follow(length);
                    self.clock.ns(self.clock.now() - started)
                });
                timed.push((length, elapsed_ns));
                first += length;
            }
            if timed.is_empty() || sink(&averages(&timed)).is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// Slices of a chase, with the average of each slice as the latency of each of its loads.
fn averages(timed: &[(u64, f64)]) -> LatencySlice {
    let repeated = timed.iter().flat_map(|&(length, elapsed_ns)| {
        let average_ps = elapsed_ns * PICOSECONDS_IN_NS / length as f64;
        // Not rounded up, so that the latencies do not add up to more than the time.
        std::iter::repeat_n(average_ps.min(f64::from(u32::MAX)) as u32, length as usize)
    });
    LatencySlice {
        ticks: repeated.collect(),
        elapsed_ns: timed.iter().map(|(_, elapsed_ns)| elapsed_ns).sum(),
    }
}

/// Whether the slice from transaction `first` finds the same caches if it is measured again: the window is warm,
/// or the test has loaded it by then.
fn repeatable(test: &Test, addresses: &AddressList, first: u64) -> bool {
    matches!(test.cache, CacheState::DeviceWarm | CacheState::HostWarm)
        || first >= PASSES * addresses.units().usable_count()
}

impl Device for Requester {
    fn facts(&self) -> DeviceFacts {
        DeviceFacts {
            name: format!("core of {}", self.processor),
            timer: self.clock.timer(),
            dma_transfer_bytes_most: None,
            command_transfer_bytes_most: Some(TRANSFER_BYTES_MOST),
            outstanding: None,
            hardware: Some(DeviceHardware {
                address: Some(format!("cpu{}", self.core)),
                operations: ["lat-rd", "lat-wrrd", "lat-chase", "bw-rd", "bw-wr", "bw-rdwr"]
                    .map(|operation| format!("command {operation}"))
                    .into(),
                latency_includes: vec!["timer".into()],
                deadline_ms: Some(DEADLINE_MS),
                ..DeviceHardware::default()
            }),
        }
    }

    fn conditions(&mut self) -> Vec<Condition> {
        [self.clock.conditions(), self.preemption.conditions()].concat()
    }

    fn begin(&mut self, start: Start<'_>) {
        let addresses = start.addresses();
        self.preemption = Preemption::default();
        self.chased = start.test.operation == Operation::LatChase;
        // Before the caches are prepared. A window larger than the buffer is refused when the test runs.
        if self.chased && start.test.window_bytes <= self.buffer.borrow().length() {
            self.buffer.borrow_mut().link(&cycle(&addresses));
        }
        self.begun = Some((addresses, start.stop.clone()));
    }

    fn remarks(&mut self) -> Remarks {
        Remarks {
            timer: self.chased.then_some(CHASE_TIMER),
            message: self.preemption.message(self.core),
            ..Remarks::default()
        }
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        let buffer = self.buffer.borrow();
        let lines = (buffer.length() / 64).max(1);
        let stop = self.stop();
        // Any uniform order of lines will do.
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        for number in 0..THRASH_BYTES / 64 {
            if number % THRASH_LINES_AT_ONCE == 0 && stop.is_requested() {
                break;
            }
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let line = ((u128::from(state) * u128::from(lines)) >> 64) as u64;
            // With its own value, because a chase may be laid out there.
            buffer.rewrite(line * 64);
        }
        Ok(())
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let mut buffer = self.buffer.borrow_mut();
        if window_bytes > buffer.length() {
            return Err(over_buffer(window_bytes, buffer.length()));
        }
        let stop = self.stop();
        for _ in 0..2 {
            buffer.write_through(window_bytes, &stop);
        }
        Ok(())
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (addresses, stop) = self.addresses(test)?;
        if test.operation == Operation::LatChase {
            return self.chase(test, &addresses, &stop, sink);
        }
        let size = test.size_bytes as usize;
        let mut buffer = self.buffer.borrow_mut();
        let bytes = own(&mut buffer)?;
        let mut offsets = vec![0; LATENCY_SLICE as usize];
        let mut counts = vec![0; LATENCY_SLICE as usize];
        let mut first = 0;
        while first < test.transactions && !stop.is_requested() {
            let length = LATENCY_SLICE.min(test.transactions - first) as usize;
            addresses.offsets(first, &mut offsets[..length]);
            let elapsed_ns = self.preemption.slice(repeatable(test, &addresses, first), &stop, || {
                let started = self.clock.now();
                for (offset, count) in offsets[..length].iter().zip(&mut counts) {
                    let transfer = &mut bytes[*offset as usize..][..size];
                    let before = self.clock.now();
                    if test.operation == Operation::LatWrrd {
                        store(transfer, first);
                        let _ = self.clock.now();
                    }
                    black_box(load(transfer));
                    *count = self.clock.now() - before;
                }
                self.clock.ns(self.clock.now() - started)
            });
            let ticks = counts[..length].iter().map(|count| self.clock.ticks(*count)).collect();
            if sink(&LatencySlice { ticks, elapsed_ns }).is_break() {
                break;
            }
            first += length as u64;
        }
        Ok(())
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (addresses, stop) = self.addresses(test)?;
        let size = test.size_bytes as usize;
        let mut buffer = self.buffer.borrow_mut();
        let bytes = own(&mut buffer)?;
        // Even, so that reads and writes alternate across slices too.
        let most = (BANDWIDTH_SLICE_BYTES / test.size_bytes).clamp(2, BANDWIDTH_SLICE_MOST) & !1;
        let mut offsets = vec![0; most as usize];
        let mut first = 0;
        while first < test.transactions && !stop.is_requested() {
            let length = most.min(test.transactions - first);
            addresses.offsets(first, &mut offsets[..length as usize]);
            let elapsed_ns = self.preemption.slice(repeatable(test, &addresses, first), &stop, || {
                let started = self.clock.now();
                if test.operation == Operation::BwRd && size == WORD {
                    black_box(words(bytes, &offsets[..length as usize]));
                    return self.clock.ns(self.clock.now() - started);
                }
                for (transaction, offset) in (first..).zip(&offsets[..length as usize]) {
                    let transfer = &mut bytes[*offset as usize..][..size];
                    if AddressList::writes(test.operation, transaction, test.transactions) {
                        store(transfer, transaction);
                    } else {
                        black_box(load(transfer));
                    }
                }
                self.clock.ns(self.clock.now() - started)
            });
            if sink(BandwidthSlice { transactions: length, elapsed_ns, anew: false }).is_break() {
                break;
            }
            first += length;
        }
        Ok(())
    }
}

/// The bytes of a buffer that no device can reach.
fn own(buffer: &mut Buffer) -> Result<&mut [u8], DeviceError> {
    buffer.own_bytes_mut().ok_or_else(|| {
        DeviceError::Failed("internal error: a device can reach the buffer of the core".into())
    })
}

/// Reads a word at each offset. Nothing is kept between two reads but their sum, so that they overlap as far as the
/// core allows: a loop for transfers of any size costs more than a word from the L1 cache.
#[inline(never)]
fn words(bytes: &[u8], offsets: &[u64]) -> u64 {
    let word = |offset: &u64| {
        bytes[*offset as usize..].first_chunk::<WORD>().map_or(0, |word| u64::from_ne_bytes(*word))
    };
    offsets.iter().fold(0, |sum: u64, offset| sum.wrapping_add(word(offset)))
}

/// Reads every byte, a word at a time.
#[inline(always)]
fn load(transfer: &[u8]) -> u64 {
    let (words, rest) = transfer.as_chunks::<WORD>();
    let sum = words.iter().fold(0u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
    rest.iter().fold(sum, |sum, byte| sum.wrapping_add(u64::from(*byte)))
}

/// Writes every byte, a word at a time.
#[inline(always)]
fn store(transfer: &mut [u8], value: u64) {
    let (words, rest) = transfer.as_chunks_mut::<WORD>();
    words.fill(value.to_ne_bytes());
    rest.fill(value as u8);
    black_box(transfer);
}
