//! A drive as the device of a bench.

use super::Noticing;
use super::contents::Blocks;
use super::link::{Link, SILENCE, Way};
use super::plan::Plan;
use super::scratch::Scratch;
use crate::host::{Contents, SharedContents};
use crate::refusal::Refusal;
use crate::tree::{Function, Tree, number, text};
use pcie_bench::{
    BandwidthSlice, Condition, Device, DeviceError, DeviceFacts, DeviceHardware, LatencySlice, Remarks,
    Start, Stop,
};
use pcie_driver::nvme::{Completion, Data, Kind, NvmeError};
use pcie_host::{Clock, SharedBuffer, Topology};
use pcie_statistics::Histogram;
use pcie_store::Scalar;
use pcie_workload::{AddressList, Operation, Test};
use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Longest slice: results come this often.
const SLICE: Duration = Duration::from_millis(20);
/// Samples in a slice of a latency test at most.
const LATENCY_SLICE: usize = 512;
/// What a device thrash writes.
const THRASH_BYTES: u64 = 128 << 20;
/// The drive shows life in this time, or is given up.
const DEADLINE_MS: u64 = 20_000;
/// Looks at the queue between two looks at the clock.
const LOOKS: u32 = 256;
/// What a command may take to end after the run was told to.
const GRACE: Duration = Duration::from_millis(100);
/// How long an interrupt is waited for before the stop is looked at.
const INTERRUPT_WAIT: Duration = Duration::from_millis(10);

/// The test that was announced.
struct Begun {
    addresses: AddressList,
    stop: Stop,
    /// How it is carried out, or why not.
    plan: Result<Plan, DeviceError>,
}

/// A drive.
pub(super) struct NvmeDevice {
    tree: Tree,
    way: Way,
    function: Function,
    core: u32,
    pub(super) clock: Clock,
    buffer: SharedBuffer,
    scratch: Option<Scratch>,
    contents: SharedContents,
    facts: DeviceFacts,
    /// None between a failure and what mends it, and after closing.
    pub(super) link: Option<Link>,
    begun: Option<Begun>,
    /// What is told of the test that was just done.
    parts: Vec<Scalar>,
}

impl NvmeDevice {
    pub(super) fn open(
        tree: &Tree,
        way: Way,
        topology: &Topology,
        core: u32,
        buffer: &SharedBuffer,
    ) -> Result<Self, Refusal> {
        let mut link = Link::open(tree, &way, buffer)?;
        let scratch = link.scratch(&way, buffer)?;
        let clock = Clock::measured(topology);
        Ok(Self {
            tree: tree.clone(),
            function: link.function.clone(),
            core,
            facts: facts(&link, &way, &clock),
            clock,
            buffer: Rc::clone(buffer),
            scratch,
            contents: SharedContents::default(),
            way,
            link: Some(link),
            begun: None,
            parts: Vec::new(),
        })
    }

    pub(super) fn contents(&self) -> SharedContents {
        Rc::clone(&self.contents)
    }

    pub(super) fn function(&self) -> &Function {
        &self.function
    }

    fn stop(&self) -> Stop {
        self.begun.as_ref().map(|begun| begun.stop.clone()).unwrap_or_default()
    }

    fn link(&mut self) -> Result<&mut Link, DeviceError> {
        let closed = || DeviceError::Failed("the drive was closed, and not opened again".into());
        self.link.as_mut().ok_or_else(closed)
    }

    /// The plan of the test at hand.
    fn planned(&self) -> Result<(AddressList, Plan), DeviceError> {
        let nothing = || DeviceError::Failed("a test was asked for that nobody announced".into());
        let begun = self.begun.as_ref().ok_or_else(nothing)?;
        Ok((begun.addresses.clone(), begun.plan.clone()?))
    }

    /// The command that does what a transaction of a direction asks for.
    fn kind(&self, plan: Plan, writes_host: bool) -> Kind {
        let identity = self.link.as_ref().map(Link::identity);
        let reads = identity.and_then(|identity| plan.host_read(identity, self.scratch.as_ref()));
        if writes_host { Kind::Read } else { reads.unwrap_or(Kind::Compare) }
    }

