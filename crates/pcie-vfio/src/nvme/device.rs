//! A drive as the device of a bench.

use super::contents::Blocks;
use super::link::{Link, Target};
use super::options::{Noticing, NvmeOptions};
use super::parts::{floor, measured_parts};
use super::plan::{Command, Plan};
use super::scratch::Scratch;
use super::state::BlockState;
use crate::chosen::Beside;
use crate::engine::{Engine, latencies, many, one, scattered};
use crate::facts::hardware;
use crate::host::{Contents, SharedContents};
use crate::median::Median;
use crate::obstacle;
use crate::opened::Interrupt;
use crate::tree::{Function, Tree};
use pcie_bench::{
    BandwidthSlice, Condition, Device, DeviceError, DeviceFacts, DeviceHardware, LatencySlice, Remarks,
    Start, Stop,
};
use pcie_driver::nvme::{Completion, Kind, NvmeError};
use pcie_host::{Clock, SharedBuffer};
use pcie_refusal::Refusal;
use pcie_workload::{AddressList, Operation, Test};
use std::ops::ControlFlow;
use std::rc::Rc;

const THRASH_BYTES: u64 = 128 << 20;
/// Silence after which the drive counts as lost, ms.
const DEADLINE_MS: u64 = 20_000;

struct Begun {
    addresses: AddressList,
    stop: Stop,
    /// Its commands, or why it cannot run.
    plan: Result<Plan, DeviceError>,
}

pub(super) struct NvmeDevice {
    tree: Tree,
    target: Target,
    function: Function,
    core: u32,
    clock: Clock,
    buffer: SharedBuffer,
    scratch: Option<Scratch>,
    state: BlockState,
    /// Whether the scratch blocks are still in that state.
    is_prepared: bool,
    contents: SharedContents,
    facts: DeviceFacts,
    /// None between a failure and recovery, and after closing.
    link: Option<Link>,
    begun: Option<Begun>,
    /// Remarks on the last test: parts of its latency.
    remarks: Remarks,
}

impl NvmeDevice {
    pub(super) fn open(beside: Beside<'_>, options: &NvmeOptions) -> Result<Self, Refusal> {
        let Beside { chosen, topology, core, buffer, contents } = beside;
        let target = Target { address: chosen.address, options: options.clone(), host: chosen.host.clone() };
        let mut link = Link::open(&chosen.tree, &target, buffer)?;
        let scratch = link.scratch(&chosen.tree, &target, buffer)?;
        let about = |refusal: Refusal| refusal.about(chosen.address.to_string());
        let state = BlockState::chosen(options.blocks, link.identity(), scratch.as_ref()).map_err(about)?;
        if let Some(scratch) = &scratch {
            let refused = |error| obstacle::device(chosen.address, error);
            link.prepare(state, scratch, buffer).map_err(refused)?;
        }
        let clock = Clock::measured(topology);
        Ok(Self {
            tree: chosen.tree.clone(),
            function: link.function.clone(),
            core,
            facts: facts(&link, &target, &clock, state),
            clock,
            buffer: Rc::clone(buffer),
            scratch,
            state,
            is_prepared: true,
            contents,
            target,
            link: Some(link),
            begun: None,
            remarks: Remarks::default(),
        })
    }

    fn stop(&self) -> Stop {
        self.begun.as_ref().map(|begun| begun.stop.clone()).unwrap_or_default()
    }

    fn link(&mut self) -> Result<&mut Link, DeviceError> {
        let closed = || DeviceError::Failed("the drive is closed".into());
        self.link.as_mut().ok_or_else(closed)
    }

    /// Addresses and plan of the current test.
    fn planned(&self) -> Result<(AddressList, Plan), DeviceError> {
        let missing = || DeviceError::Failed("internal error: test started before begin()".into());
        let begun = self.begun.as_ref().ok_or_else(missing)?;
        Ok((begun.addresses.clone(), begun.plan.clone()?))
    }

    /// The kind of command that writes, or reads, host memory.
    fn kind(&self, plan: Plan, writes_host: bool) -> Kind {
        let identity = self.link.as_ref().map(Link::identity);
        let reads = identity.and_then(|identity| plan.host_read(identity, self.scratch.as_ref()));
        if writes_host { Kind::Read } else { reads.unwrap_or(Kind::Compare) }
    }

