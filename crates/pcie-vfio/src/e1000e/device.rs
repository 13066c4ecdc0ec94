//! A NIC as the device of a bench.

use super::frames::Frames;
use super::link::{Link, raised};
use super::plan::Plan;
use crate::chosen::{Beside, Chosen};
use crate::engine::{latencies, many, median, one, scattered};
use crate::facts::hardware;
use crate::host::{Contents, SharedContents};
use crate::median::Median;
use crate::tree::Function;
use pcie_bench::{
    BandwidthSlice, Condition, Device, DeviceError, DeviceFacts, DeviceHardware, LatencySlice, Remarks,
    Start, Stop,
};
use pcie_driver::e1000e::{DEPTH_MOST, FRAME_BYTES_LEAST, FRAME_BYTES_MOST, Frame};
use pcie_host::{Clock, SharedBuffer};
use pcie_refusal::Refusal;
use pcie_store::Scalar;
use pcie_workload::{AddressList, Operation, Test};
use std::ops::ControlFlow;
use std::rc::Rc;

const THRASH_BYTES: u64 = 128 << 20;
/// Silence after which the NIC counts as lost, ms.
const DEADLINE_MS: u64 = 20_000;
/// Most frames compared byte by byte after a test: the last ones received into the window. Of frames sent
/// from it only the last is compared. Length and status of every frame are checked.
const COMPARED: u64 = 4096;
/// Descriptor bytes per frame: two fetched, one written back.
const DESCRIPTOR_BYTES: f64 = 3.0 * 16.0;

struct Begun {
    addresses: AddressList,
    stop: Stop,
    /// Its frames, or why it cannot run.
    plan: Result<Plan, DeviceError>,
}

pub(super) struct NicDevice {
    chosen: Chosen,
    function: Function,
    core: u32,
    clock: Clock,
    buffer: SharedBuffer,
    contents: SharedContents,
    facts: DeviceFacts,
    /// None between a failure and recovery, and after closing.
    link: Option<Link>,
    begun: Option<Begun>,
    /// Number of distinct frames sent so far from the fixed buffer.
    sources: u64,
    /// Remarks on the last test: parts of its latency, or of its bytes.
    remarks: Remarks,
}

#[derive(Clone, Copy)]
struct Lanes {
    /// Bus addresses of the window and of the fixed buffers.
    window: u64,
    source: u64,
    target: u64,
    bytes: u32,
}

impl Lanes {
    /// A frame received at an offset of the window.
    #[inline]
    fn into_window(self, offset: u64) -> Frame {
        Frame { from: self.source, to: self.window + offset, bytes: self.bytes }
    }

    /// A frame sent from an offset of the window.
    #[inline]
    fn out_of_window(self, offset: u64) -> Frame {
        Frame { from: self.window + offset, to: self.target, bytes: self.bytes }
    }
}

impl NicDevice {
    pub(super) fn open(beside: Beside<'_>) -> Result<Self, Refusal> {
        let Beside { chosen, topology, core, buffer, contents } = beside;
        let link = Link::open(chosen, buffer)?;
        let clock = Clock::measured(topology);
        Ok(Self {
            chosen: chosen.clone(),
            function: link.function.clone(),
            core,
            facts: facts(&link.function, &clock),
            clock,
            buffer: Rc::clone(buffer),
            contents,
            link: Some(link),
            begun: None,
            sources: 0,
            remarks: Remarks::default(),
        })
    }

    /// The current test.
    fn planned(&self) -> Result<(AddressList, Plan, Stop), DeviceError> {
        let missing = || DeviceError::Failed("internal error: test started before begin()".into());
        let begun = self.begun.as_ref().ok_or_else(missing)?;
        Ok((begun.addresses.clone(), begun.plan.clone()?, begun.stop.clone()))
    }

    fn link(&mut self) -> Result<&mut Link, DeviceError> {
        let closed = || DeviceError::Failed("the NIC is closed".into());
        self.link.as_mut().ok_or_else(closed)
    }

