//! A BAR as a device that takes messages.

use super::buffers::{self, Found};
use super::loads::LoadLoop;
use super::mapping::Kind;
use super::options::{PioHostOptions, PioOptions};
use super::range::{Part, Range};
use super::stores::{Instruction, StoreLoop, fence};
use crate::address::Address;
use crate::listing::ready_for_stores;
use crate::tree::{Function, Tree};
use pcie_bench::{
    Condition, DeviceError, DeviceFacts, DeviceHardware, Host, MemoryTypes, MessageDevice, MessageResult,
    MessageStart,
};
use pcie_host::{Clock, Cold, HostOptions, PageSize, RealHost, Topology};
use pcie_refusal::Refusal;
use pcie_time::{Draws, Stream};
use pcie_workload::{MessagePace, MessageTest, StoreKind, Way};
use serde_json::{Map, Value, json};
use std::time::Duration;

/// Messages between two checks of the stop request.
const SLICE: u32 = 256;
/// Reads of the median read-back latency.
const READS: usize = 501;
const DEADLINE: Duration = Duration::from_secs(20);
/// Longest message, bytes.
const MESSAGE_BYTES_MOST: usize = 64 << 10;

/// A message aligned to a cache line.
#[repr(C, align(64))]
#[derive(Clone)]
struct Message([u8; MESSAGE_BYTES_MOST]);

/// A part of a BAR, and the core that stores.
pub(super) struct PioDevice {
    function: Function,
    host: RealHost,
    clock: Clock,
    range: Range,
    message: Box<Message>,
    read_back_ns: f64,
    found: Option<Found>,
    memory_types: MemoryTypes,
}

struct Sending {
    stores: StoreLoop,
    is_fenced: bool,
    /// Bytes from one message to the next in the range.
    stride: u64,
    /// Messages that the range holds.
    slots: u64,
}

impl PioDevice {
    pub(super) fn open(
        tree: &Tree,
        address: Address,
        options: &PioOptions,
        host: &PioHostOptions,
    ) -> Result<Self, Refusal> {
        let function = tree.function(address)?;
        let part = Part::named(options.range.as_deref(), &function)?;
        ready_for_stores(tree, &function)?;
        // Stores use no host buffer: one page satisfies the host.
        let bufferless = HostOptions {
            page_bytes: PageSize::FourKib,
            buffer_bytes: PageSize::FourKib.bytes(),
            node: None,
            core: host.core,
            cold: Cold::Thrash,
        };
        let topology = Topology::here();
        let (host, _) = RealHost::open(&bufferless, topology.clone(), function.node)?;
        let clock = Clock::measured(&topology);
        let mut range = Range::open(tree, &function, part)?;
        let read_back_ns = read_back_ns(&range, &clock);
        let mut memory_types =
            MemoryTypes { uncached: range.map(Kind::Uncached)?.granted.clone(), write_combined: None };
        let mut found = None;
        if range.can_combine() {
            let mapped = range.map(Kind::WriteCombining)?;
            memory_types.write_combined = mapped.granted.clone();
            if mapped.downgraded().is_none() {
                found = buffers::count(&range, &clock);
                range.restore();
            }
        }
        let message = Box::new(Message([0; MESSAGE_BYTES_MOST]));
        Ok(Self { function, host, clock, range, message, read_back_ns, found, memory_types })
    }

    /// Maps the range for a way. Refuses it if the kernel granted another memory type.
    fn map(&mut self, way: Way) -> Result<(), DeviceError> {
        let refused = |reason: String| Err(DeviceError::NotSupported(reason));
        let combines = matches!(way, Way::WriteCombined | Way::WriteCombinedFenced | Way::StreamingLoad);
        let kind = if combines { Kind::WriteCombining } else { Kind::Uncached };
        if kind == Kind::WriteCombining && !self.range.can_combine() {
            return refused("way: the kernel maps this BAR uncached only: give uncached".into());
        }
        let mapped = self.range.map(kind).map_err(|refusal| DeviceError::Failed(refusal.to_string()))?;
        let Some(granted) = mapped.downgraded() else { return Ok(()) };
        let problem = format!("way: the kernel granted this mapping the memory type {granted}");
        refused(format!("{problem}: {}", self.range.end_other_mappers()))
    }

