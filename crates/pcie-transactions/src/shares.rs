//! Where the time of each way of the link went: shares that add up to the time of the capture.
//!
//! At every moment a way sends a packet or is idle. An idle moment has the state of its way: reads in flight whose
//! completions would come this way, credits left, a packet on the other way, a Nak not yet answered. The causes follow from the
//! states at the end, when the most reads in flight and the least credits are known.

use crate::credits::{Credits, Left};
use serde::Serialize;
use std::collections::{HashMap, VecDeque};

/// States of idle moments that are kept apart; further ones lose their credits.
const STATES_MOST: usize = 1 << 14;
/// Share of the most reads in flight above which all tags count as in use: devices take a while to use a tag again.
const ALL_TAGS: f64 = 0.9;
/// A request within this time of a completion, or this share of the time since the request before, waited for its tag.
const REACTION_PS: f64 = 50_000.0;
const REACTION_SHARE: f64 = 0.25;

/// What a way of the link spent time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Data that were asked for.
    Payload,
    /// Headers and framing that the largest packets need.
    Headers,
    /// More headers and padding, since packets are smaller than they could be, or unaligned.
    Cuts,
    /// TLPs without data.
    Requests,
    /// Data link layer packets.
    Dllps,
    /// Packets that were sent again, and the wait for them.
    Retries,
    /// All tags are in use, as long as the fastest completions take.
    Tags,
    /// All tags are in use, for longer than that.
    LateCompletions,
    /// No credits are left.
    Credits,
    /// Requests wait while their own way of the link is busy.
    OtherWay,
    /// The device has nothing to send, or asks for too little at a time.
    DeviceGaps,
    /// The host has nothing to send, or asks for too little at a time.
    HostGaps,
}

impl Cause {
    /// Its name in tables.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Payload => "payload",
            Self::Headers => "headers",
            Self::Cuts => "small or unaligned cuts",
            Self::Requests => "requests",
            Self::Dllps => "DLLPs",
            Self::Retries => "retries",
            Self::Tags => "tags",
            Self::LateCompletions => "late completions",
            Self::Credits => "credits",
            Self::OtherWay => "other direction",
            Self::DeviceGaps => "device gaps",
            Self::HostGaps => "host gaps",
        }
    }
}

/// Bytes that a way sent.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Sent {
    pub payload: u64,
    /// Read requests, writes and completions with data, whole.
    pub tlps: u64,
    pub others: u64,
    pub dllps: u64,
    pub retries: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct State {
    reads: u32,
    posted: Left,
    non_posted: Left,
    other_busy: bool,
    nak: bool,
}

/// A requester and its tag.
pub(crate) type Tag = (Option<u16>, Option<u16>);

#[derive(Debug, Default)]
struct Way {
    busy_until: f64,
    sent: Sent,
    idle: HashMap<State, f64>,
    /// Reads in flight whose data come this way.
    reads: u32,
    most_reads: u32,
    /// When their last completions end, and the tags that are free then.
    ending: VecDeque<(f64, Tag)>,
    /// Idle time since the last packet, by state.
    recent: Vec<(State, f64)>,
    freed_at: f64,
    requested_at: f64,
    followed: u64,
    unfollowed: u64,
    posted: Credits,
    non_posted: Credits,
    nak: bool,
    read_data: u64,
    write_data: u64,
}

/// Time by cause, of both ways.
#[derive(Debug)]
pub(crate) struct Shares {
    byte_ps: f64,
    start: Option<f64>,
    now: f64,
    ways: [Way; 2],
}

/// A class of TLPs with credits of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Flow {
    Posted,
    NonPosted,
}

impl Shares {
    pub(crate) fn new(byte_ps: f64) -> Self {
        Self { byte_ps, start: None, now: 0.0, ways: Default::default() }
    }

    /// Moves time on; an earlier one changes nothing.
    pub(crate) fn advance(&mut self, to: u64) {
        let to = to as f64;
        if self.start.is_none() {
            (self.start, self.now) = (Some(to), to);
        }
        while self.now < to {
            let mut next = to;
            for way in &self.ways {
                if way.busy_until > self.now {
                    next = next.min(way.busy_until);
                }
                if let Some((ending, _)) = way.ending.front() {
                    next = next.min(ending.max(self.now));
                }
            }
            self.pass(next);
        }
        self.end_reads();
    }

