//! The root port's side of the link: chooses and times completions.

use super::super::NEVER;
use super::super::layouts::TlpLayouts;
use super::card::Card;
use super::pending_reads::PendingReads;
use crate::cache::history::TestKey;
use crate::link::port::Port;
use crate::link::replay::Replays;
use crate::machine::Machine;
use pcie_time::{Picoseconds, Stream};
use std::collections::VecDeque;

/// The downlink and the requests that wait for it. It also carries the DLLPs that acknowledge writes.
#[derive(Debug)]
pub(super) struct RootPort {
    pub(super) pending: PendingReads,
    downlink: Port,
    dllp_bytes: u32,
    /// Arrivals of writes whose DLLPs have not been sent.
    writes: VecDeque<Picoseconds>,
    /// When the root port next looks for a TLP to send.
    looks_at: Picoseconds,
    answering: Option<Answering>,
}

#[derive(Clone, Copy, Debug)]
struct Answering {
    tag: u32,
    /// Its unsent completions: a range of the layouts' completions.
    next: u32,
    end: u32,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Answer {
    pub(super) tag: u32,
    /// When its last byte has left.
    pub(super) left: Picoseconds,
    /// Whether it is the last of its request.
    pub(super) last: bool,
}

impl RootPort {
    pub(super) fn new(machine: &Machine, key: TestKey, downlink: Port, first_draw: u64) -> Self {
        let root = &machine.system.host.root_complex;
        let order = key.draws(Stream::CompletionOrder);
        let tags = machine.tags() as usize;
        Self {
            pending: PendingReads::new(root.completion_order, order, first_draw, tags),
            downlink,
            dllp_bytes: machine.downlink_dllp_bytes(),
            writes: VecDeque::new(),
            looks_at: Picoseconds::ZERO,
            answering: None,
        }
    }

    /// What the root port sent again.
    pub(in crate::bandwidth) fn replays(&self) -> Option<Replays> {
        self.downlink.replays()
    }

    /// The earliest time at which a completion of the pending requests can be sent.
    #[inline]
    pub(super) fn next_answer(&self) -> Picoseconds {
        match self.answering {
            Some(_) => self.looks_at,
            None => self.pending.earliest().map_or(NEVER, |data| self.looks_at.max(data)),
        }
    }

    /// A write arrives, and will be acknowledged by a DLLP.
    #[inline]
    pub(super) fn write_arrives(&mut self, arrival: Picoseconds) {
        if self.dllp_bytes > 0 {
            self.writes.push_back(arrival);
        }
    }

    /// Sends the next completion at `now`; `None` if it has to wait.
    #[inline]
    pub(super) fn answer(
        &mut self,
        now: Picoseconds,
        card: &Card<'_>,
        layouts: &TlpLayouts<'_>,
    ) -> Option<Answer> {
        while self.writes.front().is_some_and(|arrival| *arrival <= now) {
            let arrival = self.writes.pop_front()?;
            self.downlink.send_dllps(arrival, self.dllp_bytes);
        }
        if self.downlink.free_at() > now {
            self.looks_at = self.downlink.free_at();
            return None;
        }
        let Answering { tag, next, end } = match self.answering {
            Some(answering) => answering,
            None => {
                let tag = self.pending.choose(now);
                let (next, end) = card.request(tag, layouts).completions;
                let chosen = Answering { tag, next, end };
                let room = card.room_at();
                if room > now {
                    self.answering = Some(chosen);
                    self.looks_at = room;
                    return None;
                }
                chosen
            }
        };
        let left = self.downlink.send_units(now, layouts.completion_bytes[next as usize]);
        let last = next + 1 == end;
        self.looks_at = self.downlink.free_at().max(now);
        self.answering = (!last).then_some(Answering { tag, next: next + 1, end });
        Some(Answer { tag, left, last })
    }
}