    fn sending(&self, test: &MessageTest) -> Result<Sending, DeviceError> {
        let refused = |reason: String| Err(DeviceError::NotSupported(reason));
        let instruction = match test.store_kind.unwrap_or(StoreKind::Plain) {
            StoreKind::Plain => Instruction::Plain,
            StoreKind::NonTemporal => Instruction::NonTemporal,
            StoreKind::Direct => Instruction::Direct,
        };
        let own = if instruction == Instruction::Direct { 64 } else { 8 };
        let width = test.store_bytes.unwrap_or(own);
        let Some(stores) = StoreLoop::find(instruction, width) else {
            return refused(format!(
                "store_bytes is {width} and store_kind {instruction:?}: this processor lacks this instruction"
            ));
        };
        let stride = test.size_bytes.next_multiple_of(64);
        let slots = self.range.bytes() / stride;
        if slots == 0 {
            let (size, range) = (test.size_bytes, self.range.bytes());
            return refused(format!("size_bytes is {size}: device.range has {range} bytes"));
        }
        let is_fenced = test.way == Way::WriteCombinedFenced || test.pace == MessagePace::Alone;
        Ok(Sending { stores, is_fenced, stride, slots })
    }

    fn fill(&mut self, position: u64, bytes: usize) {
        let draws = Draws::new(position, 0, Stream::Payload);
        for (number, chunk) in (0..).zip(self.message.0[..bytes.next_multiple_of(4)].chunks_exact_mut(4)) {
            chunk.copy_from_slice(&draws.word(number).to_le_bytes());
        }
    }

    /// Stores a range of messages; adds the time of each to `times` if given.
    fn slice(
        &self,
        sending: &Sending,
        bytes: usize,
        messages: std::ops::Range<u64>,
        times: Option<&mut Vec<f64>>,
    ) -> Result<(), DeviceError> {
        let outside = || DeviceError::Failed("a message lies outside device.range".into());
        let (window, start) = self.range.window().ok_or_else(outside)?;
        let message = &self.message.0[..bytes];
        let store = |number: u64| -> Result<(), DeviceError> {
            let offset = start + number % sending.slots * sending.stride;
            let to = window.part(offset, bytes).ok_or_else(outside)?;
            // SAFETY: the bytes are within the mapping; the target and the message are aligned to a line.
            unsafe { sending.stores.store(to, message) };
            if sending.is_fenced {
                fence();
            }
            Ok(())
        };
        let Some(times) = times else { return messages.into_iter().try_for_each(store) };
        for number in messages {
            let before = self.clock.now();
            store(number)?;
            times.push(self.clock.ns(self.clock.now() - before));
        }
        Ok(())
    }

    /// Stores the messages of a test, and checks that they arrived.
    fn stored(&self, sending: &Sending, start: &MessageStart<'_>) -> Result<MessageResult, DeviceError> {
        let MessageStart { test, stop, pulse, .. } = start;
        let (bytes, messages) = (test.size_bytes as usize, u64::from(test.messages));
        let mut times = (test.pace == MessagePace::Alone).then(Vec::new);
        let mut elapsed_ns = 0.0;
        let mut sent = 0;
        while sent < messages && !stop.is_requested() {
            let last = messages.min(sent + u64::from(SLICE));
            times.iter_mut().for_each(|times| times.reserve(SLICE as usize));
            let started = self.clock.now();
            self.slice(sending, bytes, sent..last, times.as_mut())?;
            fence();
            elapsed_ns += self.clock.ns(self.clock.now() - started);
            sent = last;
            pulse.beat();
        }
        self.check_arrival(sending, bytes, sent)?;
        let cpu_ns = vec![elapsed_ns / messages as f64];
        Ok(MessageResult {
            latencies_ns: times.unwrap_or_default(),
            elapsed_ns,
            cpu_ns,
            ..MessageResult::default()
        })
    }

    /// Loads the range of each message of a test, and for read-modify-write stores it again.
    fn loaded(&self, start: &MessageStart<'_>) -> Result<MessageResult, DeviceError> {
        let MessageStart { test, stop, pulse, .. } = start;
        let refused = |reason: String| Err(DeviceError::NotSupported(reason));
        let streams = test.way == Way::StreamingLoad;
        let own = if streams { 16 } else { 8 };
        let width = test.store_bytes.unwrap_or(own);
        let Some(loads) = LoadLoop::find(streams, width) else {
            let kind = if streams { "streaming loads" } else { "loads" };
            return refused(format!("store_bytes is {width}: this processor lacks {kind} of this width"));
        };
        let (bytes, messages) = (test.size_bytes as usize, u64::from(test.messages));
        let stride = test.size_bytes.next_multiple_of(64);
        let slots = self.range.bytes() / stride;
        if slots == 0 {
            let (size, range) = (test.size_bytes, self.range.bytes());
            return refused(format!("size_bytes is {size}: device.range has {range} bytes"));
        }
        let outside = || DeviceError::Failed("a message lies outside device.range".into());
        let (window, first) = self.range.window().ok_or_else(outside)?;
        let mut times = Vec::new();
        let begun = self.clock.now();
        for number in 0..messages {
            if number % u64::from(SLICE) == 0 {
                if stop.is_requested() {
                    break;
                }
                pulse.beat();
            }
            let from = window.part(first + number % slots * stride, stride as usize).ok_or_else(outside)?;
            let before = self.clock.now();
            // SAFETY: the whole lines of the message are within the mapping, aligned to a line, and the range is the
            // user's to store into.
            unsafe {
                if test.way == Way::ReadModifyWrite {
                    loads.modify(from, bytes);
                } else {
                    loads.load(from, bytes);
                }
            }
            times.push(self.clock.ns(self.clock.now() - before));
        }
        let elapsed_ns = self.clock.ns(self.clock.now() - begun);
        let cpu_ns = vec![elapsed_ns / messages as f64];
        let latencies_ns = if test.pace == MessagePace::Alone { times } else { Vec::new() };
        Ok(MessageResult { latencies_ns, elapsed_ns, cpu_ns, ..MessageResult::default() })
    }

