//! A NIC as the device of a bench.

use super::frames::Frames;
use super::link::{Link, raised};
use super::plan::Plan;
use crate::chosen::{Beside, Chosen, OnBus};
use crate::engine::{latencies, many, median_ns, one, part, scattered};
use crate::facts::hardware;
use crate::host::{Contents, SharedContents};
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

/// What a device thrash writes.
const THRASH_BYTES: u64 = 128 << 20;
/// The NIC shows life in this time, or is given up.
const DEADLINE_MS: u64 = 20_000;
/// Frames that were received into the window and are compared byte by byte after a test, the last ones, and the last one that was
/// sent from it: of all of them length and status are looked at.
const COMPARED: u64 = 4096;
/// Bytes of descriptors that a frame moves: two that are fetched, and one that is written back.
const DESCRIPTOR_BYTES: f64 = 3.0 * 16.0;

/// The test that was announced.
struct Begun {
    addresses: AddressList,
    stop: Stop,
    /// How it is carried out, or why not.
    plan: Result<Plan, DeviceError>,
}

/// A NIC.
pub(super) struct NicDevice {
    chosen: Chosen,
    function: Function,
    core: u32,
    clock: Clock,
    buffer: SharedBuffer,
    contents: SharedContents,
    facts: DeviceFacts,
    /// None between a failure and what mends it, and after closing.
    link: Option<Link>,
    begun: Option<Begun>,
    /// Frames that were sent from the buffer that is always the same, each of other bytes than the one before.
    sources: u64,
    /// What is told of the test that was just done.
    parts: Vec<Scalar>,
}

/// Where the frames of a test lie.
#[derive(Clone, Copy)]
struct Lanes {
    /// Bus addresses of the window, and of the buffers that are always the same.
    window: u64,
    source: u64,
    target: u64,
    bytes: u32,
}

impl Lanes {
    /// A frame that is received at an offset of the window.
    #[inline]
    fn into_window(self, offset: u64) -> Frame {
        Frame { from: self.source, to: self.window + offset, bytes: self.bytes }
    }

    /// A frame that is sent from an offset of the window.
    #[inline]
    fn out_of_window(self, offset: u64) -> Frame {
        Frame { from: self.window + offset, to: self.target, bytes: self.bytes }
    }
}

impl NicDevice {
    pub(super) fn open(beside: Beside<'_>) -> Result<Self, Refusal> {
        let Beside { chosen, topology, core, buffer } = beside;
        let link = Link::open(chosen, buffer)?;
        let clock = Clock::measured(topology);
        Ok(Self {
            chosen: chosen.clone(),
            function: link.function.clone(),
            core,
            facts: facts(&link.function, &clock),
            clock,
            buffer: Rc::clone(buffer),
            contents: SharedContents::default(),
            link: Some(link),
            begun: None,
            sources: 0,
            parts: Vec::new(),
        })
    }

    /// The test at hand.
    fn planned(&self) -> Result<(AddressList, Plan, Stop), DeviceError> {
        let nothing = || DeviceError::Failed("a test was asked for that nobody announced".into());
        let begun = self.begun.as_ref().ok_or_else(nothing)?;
        Ok((begun.addresses.clone(), begun.plan.clone()?, begun.stop.clone()))
    }

    fn link(&mut self) -> Result<&mut Link, DeviceError> {
        let closed = || DeviceError::Failed("the NIC was closed, and not opened again".into());
        self.link.as_mut().ok_or_else(closed)
    }

    fn frames(&mut self, plan: Plan) -> Result<Frames, DeviceError> {
        Ok(Frames { header: self.link()?.nic.header(), plan })
    }

    /// Puts a frame that was not sent before where it is sent from, so that what is found later was sent now.
    fn load(&mut self, plan: Plan) -> Result<(Lanes, Vec<u8>), DeviceError> {
        self.sources += 1;
        // Units count from below.
        let frame = self.frames(plan)?.frame(u64::MAX - (self.sources << 32));
        let nic = &mut self.link()?.nic;
        nic.put_source(&frame).map_err(raised)?;
        let window = nic.transport_mut().data_address();
        let lanes = Lanes { window, source: nic.source(), target: nic.target(), bytes: plan.size_bytes };
        Ok((lanes, frame))
    }

