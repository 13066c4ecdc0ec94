//! Time passes: TLPs leave their ports and arrive, reads are answered, and events wait to be taken.

use super::regions::Target;
use super::{Event, Machine, MachineError, Request, Timer, Underway};
use crate::endpoint::Units;
use crate::port::Completion;
use crate::tlp::{Outcome, TIME_MOST, Tlp, TlpError};
use pcie_fabric::NodeId;
use pcie_fabric::simulate::{Class, Step};
use pcie_time::Picoseconds;

impl Machine {
    /// Moves time on. An earlier time changes nothing.
    ///
    /// # Errors
    /// The time is beyond [`TIME_MOST`].
    pub fn advance(&mut self, to: Picoseconds) -> Result<(), MachineError> {
        if to > TIME_MOST {
            return Err(TlpError::Late(to).into());
        }
        while self.progress(to) {}
        self.now = self.now.max(to);
        Ok(())
    }

    /// Handles the next thing up to a time; returns whether there was one.
    fn progress(&mut self, to: Picoseconds) -> bool {
        let timer = self.timers.next_time().filter(|at| *at <= to);
        let until = timer.map_or(to, |at| at.min(to));
        if let Some((now, step)) = self.fabric.step(until) {
            self.now = self.now.max(now);
            match step {
                Step::Left(number) => self.left(number),
                Step::Arrived(number) => self.arrived(number),
            }
            return true;
        }
        let Some((now, timer)) = timer.and_then(|_| self.timers.pop()) else { return false };
        self.now = self.now.max(now);
        match timer {
            Timer::Pump(node) => self.pump(node),
            Timer::Written { from, tlp, node, transfer } => self.written(from, node, &tlp, transfer),
        }
        true
    }

    /// Gives a port its room back.
    fn left(&mut self, number: u32) {
        let (node, units, is_own) = match self.underway[number as usize] {
            Underway::Posted { from, tlp, transfer, .. } => (from, Units::of(&tlp), transfer.is_some()),
            Underway::Read { from, is_of_transfer, .. } => {
                (from, Units { non_posted_headers: 1, ..Units::default() }, is_of_transfer)
            }
            Underway::Completion { .. } => return,
        };
        if let Some(end) = self.ends[node as usize].as_mut() {
            end.credits = end.credits.with(&units);
        }
        if !is_own {
            self.events.push_back(Event::Credits { at: self.now, node, units });
        }
        self.pump(node);
    }

    /// A TLP is at its destination.
    fn arrived(&mut self, number: u32) {
        self.free.push(number);
        match self.underway[number as usize] {
            Underway::Posted { from, tlp, target, transfer } => self.posted(from, tlp, target, transfer),
            Underway::Read { request, .. } => self.asked(request),
            Underway::Completion { request, length, outcome } => self.answered(request, length, outcome),
        }
    }

    /// A write or a message is at its destination.
    fn posted(&mut self, from: NodeId, tlp: Tlp, target: Target, transfer: Option<u64>) {
        let (node, at) = (target.node, self.now);
        if tlp.is_signal() {
            self.events.push_back(Event::Message { at, node, from, address: tlp.address, tag: tlp.tag });
            return;
        }
        if self.end(node).is_some_and(|end| end.is_attached || end.is_host) {
            return self.written(from, node, &tlp, transfer);
        }
        let at = self.fabric.write(at, target.memory, tlp.length.into());
        self.timers.push(at, Timer::Written { from, tlp, node, transfer });
    }

    /// The data of a write are in memory, or at whoever stands for the device.
    fn written(&mut self, from: NodeId, node: NodeId, tlp: &Tlp, transfer: Option<u64>) {
        if transfer.is_none() || self.end(node).is_some_and(|end| end.is_attached) {
            let Tlp { address, length, tag, .. } = *tlp;
            self.events.push_back(Event::Write { at: self.now, node, from, address, length, tag, transfer });
        }
        if let Some(transfer) = transfer {
            self.moved(from, transfer, tlp.length);
        }
    }

    /// A read request is at its completer.
    fn asked(&mut self, request: u64) {
        let (at, mps) = (self.now, self.topology().mps_bytes());
        let Some(read) = self.requests.get_mut(&request) else { return };
        read.is_there = true;
        let Request { from, address, length, target, .. } = *read;
        let of = |node: NodeId| self.ends.get(node as usize).and_then(Option::as_ref);
        if of(target.node).is_some_and(|end| end.is_attached) {
            self.events.push_back(Event::Read { at, node: target.node, from, request, address, length });
            return;
        }
        let for_device = of(from).is_some_and(|end| !end.is_host);
        let mut parts = vec![];
        while read.to_answer > 0 {
            parts.push(read.part(mps));
        }
        for length in parts {
            let ready = self.fabric.read(at, target.memory, length.into(), for_device);
            let underway = Underway::Completion { request, length, outcome: Outcome::Data };
            self.launch(ready, (target.node, from), Class::Completion, length as u16, underway);
        }
    }

    /// A completion is at the reader.
    fn answered(&mut self, request: u64, length: u32, outcome: Outcome) {
        let Some(read) = self.requests.get_mut(&request) else { return };
        let byte_count = read.to_arrive;
        read.to_arrive -= length;
        let (last, read) = (read.to_arrive == 0, *read);
        if last {
            self.requests.remove(&request);
        }
        let Some(end) = self.ends[read.from as usize].as_mut() else { return };
        if let Some(transfer) = read.transfer {
            end.engine.reads -= u32::from(last);
            self.moved(read.from, transfer, length);
            return self.pump(read.from);
        }
        if read.is_given_up {
            return;
        }
        if last {
            end.tags.remove(&read.tag);
        }
        let has_data = matches!(outcome, Outcome::Data | Outcome::Poisoned);
        let completion = Completion {
            at: self.now,
            tag: read.tag,
            offset: u64::from(read.length - byte_count),
            address: read.address + u64::from(read.length - byte_count),
            length: if has_data { length } else { 0 },
            byte_count,
            last,
            outcome,
        };
        self.events.push_back(Event::Completion { node: read.from, from: read.target.node, completion });
    }

    /// The next event up to the present time.
    pub fn take(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Moves time on to the next event, at most to `until`, and takes it. Without `until`, time stays where it is if
    /// nothing is under way.
    ///
    /// # Errors
    /// The time is beyond [`TIME_MOST`].
    pub fn wait(&mut self, until: Option<Picoseconds>) -> Result<Option<Event>, MachineError> {
        if let Some(late) = until.filter(|until| *until > TIME_MOST) {
            return Err(TlpError::Late(late).into());
        }
        loop {
            if let Some(event) = self.take() {
                return Ok(Some(event));
            }
            if !self.progress(until.unwrap_or(TIME_MOST)) {
                self.now = self.now.max(until.unwrap_or(self.now));
                return Ok(None);
            }
        }
    }

    /// Time before which there is no event without further TLPs; `None` if nothing is under way. Advancing to it makes
    /// progress, but may bring no event yet.
    pub fn next_at(&mut self) -> Option<Picoseconds> {
        let waiting = self.events.front().map(|_| self.now);
        [waiting, self.timers.next_time(), self.fabric.next_at()].into_iter().flatten().min()
    }
}