    fn plan(&self, test: &Test) -> Result<Plan, DeviceError> {
        let link = self.link.as_ref().ok_or_else(|| DeviceError::Failed("the drive was closed".into()))?;
        let length = self.buffer.borrow().bytes().len() as u64;
        Plan::new(test, link.identity(), link.drive.depth(), length, self.scratch.as_ref())
    }

    /// Has the window hold what the drive will compare it with.
    fn load(&mut self, plan: Plan, test: &Test) -> Result<(), DeviceError> {
        *self.contents.borrow_mut() = None;
        if test.operation == Operation::BwWr || self.kind(plan, false) != Kind::Compare {
            return Ok(());
        }
        // Transfer after transfer to the start of the buffer, whatever the units are.
        let packed = Plan { unit_bytes: plan.size_bytes, offset_bytes: 0, ..plan };
        self.pump(
            packed,
            plan.period,
            None,
            &mut |number| (Kind::Read, number * plan.size_bytes),
            &mut |_| ControlFlow::Continue(()),
        )?;
        let held = self.buffer.borrow().bytes()[..(plan.period * plan.size_bytes) as usize].to_vec();
        let blocks = Blocks::new(plan, held);
        blocks.fill(self.buffer.borrow_mut().bytes_mut(), test.window_bytes);
        *self.contents.borrow_mut() = Some(Box::new(blocks));
        Ok(())
    }

    /// Carries out one command at an offset of the buffer, and waits for it.
    #[inline]
    fn one(&mut self, kind: Kind, plan: Plan, offset: u64, stop: &Stop) -> Result<(), DeviceError> {
        let address = self.link()?.drive.transport_mut().data_address() + offset;
        let data = Data { address, bytes: plan.size_bytes };
        self.command(kind, plan.block(offset), Some(data), stop)
    }

    /// Carries out one command, and waits for it.
    #[inline]
    pub(super) fn command(
        &mut self,
        kind: Kind,
        block: u64,
        data: Option<Data>,
        stop: &Stop,
    ) -> Result<(), DeviceError> {
        let link = self.link()?;
        link.drive.submit(kind, block, data).map_err(raised)?;
        let mut ended = None;
        let mut patience = Patience::new(stop);
        while ended.is_none() {
            link.drive.completions(&mut |completion| ended = Some(completion)).map_err(raised)?;
            if ended.is_none() {
                patience.wait(link)?;
            }
        }
        ended.map_or(Ok(()), |completion| ended_well(completion, kind))
    }

    /// Keeps the drive busy with `total` commands, of which `command` makes each from its number, and tells how many were
    /// done in which time. Ends with nothing in flight.
    fn pump(
        &mut self,
        plan: Plan,
        total: u64,
        outstanding: Option<u32>,
        command: &mut dyn FnMut(u64) -> (Kind, u64),
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let stop = self.stop();
        let clock = self.clock.clone();
        let link = self.link()?;
        let base = link.drive.transport_mut().data_address();
        let depth = outstanding.map_or(u64::from(link.drive.depth()), u64::from);
        let (mut next, mut done, mut told) = (0, 0, 0);
        let mut end = total;
        let mut wrong = None;
        let mut patience = Patience::new(&stop);
        let mut started = clock.now();
        while done < end {
            while next < end && next - done < depth {
                let (kind, offset) = command(next);
                let data = Data { address: base + offset, bytes: plan.size_bytes };
                link.drive.submit(kind, plan.block(offset), Some(data)).map_err(raised)?;
                next += 1;
            }
            let before = done;
            let mut count = |completion: Completion| {
                done += 1;
                if completion.status != 0 {
                    wrong.get_or_insert(completion);
                }
            };
            link.drive.completions(&mut count).map_err(raised)?;
            if done == before {
                patience.wait(link)?;
                continue;
            }
            patience = Patience::new(&stop);
            let elapsed_ns = clock.ns(clock.now() - started);
            if elapsed_ns >= SLICE.as_nanos() as f64 || done == end {
                let enough = sink(BandwidthSlice { transactions: done - told, elapsed_ns }).is_break();
                told = done;
                started = clock.now();
                if enough || stop.is_requested() || wrong.is_some() {
                    // What is in flight is waited for, and told to nobody.
                    end = next;
                }
            }
        }
        wrong.map_or(Ok(()), |completion| ended_well(completion, Kind::Compare))
    }
}