    fn pass(&mut self, next: f64) {
        let busy = [0, 1].map(|way| self.ways[way].busy_until > self.now);
        for way in 0..2 {
            if busy[way] || next <= self.now {
                continue;
            }
            let other = &self.ways[1 - way];
            let mut state = State {
                reads: self.ways[way].reads,
                posted: self.ways[way].posted.left(),
                non_posted: other.non_posted.left(),
                other_busy: busy[1 - way],
                nak: self.ways[way].nak,
            };
            let idle = &mut self.ways[way].idle;
            if idle.len() >= STATES_MOST && !idle.contains_key(&state) {
                (state.posted, state.non_posted) = (Left::default(), Left::default());
            }
            *idle.entry(state).or_default() += next - self.now;
            self.ways[way].recent.push((state, next - self.now));
        }
        self.now = next;
        self.end_reads();
    }

    fn end_reads(&mut self) {
        for way in &mut self.ways {
            while way.ending.front().is_some_and(|(ending, _)| *ending <= self.now) {
                way.ending.pop_front();
                way.reads = way.reads.saturating_sub(1);
                way.freed_at = self.now;
            }
        }
    }

    /// The way is busy with a packet from the present time on, or from the end of the packet before.
    pub(crate) fn occupy(&mut self, way: usize, bytes: u32, count: impl FnOnce(&mut Sent)) {
        let way = &mut self.ways[way];
        way.busy_until = way.busy_until.max(self.now) + f64::from(bytes) * self.byte_ps;
        way.recent.clear();
        count(&mut way.sent);
    }

    /// A read is sent whose data come by `way`.
    pub(crate) fn open_read(&mut self, way: usize, tag: Tag) {
        let now = self.now;
        let way = &mut self.ways[way];
        // A tag that is used again is free, even if the end of its completion is known too roughly to say so.
        if let Some(last) = way.ending.iter().position(|(_, ending)| *ending == tag) {
            way.reads = way.reads.saturating_sub(last as u32 + 1);
            way.ending.drain(..=last);
            way.freed_at = now;
        }
        if way.reads > 0 || way.freed_at > way.requested_at {
            let since = now - way.freed_at;
            let near = since <= f64::max(REACTION_PS, REACTION_SHARE * (now - way.requested_at));
            *(if near { &mut way.followed } else { &mut way.unfollowed }) += 1;
        }
        way.requested_at = now;
        way.reads += 1;
        way.most_reads = way.most_reads.max(way.reads);
    }

    /// The last completion of a read is being sent.
    pub(crate) fn close_read(&mut self, way: usize, tag: Tag) {
        let way = &mut self.ways[way];
        let end = way.busy_until.max(self.now);
        way.ending.push_back((end, tag));
    }

    pub(crate) fn data(&mut self, way: usize, bytes: u32, read: bool) {
        let way = &mut self.ways[way];
        *(if read { &mut way.read_data } else { &mut way.write_data }) += u64::from(bytes);
    }

    pub(crate) fn spend(&mut self, way: usize, flow: Flow, data_credits: u32) {
        self.credits(way, flow).spend(data_credits);
    }

    /// Credits for what is sent by `way` are announced.
    pub(crate) fn announce(
        &mut self,
        way: usize,
        flow: Flow,
        header: (u16, u8),
        data: (u16, u8),
        initial: bool,
    ) {
        self.credits(way, flow).announce(header, data, initial);
    }

    fn credits(&mut self, way: usize, flow: Flow) -> &mut Credits {
        match flow {
            Flow::Posted => &mut self.ways[way].posted,
            Flow::NonPosted => &mut self.ways[way].non_posted,
        }
    }

