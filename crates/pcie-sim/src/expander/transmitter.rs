//! One direction of a CXL link: messages wait, are packed into the slots of flits, and arrive with whole flits.
//!
//! Slots follow each other without a gap, so a message enters at the next slot of the running flit. The slots of data
//! follow their header before the next header does. Headers share a slot where the next ones fill it whole, else with
//! what is there.

use std::collections::VecDeque;

use pcie_time::Picoseconds;
use pcie_wire::cxl::{CxlLink, HEADERS_OF_SLOT, MemoryMessage};

/// A message of a line.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    line: usize,
    since: Picoseconds,
}

/// A message that is sent, and when it arrives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Arrival {
    pub(super) line: usize,
    /// The end of the flit with its last slot.
    pub(super) at: Picoseconds,
    /// Time from the request to send it to the slot of its header.
    pub(super) waited: Picoseconds,
}

/// A direction.
#[derive(Debug)]
pub(super) struct Transmitter {
    /// The two messages that it sends.
    messages: [MemoryMessage; 2],
    queues: [VecDeque<Waiting>; 2],
    /// Lines whose data follow, with how long their headers waited.
    data: VecDeque<(usize, Picoseconds)>,
    /// Slots of the first of them that were sent.
    data_sent: u32,
    /// The message whose turn it is where neither fills a slot.
    turn: usize,
    slot_ps: f64,
    slots_of_flit: u64,
    slots_of_mac: Option<u64>,
    /// The slot that comes next, counted from the start of time.
    next_slot: u64,
    /// Slots with something in them.
    filled: u64,
    is_running: bool,
}

impl Transmitter {
    pub(super) fn new(link: &CxlLink, messages: [MemoryMessage; 2]) -> Self {
        let slots_of_flit = link.flit().slots();
        Self {
            messages,
            queues: Default::default(),
            data: VecDeque::new(),
            data_sent: 0,
            turn: 0,
            slot_ps: link.flit_ns() * 1e3 / f64::from(slots_of_flit),
            slots_of_flit: u64::from(slots_of_flit),
            slots_of_mac: link.slots_of_mac().map(u64::from),
            next_slot: 0,
            filled: 0,
            is_running: false,
        }
    }

    /// Lets a message wait; returns when to call [`Transmitter::send`] if nothing else is waiting.
    pub(super) fn push(&mut self, now: Picoseconds, nth: usize, line: usize) -> Option<Picoseconds> {
        self.queues[nth].push_back(Waiting { line, since: now });
        if self.is_running {
            return None;
        }
        self.is_running = true;
        let next = (now.0 as f64 / self.slot_ps).ceil() as u64;
        self.next_slot = self.next_slot.max(next);
        Some(self.time_of(self.next_slot))
    }

    /// Fills the next slot; returns what arrives with its flit, and when to send again.
    pub(super) fn send(&mut self, now: Picoseconds, arrivals: &mut Vec<Arrival>) -> Option<Picoseconds> {
        let slot = self.next_slot;
        self.next_slot += 1;
        let is_mac = self.slots_of_mac.is_some_and(|slots| slot % slots == slots - 1);
        if !is_mac {
            let at = self.time_of((slot / self.slots_of_flit + 1) * self.slots_of_flit);
            if self.data.is_empty() {
                self.send_headers(now, at, arrivals);
            } else {
                self.send_data(at, arrivals);
            }
        }
        self.filled += 1;
        self.is_running = !self.data.is_empty() || self.queues.iter().any(|queue| !queue.is_empty());
        self.is_running.then(|| self.time_of(self.next_slot))
    }

    fn send_data(&mut self, at: Picoseconds, arrivals: &mut Vec<Arrival>) {
        self.data_sent += 1;
        let slots = self.messages.iter().map(|message| message.data_slots()).max().unwrap_or(0);
        if self.data_sent == slots {
            self.data_sent = 0;
            arrivals.extend(self.data.pop_front().map(|(line, waited)| Arrival { line, at, waited }));
        }
    }

    fn send_headers(&mut self, now: Picoseconds, at: Picoseconds, arrivals: &mut Vec<Arrival>) {
        let mut left = HEADERS_OF_SLOT;
        // A message of which enough wait to fill the slot goes alone.
        let fills = |nth: usize| {
            let parts = self.messages[nth].header_parts();
            self.queues[nth].len() as u32 * parts >= HEADERS_OF_SLOT
        };
        let first = [self.turn, 1 - self.turn].into_iter().find(|&nth| fills(nth)).unwrap_or(self.turn);
        self.turn = 1 - first;
        for nth in [first, 1 - first] {
            let message = self.messages[nth];
            while left >= message.header_parts() {
                let Some(Waiting { line, since }) = self.queues[nth].pop_front() else { break };
                left -= message.header_parts();
                let waited = now.since(since);
                if message.data_slots() > 0 {
                    self.data.push_back((line, waited));
                } else {
                    arrivals.push(Arrival { line, at, waited });
                }
            }
        }
    }