/// How long a command is waited for.
struct Patience<'a> {
    stop: &'a Stop,
    looks: u32,
    since: Option<Instant>,
    told: Option<Instant>,
}

impl<'a> Patience<'a> {
    fn new(stop: &'a Stop) -> Self {
        Self { stop, looks: 0, since: None, told: None }
    }

    /// Nothing has come: waits a little, or gives up.
    #[inline]
    fn wait(&mut self, link: &Link) -> Result<(), DeviceError> {
        self.looks += 1;
        match &link.interrupt {
            Some(interrupt) => drop(interrupt.wait(INTERRUPT_WAIT)),
            None if !self.looks.is_multiple_of(LOOKS) => {
                std::hint::spin_loop();
                return Ok(());
            }
            None => {}
        }
        let now = Instant::now();
        let silent = now - *self.since.get_or_insert(now);
        if silent > SILENCE {
            return Err(DeviceError::Failed(format!(
                "the drive did not answer a command for {} s",
                SILENCE.as_secs()
            )));
        }
        if self.stop.is_requested() && now - *self.told.get_or_insert(now) > GRACE {
            return Err(DeviceError::Failed("the run was told to stop while the drive was silent".into()));
        }
        Ok(())
    }
}

fn raised(error: NvmeError) -> DeviceError {
    match error {
        NvmeError::Transport(_) | NvmeError::NotADrive(_) => DeviceError::Lost(error.to_string()),
        NvmeError::Unsupported(reason) => DeviceError::NotSupported(reason),
        error => DeviceError::Failed(error.to_string()),
    }
}

fn ended_well(completion: Completion, kind: Kind) -> Result<(), DeviceError> {
    if completion.status == 0 {
        return Ok(());
    }
    let what = if completion.differs() { Kind::Compare.name() } else { kind.name() };
    Err(raised(NvmeError::Status { what, status: completion.status }))
}

fn facts(link: &Link, way: &Way, clock: &Clock) -> DeviceFacts {
    let identity = link.identity();
    let noticed = match way.options.completion {
        Noticing::Polled => "poll",
        Noticing::Interrupt => "interrupt",
    };
    let operations = ["lat-rd", "lat-wrrd", "bw-rd", "bw-wr", "bw-rdwr"];
    DeviceFacts {
        name: identity.model.clone(),
        timer: clock.timer(),
        dma_transfer_bytes_most: Some(identity.transfer_bytes_most),
        command_transfer_bytes_most: None,
        outstanding: Some(u32::from(link.drive.depth())),
        hardware: Some(DeviceHardware {
            address: Some(way.address.to_string()),
            vendor_id: Some(link.function.vendor_id),
            device_id: Some(link.function.device_id),
            firmware: Some(identity.firmware.clone()),
            driver: Some("pcielab nvme, over vfio-pci".into()),
            link: Some(link.function.link_facts()),
            operations: operations.map(|operation| format!("dma {operation}")).into(),
            latency_includes: ["doorbell", "descriptor", "medium", noticed, "timer"]
                .map(str::to_owned)
                .into(),
            deadline_ms: Some(DEADLINE_MS),
        }),
    }
}

impl Device for NvmeDevice {
    fn facts(&self) -> DeviceFacts {
        self.facts.clone()
    }

    fn conditions(&mut self) -> Vec<Condition> {
        let folder = &self.function.folder;
        let rate =
            text(&folder.join("current_link_speed")).and_then(|speed| speed.split(' ').next()?.parse().ok());
        let lanes = number(&folder.join("current_link_width")).map(|lanes| lanes as f64);
        vec![
            Condition::new("link_rate", "GT/s", rate),
            Condition::new("link_lanes", "1", lanes),
            Condition::new("timer_resolution", "ns", Some(self.clock.resolution_ns)),
            Condition::new("timer_overhead", "ns", Some(self.clock.overhead_ns)),
        ]
    }