    fn frames(&mut self, plan: Plan) -> Result<Frames, DeviceError> {
        Ok(Frames { header: self.link()?.nic.header(), plan })
    }

    /// Puts a new frame into the source buffer, so that a later match proves that it was sent now.
    fn load(&mut self, plan: Plan) -> Result<(Lanes, Vec<u8>), DeviceError> {
        self.sources += 1;
        // Counted down, because units count up.
        let frame = self.frames(plan)?.frame(u64::MAX - (self.sources << 32));
        let nic = &mut self.link()?.nic;
        nic.put_source(&frame).map_err(raised)?;
        let window = nic.transport_mut().data_address();
        let lanes = Lanes { window, source: nic.source(), target: nic.target(), bytes: plan.size_bytes };
        Ok((lanes, frame))
    }

    /// Makes the NIC write `count` frames to units of the buffer.
    fn write(&mut self, count: u64, unit: &mut dyn FnMut(u64) -> u64) -> Result<(), DeviceError> {
        let (_, plan, stop) = self.planned()?;
        let (lanes, _) = self.load(plan)?;
        let clock = self.clock.clone();
        let mut frame = |number| lanes.into_window(plan.offset(unit(number)));
        let go_on = &mut |_| ControlFlow::Continue(());
        many(self.link()?, (&clock, &stop), (count, None), &mut frame, go_on)
    }

    /// Checks that the first of these offsets of the buffer hold the frame that was sent.
    fn compare_written(&self, offsets: impl Iterator<Item = u64>, frame: &[u8]) -> Result<(), DeviceError> {
        let buffer = self.buffer.borrow();
        let mut held = vec![0; frame.len()];
        let differs = |offset: &u64| !buffer.copy_out(*offset, &mut held) || held != frame;
        match offsets.take(COMPARED as usize).find(differs) {
            Some(offset) => Err(DeviceError::Failed(format!(
                "the frame received at {offset:#x} of the buffer differs from the frame sent"
            ))),
            None => Ok(()),
        }
    }

    /// Checks that the last received frame is the one at an offset of the buffer.
    fn compare_read(&mut self, offset: u64, plan: Plan) -> Result<(), DeviceError> {
        let sent = self.buffer.borrow().copied(offset, plan.size_bytes as usize);
        let outside = || DeviceError::Failed(format!("{offset:#x} is outside the buffer"));
        let sent = sent.ok_or_else(outside)?;
        match self.link()?.nic.target_holds(&sent).map_err(raised)? {
            true => Ok(()),
            false => Err(DeviceError::Failed(format!(
                "the last frame received differs from the frame sent from {offset:#x} of the buffer"
            ))),
        }
    }
}

fn facts(function: &Function, clock: &Clock) -> DeviceFacts {
    let includes = ["doorbell", "descriptor", "loopback", "poll", "timer"];
    DeviceFacts {
        name: "Intel 82574, in MAC loopback".into(),
        timer: clock.timer(),
        dma_transfer_bytes_most: Some(FRAME_BYTES_MOST.into()),
        command_transfer_bytes_most: None,
        outstanding: Some(DEPTH_MOST.into()),
        hardware: Some(DeviceHardware {
            latency_includes: includes.map(str::to_owned).into(),
            ..hardware(function, "e1000e", DEADLINE_MS)
        }),
    }
}

impl Device for NicDevice {
    fn facts(&self) -> DeviceFacts {
        self.facts.clone()
    }

    fn conditions(&mut self) -> Vec<Condition> {
        let mut conditions = self.function.link_conditions();
        conditions.extend(self.clock.conditions());
        conditions.push(Condition::new("arrival_checked", "1", Some(1.0)));
        conditions
    }