    /// Has the NIC write frames to units of the buffer.
    fn write(&mut self, count: u64, unit: &mut dyn FnMut(u64) -> u64) -> Result<(), DeviceError> {
        let (_, plan, stop) = self.planned()?;
        let (lanes, _) = self.load(plan)?;
        let clock = self.clock.clone();
        let mut frame = |number| lanes.into_window(plan.place(unit(number)));
        let go_on = &mut |_| ControlFlow::Continue(());
        many(self.link()?, (&clock, &stop), (count, None), &mut frame, go_on)
    }

    /// Looks whether the last of the places that were written hold the frame that was sent there.
    fn compare_written(&self, places: impl Iterator<Item = u64>, frame: &[u8]) -> Result<(), DeviceError> {
        let buffer = self.buffer.borrow();
        let mut held = vec![0; frame.len()];
        let differs = |place: &u64| !buffer.copy_out(*place, &mut held) || held != frame;
        match places.take(COMPARED as usize).find(differs) {
            Some(place) => Err(DeviceError::Failed(format!(
                "what was received at {place:#x} of the buffer is not the frame that was sent"
            ))),
            None => Ok(()),
        }
    }

    /// Looks whether what was received last is the frame at a place of the buffer.
    fn compare_read(&mut self, place: u64, plan: Plan) -> Result<(), DeviceError> {
        let sent = self.buffer.borrow().copied(place, plan.size_bytes as usize);
        let outside = || DeviceError::Failed(format!("{place:#x} is outside of the buffer"));
        let sent = sent.ok_or_else(outside)?;
        match self.link()?.nic.target_holds(&sent).map_err(raised)? {
            true => Ok(()),
            false => Err(DeviceError::Failed(format!(
                "what was received last is not the frame that was sent from {place:#x} of the buffer"
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

impl OnBus for NicDevice {
    fn function(&self) -> &Function {
        &self.function
    }

    fn contents(&self) -> SharedContents {
        Rc::clone(&self.contents)
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
        self.parts.clear();
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
        // Which units are written does not matter, only that none is preferred.
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
        let whole_ns = clock.timer().tick().in_ns(f64::from(seen.quantile(0.5)));
        // The shortest frame, from and to the buffers that are always the same.
        let least = Frame { from: lanes.source, to: lanes.target, bytes: FRAME_BYTES_LEAST };
        let least_ns = median_ns(self.link()?, least, (&clock, &stop))?;
        self.parts = vec![
            part("shortest-frame", "median", least_ns),
            part("bytes", "difference", whole_ns - least_ns),
        ];
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
        // Where both directions meet, what was sent may have been received over since.
        if let Some(last) = handed.checked_sub(1).filter(|_| test.operation == Operation::BwRd) {
            self.compare_read(addresses.offset(last), plan)?;
        }
        let written = (0..handed).rev().filter(|number| writes(*number));
        self.compare_written(written.map(|number| addresses.offset(number)), &sent)?;
        let moved = DESCRIPTOR_BYTES + 2.0 * f64::from(plan.size_bytes);
        self.parts = vec![Scalar {
            subject: "descriptors".into(),
            metric: "share".into(),
            unit: "1".into(),
            value: DESCRIPTOR_BYTES / moved,
        }];
        Ok(())
    }

    fn recover(&mut self) -> Result<(), DeviceError> {
        // Closed first: the group can be had once.
        self.link = None;
        let link = Link::open(&self.chosen, &self.buffer);
        self.link = Some(link.map_err(|refusal| DeviceError::Lost(refusal.to_string()))?);
        Ok(())
    }

    fn close(&mut self) -> Result<(), DeviceError> {
        // Dropping it stops the NIC, and takes its reach away, in that order.
        self.link = None;
        Ok(())
    }
}