    fn plan(&self, test: &Test) -> Result<Plan, DeviceError> {
        let link = self.link.as_ref().ok_or_else(|| DeviceError::Failed("the drive is closed".into()))?;
        let length = self.buffer.borrow().length();
        Plan::new(test, link.identity(), link.drive.depth(), length, self.scratch.as_ref())
    }

    /// Brings the scratch blocks into their state again after a test that has written them.
    fn prepare_blocks(&mut self) -> Result<(), DeviceError> {
        if self.is_prepared {
            return Ok(());
        }
        let (state, buffer) = (self.state, Rc::clone(&self.buffer));
        match self.scratch {
            Some(scratch) => self.link()?.prepare(state, &scratch, &buffer).map_err(raised),
            None => Ok(()),
        }
    }

    /// Fills the window with the data that the drive will compare it with.
    fn load(&mut self, plan: Plan, test: &Test) -> Result<(), DeviceError> {
        *self.contents.borrow_mut() = None;
        self.prepare_blocks()?;
        let writes_blocks = test.operation != Operation::BwWr && self.kind(plan, false) == Kind::Write;
        self.is_prepared = !(writes_blocks && self.state == BlockState::Deallocated);
        // Zeros are written over zeros: even a killed run changes nothing, and the range stays usable.
        if self.kind(plan, false) == Kind::Write {
            let length = self.buffer.borrow().length();
            self.buffer.borrow_mut().fill(0, length, 0);
        }
        if test.operation == Operation::BwWr || self.kind(plan, false) != Kind::Compare {
            return Ok(());
        }
        // The transfers go to the start of the buffer, packed.
        let packed = Plan { unit_bytes: plan.size_bytes, offset_bytes: 0, ..plan };
        self.read(packed, plan.period, &mut |number| number * plan.size_bytes)?;
        let held = self.buffer.borrow().copied(0, (plan.period * plan.size_bytes) as usize);
        let outside = || DeviceError::Failed("the compared blocks exceed the buffer".into());
        let blocks = Blocks::new(plan, held.ok_or_else(outside)?);
        blocks.fill(&mut self.buffer.borrow_mut(), test.window_bytes);
        *self.contents.borrow_mut() = Some(Box::new(blocks));
        Ok(())
    }

    /// Makes the drive read `count` transfers to offsets of the buffer.
    fn read(
        &mut self,
        plan: Plan,
        count: u64,
        offset: &mut dyn FnMut(u64) -> u64,
    ) -> Result<(), DeviceError> {
        let mut transfer = |number| (Kind::Read, offset(number));
        self.pump(plan, (count, None), &mut transfer, &mut |_| ControlFlow::Continue(()))
    }

    /// Keeps the drive busy with `total` transfers, which `transfer` makes from their numbers.
    fn pump(
        &mut self,
        plan: Plan,
        (total, outstanding): (u64, Option<u32>),
        transfer: &mut dyn FnMut(u64) -> (Kind, u64),
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (clock, stop) = (self.clock.clone(), self.stop());
        let link = self.link()?;
        let base = link.drive.transport_mut().data_address();
        let mut command = |number| {
            let (kind, offset) = transfer(number);
            plan.command(kind, base, offset)
        };
        many(link, (&clock, &stop), (total, outstanding), &mut command, sink)
    }
}

fn raised(error: NvmeError) -> DeviceError {
    match error {
        NvmeError::Transport(_) | NvmeError::NotADrive(_) => DeviceError::Lost(error.to_string()),
        NvmeError::Unsupported(reason) => DeviceError::NotSupported(reason),
        error => DeviceError::Failed(error.to_string()),
    }
}

impl Engine for Link {
    type Command = Command;
    const NAME: &'static str = "the drive";

    fn depth(&self) -> u64 {
        self.drive.depth().into()
    }

    #[inline]
    fn submit(&mut self, command: Command) -> Result<(), DeviceError> {
        self.drive.submit(command.kind, command.block, command.data).map_err(raised).map(drop)
    }

    #[inline]
    fn ended(&mut self, wrong: &mut Option<DeviceError>) -> Result<u64, DeviceError> {
        let mut count = 0;
        let mut take = |completion: Completion| {
            count += 1;
            if completion.status != 0 {
                let action = if completion.differs() { Kind::Compare.name() } else { "carry out a command" };
                wrong.get_or_insert(raised(NvmeError::Status { action, status: completion.status }));
            }
        };
        self.drive.completions(&mut take).map_err(raised)?;
        Ok(count)
    }