    fn begin(&mut self, start: Start<'_>) {
        let plan = self.plan(start.test);
        self.begun =
            Some(Begun { addresses: start.addresses(), stop: start.stop.clone(), plan: plan.clone() });
        self.parts.clear();
        let loaded = plan.and_then(|plan| self.load(plan, start.test).map(|()| plan));
        if let Some(begun) = &mut self.begun {
            begun.plan = loaded;
        }
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        let (_, plan) = self.planned()?;
        let length = self.buffer.borrow().bytes().len() as u64;
        let units = length / plan.unit_bytes;
        // Which units are written does not matter, only that none is preferred.
        let mut state = u64::from(self.core) ^ 0x9e37_79b9_7f4a_7c15;
        let mut command = |_| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            let unit = ((u128::from(state) * u128::from(units)) >> 64) as u64;
            (Kind::Read, unit * plan.unit_bytes + plan.offset_bytes)
        };
        let count = THRASH_BYTES.div_ceil(plan.size_bytes);
        self.pump(plan, count, None, &mut command, &mut |_| ControlFlow::Continue(()))
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let (_, plan) = self.planned()?;
        let units = window_bytes / plan.unit_bytes;
        let mut command = |number| (Kind::Read, number % units * plan.unit_bytes + plan.offset_bytes);
        self.pump(plan, 2 * units, None, &mut command, &mut |_| ControlFlow::Continue(()))
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (addresses, plan) = self.planned()?;
        let (stop, clock) = (self.stop(), self.clock.clone());
        let reads = self.kind(plan, false);
        let mut seen = Histogram::default();
        let mut first = 0;
        while first < test.transactions && !stop.is_requested() {
            let mut ticks = Vec::with_capacity(LATENCY_SLICE);
            let started = clock.now();
            while ticks.len() < LATENCY_SLICE && first < test.transactions {
                let offset = addresses.offset(first);
                let before = clock.now();
                if test.operation == Operation::LatWrrd {
                    self.one(Kind::Read, plan, offset, &stop)?;
                }
                self.one(reads, plan, offset, &stop)?;
                let after = clock.now();
                ticks.push(clock.ticks(after - before));
                first += 1;
                if clock.ns(after - started) > SLICE.as_nanos() as f64 {
                    break;
                }
            }
            let elapsed_ns = clock.ns(clock.now() - started);
            ticks.iter().for_each(|ticks| seen.add(*ticks));
            if sink(&LatencySlice { ticks, elapsed_ns }).is_break() {
                break;
            }
        }
        if test.operation == Operation::LatRd && !stop.is_requested() && seen.count() > 0 {
            let whole_ns = clock.timer().tick().in_ns(f64::from(seen.quantile(0.5)));
            self.parts = self.measured_parts(plan, reads, whole_ns, &stop)?;
        }
        Ok(())
    }

    fn remarks(&mut self) -> Remarks {
        Remarks { parts: self.parts.clone(), ..Remarks::default() }
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (addresses, plan) = self.planned()?;
        let (reads, total) = (self.kind(plan, false), test.transactions);
        let mut command = |number: u64| {
            let writes = AddressList::writes(test.operation, number, total);
            (if writes { Kind::Read } else { reads }, addresses.offset(number))
        };
        self.pump(plan, total, test.outstanding, &mut command, sink)
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        // Closed first: the group can be had once.
        self.link = None;
        let link = Link::open(&self.tree, &self.way, &self.buffer);
        self.link = Some(link.map_err(|refusal| DeviceError::Lost(refusal.to_string()))?);
        Ok(())
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        let Some(mut link) = self.link.take() else { return Ok(()) };
        let failed = |error: String| DeviceError::Failed(format!("closing the drive: {error}"));
        link.drive.disable().map_err(|error| failed(error.to_string()))?;
        link.drive.transport_mut().close().map_err(|error| failed(error.to_string()))
    }
}