    /// Checks that the BAR holds the stored messages, if it can be read.
    fn check_arrival(&self, sending: &Sending, bytes: usize, sent: u64) -> Result<(), DeviceError> {
        if !self.range.reads_back {
            return Ok(());
        }
        let (message, used) = (&self.message.0, sent.min(sending.slots) * sending.stride);
        let byte = |offset: u64| {
            let within = (offset % sending.stride) as usize;
            if offset < used && within < bytes { message[within] } else { 0 }
        };
        let word =
            |offset: u64| u64::from_le_bytes(std::array::from_fn(|number| byte(offset + number as u64)));
        match self.range.differs((0..).step_by(8).map(word)) {
            None => Ok(()),
            Some((offset, held, expected)) => Err(DeviceError::Failed(format!(
                "the BAR does not hold the stored data: {held:#018x} instead of {expected:#018x} at {offset:#x} of device.range"
            ))),
        }
    }

    fn facts(&self) -> DeviceFacts {
        let function = &self.function;
        DeviceFacts {
            name: format!("BAR of {:04x}:{:04x}", function.vendor_id, function.device_id),
            timer: self.clock.timer(),
            dma_transfer_bytes_most: None,
            command_transfer_bytes_most: Some(self.range.bytes()),
            outstanding: None,
            hardware: Some(DeviceHardware {
                address: Some(function.address.to_string()),
                vendor_id: Some(function.vendor_id),
                device_id: Some(function.device_id),
                link: Some(function.link_facts()),
                latency_includes: ["processor", "timer"].map(str::to_owned).into(),
                deadline_ms: Some(DEADLINE.as_millis() as u64),
                memory_types: Some(self.memory_types.clone()),
                ..DeviceHardware::default()
            }),
        }
    }
}

/// Refuses a test that stores of one core into a BAR cannot run.
fn check(test: &MessageTest) -> Result<(), DeviceError> {
    let simulated = [
        ("eviction", test.eviction.is_some()),
        ("generation", test.generation.is_some()),
        ("lanes", test.lanes.is_some()),
        ("pressure", test.pressure.is_some()),
    ];
    let refused = |reason: String| Err(DeviceError::NotSupported(reason));
    if let Some((key, _)) = simulated.into_iter().find(|(_, given)| *given) {
        return refused(format!("{key}: only a simulator supports it: give null"));
    }
    if test.cores != 1 {
        return refused(format!("cores is {}: one core stores here: give 1", test.cores));
    }
    if test.way == Way::Enqueue {
        return refused(
            "way: memory behind a BAR declines nothing, and a core faults on ENQCMD without a shared work queue: give \
             write-combined with store_kind direct"
                .into(),
        );
    }
    if matches!(test.way, Way::Descriptors | Way::Mux) {
        return refused(
            "way: a BAR fetches nothing: give uncached, write-combined, write-combined-fenced, a load or a doorbell"
                .into(),
        );
    }
    Ok(())
}

/// The median time of a read of 8 bytes, ns.
fn read_back_ns(range: &Range, clock: &Clock) -> f64 {
    let read = |_| {
        let before = clock.now();
        std::hint::black_box(range.read(0));
        clock.now() - before
    };
    let mut times: Vec<u64> = (0..READS).map(read).collect();
    times.sort_unstable();
    clock.ns(times[READS / 2])
}

impl MessageDevice for PioDevice {
    fn identity(&self) -> Map<String, Value> {
        Map::from_iter([
            ("device".to_owned(), json!(self.facts())),
            ("host".to_owned(), json!(self.host.facts())),
        ])
    }

    fn conditions(&mut self) -> Vec<Condition> {
        let mut conditions = self.host.conditions();
        conditions.extend([
            Condition::new("read_back", "ns", Some(self.read_back_ns)),
            Condition::new("combining_buffers", "1", self.found.map(|found| found.buffers as f64)),
            Condition::new("combining_buffers_confidence", "1", self.found.map(|found| found.confidence)),
            Condition::new("arrival_checked", "1", Some(f64::from(u8::from(self.range.reads_back)))),
            Condition::new("timer_overhead", "ns", Some(self.clock.overhead_ns)),
        ]);
        conditions
    }

