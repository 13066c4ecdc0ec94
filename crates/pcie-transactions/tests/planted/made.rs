//! Captures of a link of Gen3 x8 whose device, host and link have the limits of a plan.

use pcie_capture::{Direction, Dllp, Event, Kind, Packet, Tlp};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Time of a byte on Gen3 x8, ps.
const BYTE_PS: f64 = 8125.0 / 64.0;
const MPS: u32 = 256;

/// Who moves what, and what limits it.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    pub write: bool,
    pub host: bool,
    pub bytes: u32,
    pub count: u32,
    /// Whether requests follow each other in memory.
    pub adjacent: bool,
    pub tags: u32,
    pub latency_ps: u64,
    /// Period of late reads: one read of each comes later.
    pub late_every: u32,
    pub late_ps: u64,
    /// Completions are cut at multiples of this.
    pub cut: u32,
    /// Least time between two requests.
    pub pause_ps: u64,
    /// Posted headers, each returned after a while.
    pub credits: Option<u32>,
    pub return_ps: u64,
    pub shows_initial: bool,
    /// Period of refused TLPs: one of each is sent again, with those after it.
    pub nak_every: u32,
    pub clock_ps: u64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            write: false,
            host: false,
            bytes: 512,
            count: 1000,
            adjacent: false,
            tags: 32,
            latency_ps: 600_000,
            late_every: 0,
            late_ps: 0,
            cut: MPS,
            pause_ps: 0,
            credits: None,
            return_ps: 0,
            shows_initial: true,
            nak_every: 0,
            clock_ps: 1,
        }
    }
}

fn ps(bytes: u32) -> f64 {
    f64::from(bytes) * BYTE_PS
}

impl Plan {
    fn address(&self, number: u32) -> u64 {
        let step = if self.adjacent { u64::from(self.bytes) } else { 8192 };
        0x1_0000_0000 + u64::from(number) * step
    }

    fn request(&self, number: u32, tag: u16) -> Tlp {
        Tlp {
            wide: Some(true),
            length_dw: (self.bytes / 4) as u16,
            data_bytes: if self.write { self.bytes } else { 0 },
            requester: Some(if self.host { 0 } else { 0x300 }),
            tag: Some(tag),
            first_enables: Some(15),
            last_enables: Some(if self.bytes > 4 { 15 } else { 0 }),
            address: Some(self.address(number)),
            ..Tlp::of(if self.write { Kind::MemoryWrite } else { Kind::MemoryRead })
        }
    }

    /// The packets in the order of time.
    pub fn events(&self) -> Vec<Event> {
        let mut events = if self.write { self.writes() } else { self.reads() };
        events.sort_by(|(one, ..), (other, ..)| one.total_cmp(other));
        let clock = self.clock_ps;
        let event = |(number, (time, direction, packet)): (usize, (f64, Direction, Packet))| Event {
            time_ps: Some(time as u64 / clock * clock),
            direction: Some(direction),
            port: 0,
            record: number as u64 + 1,
            packet,
            error: None,
        };
        events.into_iter().enumerate().map(event).collect()
    }

    fn reads(&self) -> Vec<(f64, Direction, Packet)> {
        let mut events = Vec::new();
        let (mut up_free, mut down_free, mut allowed) = (0.0_f64, 0.0_f64, 0.0_f64);
        let mut free: BinaryHeap<Reverse<(u64, u16)>> =
            (0..self.tags as u16).map(|tag| Reverse((0, tag))).collect();
        // Data that are ready: when, in which order, tag, number of the read, bytes done.
        let mut ready: BinaryHeap<Reverse<(u64, u32, u16, u32)>> = BinaryHeap::new();
        let mut sent = 0;
        loop {
            let request = free
                .peek()
                .filter(|_| sent < self.count)
                .map(|Reverse((at, _))| (*at as f64).max(up_free).max(allowed));
            let answer = ready.peek().map(|Reverse((at, ..))| (*at as f64).max(down_free));
            match (request, answer) {
                (None, None) => return events,
                (Some(at), answer) if answer.is_none_or(|answer| at <= answer) => {
                    let Some(Reverse((_, tag))) = free.pop() else { unreachable!() };
                    events.push((at, Direction::Upstream, Packet::Tlp(self.request(sent, tag))));
                    up_free = at + ps(24);
                    allowed = at + self.pause_ps as f64;
                    let late = self.late_every > 0 && sent % self.late_every == self.late_every - 1;
                    let after = self.latency_ps + if late { self.late_ps } else { 0 };
                    ready.push(Reverse((at as u64 + after, sent, tag, 0)));
                    sent += 1;
                }
                (_, None) => unreachable!(),
                (_, Some(at)) => {
                    let Some(Reverse((_, number, tag, done))) = ready.pop() else { unreachable!() };
                    let address = self.address(number) + u64::from(done);
                    let to_cut = self.cut - (address % u64::from(self.cut)) as u32;
                    let bytes = to_cut.min(self.bytes - done);
                    events.push((
                        at,
                        Direction::Downstream,
                        Packet::Tlp(self.completion(number, tag, done, bytes)),
                    ));
                    down_free = at + ps(20 + bytes);
                    if done + bytes < self.bytes {
                        ready.push(Reverse((at as u64, number, tag, done + bytes)));
                    } else {
                        free.push(Reverse((down_free.ceil() as u64, tag)));
                    }
                }
            }
        }
    }