    fn interrupt(&self) -> Option<&Interrupt> {
        self.interrupt.as_ref()
    }
}

fn facts(link: &Link, target: &Target, clock: &Clock, state: BlockState) -> DeviceFacts {
    let identity = link.identity();
    // Without Compare, the drive reads host memory by writing blocks.
    let spares_medium = state == BlockState::Deallocated && identity.has_compare;
    let own = if spares_medium { "controller" } else { "medium" };
    let noticed = match target.options.completion {
        Noticing::Polled => "poll",
        Noticing::Interrupt => "interrupt",
    };
    let includes = ["doorbell", "descriptor", own, noticed, "timer"];
    DeviceFacts {
        name: identity.model.clone(),
        timer: clock.timer(),
        dma_transfer_bytes_most: Some(identity.transfer_bytes_most),
        command_transfer_bytes_most: None,
        outstanding: Some(u32::from(link.drive.depth())),
        hardware: Some(DeviceHardware {
            firmware: Some(identity.firmware.clone()),
            latency_includes: includes.map(str::to_owned).into(),
            ..hardware(&link.function, "nvme", DEADLINE_MS)
        }),
    }
}

impl Device for NvmeDevice {
    fn facts(&self) -> DeviceFacts {
        self.facts.clone()
    }

    fn conditions(&mut self) -> Vec<Condition> {
        let mut conditions = self.function.link_conditions();
        conditions.extend(self.clock.conditions());
        let deallocated = self.state.deallocated().map(|one| if self.is_prepared { one } else { 0.0 });
        conditions.push(Condition::new("blocks_deallocated", "1", deallocated));
        let (stop, clock) = (self.stop(), self.clock.clone());
        let block = self.scratch.map_or(0, |scratch| scratch.first);
        if let Some(link) = &mut self.link {
            conditions.extend(floor(link, block, (&clock, &stop)));
        }
        conditions
    }

    fn begin(&mut self, start: Start<'_>) {
        let plan = self.plan(start.test);
        self.begun =
            Some(Begun { addresses: start.addresses(), stop: start.stop.clone(), plan: plan.clone() });
        self.remarks = Remarks::default();
        let loaded = plan.and_then(|plan| self.load(plan, start.test).map(|()| plan));
        if let Some(begun) = &mut self.begun {
            begun.plan = loaded;
        }
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        let (_, plan) = self.planned()?;
        let units = self.buffer.borrow().length() / plan.unit_bytes;
        // Any uniform order of units will do.
        let mut unit = scattered(self.core, units);
        let count = THRASH_BYTES.div_ceil(plan.size_bytes);
        self.read(plan, count, &mut |_| unit() * plan.unit_bytes + plan.offset_bytes)
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let (_, plan) = self.planned()?;
        let units = window_bytes / plan.unit_bytes;
        self.read(plan, 2 * units, &mut |number| number % units * plan.unit_bytes + plan.offset_bytes)
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (addresses, plan) = self.planned()?;
        let (stop, clock) = (self.stop(), self.clock.clone());
        let reads = self.kind(plan, false);
        let link = self.link()?;
        let base = link.drive.transport_mut().data_address();
        let mut transaction = |number| {
            let offset = addresses.offset(number);
            if test.operation == Operation::LatWrrd {
                one(link, plan.command(Kind::Read, base, offset), &stop)?;
            }
            one(link, plan.command(reads, base, offset), &stop)
        };
        let seen = latencies((&clock, &stop), test.transactions, &mut transaction, sink)?;
        if !stop.is_requested() && seen.count() > 0 {
            let kinds: &[Kind] = match test.operation {
                Operation::LatWrrd => &[Kind::Read, reads],
                _ => &[reads],
            };
            let whole = Median::of(&seen, &clock);
            self.remarks = measured_parts(self.link()?, (plan, kinds), whole, (&clock, &stop))?;
        }
        Ok(())
    }

    fn remarks(&mut self) -> Remarks {
        self.remarks.clone()
    }

    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (addresses, plan) = self.planned()?;
        let (reads, total) = (self.kind(plan, false), test.transactions);
        let mut transfer = |number: u64| {
            let writes = AddressList::writes(test.operation, number, total);
            (if writes { Kind::Read } else { reads }, addresses.offset(number))
        };
        self.pump(plan, (total, test.outstanding), &mut transfer, sink)
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        // Closed first: the group can be opened only once.
        self.link = None;
        let link = Link::open(&self.tree, &self.target, &self.buffer);
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