    fn deadline(&self) -> Option<Duration> {
        Some(DEADLINE)
    }

    fn send(&mut self, start: MessageStart<'_>) -> Result<MessageResult, DeviceError> {
        check(start.test)?;
        if matches!(start.test.way, Way::UncachedLoad | Way::StreamingLoad | Way::ReadModifyWrite) {
            self.map(start.test.way)?;
            let result = self.loaded(&start);
            self.range.restore();
            return result;
        }
        let sending = self.sending(start.test)?;
        self.map(start.test.way)?;
        self.fill(start.position, start.test.size_bytes as usize);
        if self.range.reads_back {
            self.range.clear();
        }
        let result = self.stored(&sending, &start);
        self.range.restore();
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pio::mapping::tests::{list_type, machine, mapped};
    use pcie_bench::{Pulse, Stop};
    use std::fs;

    fn opened(tree: &Tree) -> PioDevice {
        let options = PioOptions { range: Some("BAR2:4K+4K".into()) };
        let address = "01:00.0".parse().unwrap();
        PioDevice::open(tree, address, &options, &PioHostOptions::default()).unwrap()
    }

    fn send(device: &mut PioDevice, way: Way) -> Result<MessageResult, DeviceError> {
        let test = MessageTest { pace: MessagePace::Stream, ..MessageTest::alone(way, 200, 100) };
        let (stop, pulse) = (Stop::default(), Pulse::default());
        device.send(MessageStart { position: 0, test: &test, stop: &stop, pulse: &pulse })
    }

    fn memory_types(device: &PioDevice) -> MemoryTypes {
        device.facts().hardware.and_then(|hardware| hardware.memory_types).unwrap()
    }

    #[test]
    fn each_test_maps_the_bar_its_way_and_restores_it() {
        let (_directory, tree, function) = machine();
        let mut device = opened(&tree);
        assert_eq!(memory_types(&device), MemoryTypes::default());
        for (way, file) in [(Way::Uncached, "resource2"), (Way::WriteCombined, "resource2_wc")] {
            assert!(send(&mut device, way).unwrap().elapsed_ns > 0.0);
            assert_eq!(mapped(&function), [file]);
            assert_eq!(fs::read(function.folder.join("resource2")).unwrap(), [7; 65536], "{way:?}");
        }
    }

    #[test]
    fn loads_and_doorbells_run_and_an_enqueue_is_refused() {
        let (_directory, tree, _) = machine();
        let mut device = opened(&tree);
        let (stop, pulse) = (Stop::default(), Pulse::default());
        for way in [Way::UncachedLoad, Way::ReadModifyWrite, Way::Doorbell] {
            let size = if way == Way::Doorbell { 8 } else { 200 };
            let test = MessageTest::alone(way, size, 20);
            let start = MessageStart { position: 0, test: &test, stop: &stop, pulse: &pulse };
            let result = device.send(start).unwrap();
            assert_eq!(result.latencies_ns.len(), 20, "{way:?}");
        }
        let wide = MessageTest { store_bytes: Some(64), ..MessageTest::alone(Way::UncachedLoad, 64, 1) };
        let start = MessageStart { position: 0, test: &wide, stop: &stop, pulse: &pulse };
        let refused = device.send(start).unwrap_err().to_string();
        assert!(refused.contains("store_bytes is 64: this processor lacks loads of this width"), "{refused}");
        let refused = send(&mut device, Way::Enqueue).unwrap_err().to_string();
        assert!(refused.contains("memory behind a BAR declines nothing"), "{refused}");
    }

    #[test]
    fn a_mapping_of_another_memory_type_runs_no_test() {
        let (_directory, tree, _) = machine();
        list_type(&tree, "0xe0001000-0xe0002000", "uncached-minus");
        let mut device = opened(&tree);
        let uncached = || Some("uncached-minus".to_owned());
        assert_eq!(memory_types(&device), MemoryTypes { uncached: uncached(), write_combined: uncached() });
        assert_eq!(device.found, None);
        let refused = send(&mut device, Way::WriteCombined).unwrap_err();
        let said = "way: the kernel granted this mapping the memory type uncached-minus: end the process or driver \
                    that maps this BAR";
        assert!(
            matches!(&refused, DeviceError::NotSupported(reason) if reason.starts_with(said)),
            "{refused}"
        );
        assert!(send(&mut device, Way::Uncached).is_ok());
        list_type(&tree, "0xe0001000-0xe0002000", "write-combining");
        assert!(send(&mut device, Way::WriteCombined).is_ok());
    }
}