    fn begin(&mut self, start: Start<'_>) {
        let length = self.buffer.borrow().length();
        let plan = Plan::new(start.test, length);
        self.remarks = Remarks::default();
        *self.contents.borrow_mut() = None;
        let filled = plan.and_then(|plan| {
            let frames = self.frames(plan)?;
            frames.fill(&mut self.buffer.borrow_mut(), start.test.window_bytes);
            *self.contents.borrow_mut() = Some(Box::new(frames));
            Ok(plan)
        });
        self.begun = Some(Begun { addresses: start.addresses(), stop: start.stop.clone(), plan: filled });
    }

    fn thrash(&mut self) -> Result<(), DeviceError> {
        let (_, plan, _) = self.planned()?;
        let units = self.buffer.borrow().length() / plan.unit_bytes;
        // Any uniform order of units will do.
        let mut unit = scattered(self.core, units);
        self.write(THRASH_BYTES.div_ceil(plan.size_bytes.into()), &mut |_| unit())
    }

    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError> {
        let (_, plan, _) = self.planned()?;
        let units = window_bytes / plan.unit_bytes;
        self.write(2 * units, &mut |number| number % units)
    }

    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError> {
        let (addresses, plan, stop) = self.planned()?;
        let (lanes, sent) = self.load(plan)?;
        let clock = self.clock.clone();
        let link = self.link()?;
        let is_pair = test.operation == Operation::LatWrrd;
        let mut done = 0;
        let mut transaction = |number| {
            let offset = addresses.offset(number);
            if is_pair {
                one(link, lanes.into_window(offset), &stop)?;
            }
            one(link, lanes.out_of_window(offset), &stop)?;
            done = number + 1;
            Ok(())
        };
        let seen = latencies((&clock, &stop), test.transactions, &mut transaction, sink)?;
        if done == 0 {
            return Ok(());
        }
        self.compare_read(addresses.offset(done - 1), plan)?;
        if is_pair {
            return self.compare_written((0..done).rev().map(|number| addresses.offset(number)), &sent);
        }
        // The shortest frame, between the fixed buffers.
        let least = Frame { from: lanes.source, to: lanes.target, bytes: FRAME_BYTES_LEAST };
        let least = median(self.link()?, (&clock, &stop), |_| [least])?;
        let bytes = Median::of(&seen, &clock).less(least);
        self.remarks.parts =
            [least.scalars("shortest-frame", "median"), bytes.scalars("bytes", "difference")].concat();
        self.remarks.message = bytes.unresolvable("bytes");
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
        let (addresses, plan, stop) = self.planned()?;
        let (lanes, sent) = self.load(plan)?;
        let (clock, total) = (self.clock.clone(), test.transactions);
        let writes = |number| AddressList::writes(test.operation, number, total);
        let mut handed = 0;
        let mut frame = |number: u64| {
            handed = number + 1;
            let offset = addresses.offset(number);
            if writes(number) { lanes.into_window(offset) } else { lanes.out_of_window(offset) }
        };
        many(self.link()?, (&clock, &stop), (total, test.outstanding), &mut frame, sink)?;
        // With both directions, a later receive may have overwritten the sent frame.
        if let Some(last) = handed.checked_sub(1).filter(|_| test.operation == Operation::BwRd) {
            self.compare_read(addresses.offset(last), plan)?;
        }
        let written = (0..handed).rev().filter(|number| writes(*number));
        self.compare_written(written.map(|number| addresses.offset(number)), &sent)?;
        let moved = DESCRIPTOR_BYTES + 2.0 * f64::from(plan.size_bytes);
        self.remarks.parts = vec![Scalar {
            subject: "descriptors".into(),
            metric: "share".into(),
            unit: "1".into(),
            value: DESCRIPTOR_BYTES / moved,
        }];
        Ok(())
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        // Closed first: the group can be opened only once.
        self.link = None;
        let link = Link::open(&self.chosen, &self.buffer);
        self.link = Some(link.map_err(|refusal| DeviceError::Lost(refusal.to_string()))?);
        Ok(())
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        // Dropping it stops the NIC, then unmaps its memory.
        self.link = None;
        Ok(())
    }
}