    /// A Nak refuses a packet of `way`, or one is sent again.
    pub(crate) fn refuse(&mut self, way: usize, refused: bool) {
        let way = &mut self.ways[way];
        way.nak = refused;
        if refused {
            // The wait for the Nak belongs to the retry.
            for (state, time) in std::mem::take(&mut way.recent) {
                if let Some(idle) = way.idle.get_mut(&state) {
                    *idle = (*idle - time).max(0.0);
                }
                *way.idle.entry(State { nak: true, ..state }).or_default() += time;
            }
        }
    }

    pub(crate) fn most_reads(&self, way: usize) -> u32 {
        self.ways[way].most_reads
    }

    /// When the last packet so far ends.
    pub(crate) fn end(&self) -> f64 {
        self.ways.iter().map(|way| way.busy_until).fold(self.now, f64::max)
    }

    /// Lets the last packets end.
    pub(crate) fn finish(&mut self) {
        let end = self.end();
        while self.now < end {
            let ends = self.ways.iter().map(|way| way.busy_until).filter(|until| *until > self.now);
            let ending = self.ways.iter().filter_map(|way| way.ending.front().map(|(ending, _)| *ending));
            let next = ends.chain(ending.filter(|ending| *ending > self.now)).fold(end, f64::min);
            self.pass(next);
        }
    }

    /// Time of a way by cause, ps: `ideal_tlps` are the bytes of its TLPs with the best cuts, and `late` the share of
    /// the time with all tags in use for which the fastest completions are not the reason.
    pub(crate) fn causes(&self, number: usize, ideal_tlps: f64, late: f64) -> Vec<(Cause, f64)> {
        let way = &self.ways[number];
        let Sent { payload, tlps, others, dllps, retries } = way.sent;
        let ps = |bytes: f64| bytes * self.byte_ps;
        let overhead = (tlps as f64 - payload as f64).max(0.0);
        let least = (ideal_tlps - payload as f64).clamp(0.0, overhead);
        let mut found: HashMap<Cause, f64> = HashMap::from([
            (Cause::Payload, ps(payload as f64)),
            (Cause::Headers, ps(least)),
            (Cause::Cuts, ps(overhead - least)),
            (Cause::Requests, ps(others as f64)),
            (Cause::Dllps, ps(dllps as f64)),
            (Cause::Retries, ps(retries as f64)),
        ]);
        // In the order of states, so that sums have the same rounding every time.
        let mut idle: Vec<(Cause, u32, f64)> = Vec::new();
        for (state, time) in &way.idle {
            idle.push((self.cause_of(number, state), state.reads, *time));
        }
        idle.sort_by(|one, other| (one.0, one.1).cmp(&(other.0, other.1)).then(one.2.total_cmp(&other.2)));
        for (cause, _, time) in idle {
            if cause == Cause::Tags {
                *found.entry(Cause::Tags).or_default() += time * (1.0 - late);
                *found.entry(Cause::LateCompletions).or_default() += time * late;
            } else {
                *found.entry(cause).or_default() += time;
            }
        }
        let mut causes: Vec<_> = found.into_iter().filter(|(_, time)| *time > 0.0).collect();
        causes.sort_by_key(|(cause, _)| *cause);
        causes
    }

    fn cause_of(&self, number: usize, state: &State) -> Cause {
        let (way, other) = (&self.ways[number], &self.ways[1 - number]);
        // Upstream is way 0: the device sends by it, and asks for what comes by the other.
        let gaps = |device: bool| if device { Cause::DeviceGaps } else { Cause::HostGaps };
        let sender = gaps(number == 0);
        let requester = gaps(number == 1);
        let reads_mostly = way.read_data >= way.write_data && way.read_data > 0;
        if state.nak {
            return Cause::Retries;
        }
        if state.reads > 0 {
            let waits = way.followed >= way.unfollowed && way.followed > 0;
            if waits && f64::from(state.reads) > ALL_TAGS * f64::from(way.most_reads) {
                return Cause::Tags;
            }
            if other.non_posted.is_exhausted(state.non_posted) {
                return Cause::Credits;
            }
            if reads_mostly {
                return if state.other_busy { Cause::OtherWay } else { requester };
            }
        }
        if way.write_data > 0 && way.posted.is_exhausted(state.posted) {
            return Cause::Credits;
        }
        if reads_mostly { requester } else { sender }
    }
}