    /// Slots that were sent with something in them, MACs included.
    pub(super) fn filled(&self) -> u64 {
        self.filled
    }

    /// Time of a slot.
    pub(super) fn slot_ns(&self) -> f64 {
        self.slot_ps / 1e3
    }

    fn time_of(&self, slot: u64) -> Picoseconds {
        // Rounded down, so that a message of that very time enters.
        Picoseconds((slot as f64 * self.slot_ps) as u64)
    }
}

/// Mean time of a message on an idle link: half a slot until the next one, then to the end of the flit with its last
/// slot, over the slots of a flit that it may begin with.
pub(super) fn idle_ns(link: &CxlLink, message: MemoryMessage) -> f64 {
    let slots_of_flit = link.flit().slots();
    let slots = 1 + message.data_slots();
    let ends =
        (0..slots_of_flit).map(|first| (first + slots).div_ceil(slots_of_flit) * slots_of_flit - first);
    let slot_ns = link.flit_ns() / f64::from(slots_of_flit);
    slot_ns * (0.5 + f64::from(ends.sum::<u32>()) / f64::from(slots_of_flit))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TO_HOST: [MemoryMessage; 2] = [MemoryMessage::ReadData, MemoryMessage::WriteCompletion];

    fn link() -> CxlLink {
        CxlLink::new(5, 8, 68, false).unwrap()
    }

    /// Sends until nothing waits.
    fn sent(transmitter: &mut Transmitter, first: Option<Picoseconds>) -> Vec<Arrival> {
        let (mut arrivals, mut next) = (Vec::new(), first);
        while let Some(at) = next {
            next = transmitter.send(at, &mut arrivals);
        }
        arrivals
    }

    #[test]
    fn two_lines_of_data_share_a_slot_of_headers() {
        let mut transmitter = Transmitter::new(&link(), TO_HOST);
        let first = transmitter.push(Picoseconds::ZERO, 0, 7);
        assert_eq!(transmitter.push(Picoseconds::ZERO, 0, 8), None);
        let arrivals = sent(&mut transmitter, first);
        // One slot of headers and eight of data: the fifth slot is in the second flit, the ninth in the third.
        assert_eq!(transmitter.filled(), 9);
        let at = |flits: u64| Picoseconds(2125 * flits);
        let found: Vec<_> = arrivals.iter().map(|arrival| (arrival.line, arrival.at)).collect();
        assert_eq!(found, [(7, at(2)), (8, at(3))]);
    }

    #[test]
    fn four_completions_share_a_slot_and_one_goes_at_once() {
        let mut transmitter = Transmitter::new(&link(), TO_HOST);
        let first = transmitter.push(Picoseconds(600), 1, 0);
        // The next slot begins at 2 x 531.25 ps, in the first flit.
        assert_eq!(first, Some(Picoseconds(1062)));
        let mut next = first;
        for line in 1..5 {
            next = transmitter.push(Picoseconds(700), 1, line).or(next);
        }
        let arrivals = sent(&mut transmitter, next);
        assert_eq!(transmitter.filled(), 2);
        let flits: Vec<_> = arrivals.iter().map(|arrival| arrival.at.0).collect();
        assert_eq!(flits, [2125; 5]);
        assert_eq!(arrivals[0].waited, Picoseconds(462));
    }

    #[test]
    fn a_mac_takes_the_last_slot_of_its_flits() {
        let mut transmitter = Transmitter::new(&link().with_ide(1), TO_HOST);
        let first = transmitter.push(Picoseconds::ZERO, 0, 0);
        let arrivals = sent(&mut transmitter, first);
        // A header, two slots of data, the MAC, two slots of data.
        assert_eq!((transmitter.filled(), arrivals[0].at), (6, Picoseconds(2 * 2125)));
    }

    #[test]
    fn an_idle_link_takes_the_mean_over_the_slots_of_a_flit() {
        let slot_ns = 68.0 / 32.0 / 4.0;
        // One slot ends with its flit: 4, 3, 2 or 1 slots; five end 8, 7, 6 or 5 slots later.
        assert!((idle_ns(&link(), MemoryMessage::ReadRequest) - slot_ns * 3.0).abs() < 1e-12);
        assert!((idle_ns(&link(), MemoryMessage::ReadData) - slot_ns * 7.0).abs() < 1e-12);
    }
}