    fn completion(&self, number: u32, tag: u16, done: u32, bytes: u32) -> Tlp {
        Tlp {
            wide: Some(false),
            length_dw: (bytes / 4) as u16,
            data_bytes: bytes,
            requester: Some(0x300),
            completer: Some(0),
            tag: Some(tag),
            status: Some(0),
            byte_count: Some((self.bytes - done) as u16),
            lower_address: Some(((self.address(number) + u64::from(done)) % 128) as u8),
            ..Tlp::of(Kind::Completion { locked: false })
        }
    }

    fn writes(&self) -> Vec<(f64, Direction, Packet)> {
        let (way, back) = if self.host {
            (Direction::Downstream, Direction::Upstream)
        } else {
            (Direction::Upstream, Direction::Downstream)
        };
        let mut events = Vec::new();
        let length = ps(24 + self.bytes);
        let (mut next, mut returned) = (100.0, 0_u32);
        let mut waiting = std::collections::VecDeque::new();
        let credits = |initial, headers: u32| Dllp::Credits {
            initial,
            class: 0,
            channel: 0,
            header: (headers % 256) as u16,
            data: 0,
            header_scale: 0,
            data_scale: 0,
        };
        if let (Some(headers), true) = (self.credits, self.shows_initial) {
            events.push((0.0, back, Packet::Dllp(credits(true, headers))));
        }
        let mut sequence = 0_u16;
        for number in 0..self.count {
            if let Some(headers) = self.credits {
                if waiting.len() as u32 >= headers {
                    next = f64::max(next, waiting.pop_front().unwrap_or(0.0) + 100.0);
                }
                waiting.push_back(next + length + self.return_ps as f64);
                returned += 1;
                let update = credits(false, headers + returned);
                events.push((next + length + self.return_ps as f64, back, Packet::Dllp(update)));
            }
            let tlp = |sequence| Tlp {
                sequence: (self.nak_every > 0).then_some(sequence % 4096),
                ..self.request(number, 0)
            };
            events.push((next, way, Packet::Tlp(tlp(sequence))));
            if self.nak_every > 0 && number % self.nak_every == self.nak_every - 1 {
                let refused = next + length + 300_000.0;
                let nak = Dllp::Nak { sequence: (sequence + 4095) % 4096 };
                events.push((refused, back, Packet::Dllp(nak)));
                next = refused + 100_000.0;
                events.push((next, way, Packet::Tlp(tlp(sequence))));
            }
            sequence = (sequence + 1) % 4096;
            next += length.max(self.pause_ps as f64);
        }
        events
    }
}

/// The rules that [`break_rules`] breaks.
pub const BROKEN: [&str; 8] = [
    "4-kib",
    "tag-reuse",
    "unexpected-completion",
    "rcb",
    "byte-count",
    "lower-address",
    "byte-enables",
    "wide-address",
];

/// Breaks one rule after the other.
pub fn break_rules(events: &mut [Event]) {
    let tlp = |event: &mut Event| match &mut event.packet {
        Packet::Tlp(tlp) => std::mem::replace(tlp, Tlp::of(Kind::Prefix)),
        _ => unreachable!(),
    };
    let requests: Vec<usize> = positions(events, |tlp| tlp.kind == Kind::MemoryRead);
    let completions: Vec<usize> = positions(events, |tlp| tlp.kind != Kind::MemoryRead);
    let mut change = |at: usize, with: &dyn Fn(Tlp) -> Tlp| {
        let changed = with(tlp(&mut events[at]));
        events[at].packet = Packet::Tlp(changed);
    };
    change(requests[10], &|tlp| Tlp { address: Some(0x1_0000_0f00), ..tlp });
    change(requests[12], &|tlp| Tlp { first_enables: Some(0b0101), ..tlp });
    change(requests[14], &|tlp| Tlp { address: Some(0x8000), ..tlp });
    change(requests[18], &|tlp| Tlp { tag: tlp.tag.map(|tag| (tag + 1) % 4), ..tlp });
    change(completions[4], &|tlp| Tlp { length_dw: 60, data_bytes: 240, ..tlp });
    change(completions[8], &|tlp| Tlp { lower_address: Some(0x44), ..tlp });
    change(completions[10], &|tlp| Tlp { byte_count: Some(77), ..tlp });
    change(completions[20], &|tlp| Tlp { tag: Some(99), ..tlp });
}

fn positions(events: &[Event], is: impl Fn(&Tlp) -> bool) -> Vec<usize> {
    let fits = |event: &Event| matches!(&event.packet, Packet::Tlp(tlp) if is(tlp));
    events.iter().enumerate().filter(|(_, event)| fits(event)).map(|(number, _)| number).collect()
}
