//! What one direction of a link sends again: flits that fail their check, or without flits TLPs with a bad LCRC.
//!
//! A receiver takes items in order and answers a bad one with a Nak. With *go-back-n*, it drops what follows, and the
//! transmitter sends the bad item and all behind it again; with *selective* Naks, it keeps what follows, and only the
//! bad item is sent again. New items wait meanwhile. Where a Nak is lost, the replay timer starts the replay. A
//! transmitter keeps items until they are acknowledged, so a full replay buffer makes it wait, too. NOPs and DLLPs are
//! never sent again. Source: PCI Express Base Specification 6.0, sections 3.6 (Acks, Naks and the replay timer) and
//! 4.2.3.4 (flits); in selective mode each bad flit is taken to be answered by itself.
//!
//! Times count in units that the port chooses: flits, or parts of a picosecond. Which items are bad depends only on
//! their number on the port and on how often they were sent before.

use crate::profile::FlitReplay;
use pcie_time::Draws;
use std::collections::VecDeque;

/// Draws of an item: it is good the last time, at the latest.
const ATTEMPT_BITS: u32 = 6;
/// 2^64.
const ALL_BITS: f64 = 18_446_744_073_709_551_616.0;

/// Which items are bad, by draws at the positions of a test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinkErrors {
    draws: Draws,
    /// Number of the port's first item among those of the test.
    first: u64,
    /// Draws below are bad items, and below the second number their Naks are lost, too.
    bad_below: u64,
    lost_below: u64,
}

/// A bad item, and whether its Nak is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bad {
    nak_lost: bool,
}

impl LinkErrors {
    /// Items that are bad with probability `rate`, at most 0.5; of their Naks, a share is lost.
    pub(crate) fn new(draws: Draws, first: u64, rate: f64, naks_lost: f64) -> Self {
        let below = |share: f64| (share * ALL_BITS) as u64;
        Self { draws, first, bad_below: below(rate), lost_below: below(rate * naks_lost) }
    }

    fn of(&self, item: u64, attempt: u64) -> Option<Bad> {
        let bits = self.draws.bits(((self.first + item) << ATTEMPT_BITS) | attempt);
        let bad = bits < self.bad_below && attempt >> ATTEMPT_BITS == 0;
        bad.then_some(Bad { nak_lost: bits < self.lost_below })
    }
}

/// How a direction sends again, in its units of time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplayRules {
    pub(crate) way: FlitReplay,
    /// From the end of a bad item until its transmitter, which has the Nak, can send it again.
    pub(crate) nak: u64,
    /// The same where the Nak is lost: the replay timer.
    pub(crate) timer: u64,
    /// From when an item is taken until its Ack frees the replay buffer.
    pub(crate) ack: u64,
    /// Size of the replay buffer, in flits or bytes.
    pub(crate) capacity: Option<u64>,
}

/// What a direction sent in vain.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Replays {
    /// Flits, or without flits TLPs, that were sent for the first time.
    pub items: u64,
    /// Bad ones that were answered by a Nak, or by nothing until the replay timer ended.
    pub errors: u64,
    /// Those whose Nak was lost.
    pub timeouts: u64,
    /// Time for which items were sent again, in ns.
    pub resent_ns: f64,
    /// Time for which a new item waited for room in the replay buffer, in ns.
    pub buffer_wait_ns: f64,
}

/// The replays of a port.
#[derive(Clone, Debug)]
pub(crate) struct Replay {
    errors: LinkErrors,
    rules: ReplayRules,
    /// Items that were sent for the first time, and their time together.
    items: u64,
    items_time: u128,
    /// When the last of them is taken, and all before it.
    taken: u128,
    /// Items to be sent again at times that no new item has reached, earliest first.
    again: VecDeque<Again>,
    /// Unacknowledged items.
    held: VecDeque<Held>,
    held_size: u64,
    counted: Counted,
}

#[derive(Clone, Copy, Debug)]
struct Again {
    at: u128,
    time: u128,
    /// Time of the items before it.
    before: u128,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    until: u128,
    size: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counted {
    errors: u64,
    timeouts: u64,
    resent: u128,
    buffer_wait: u128,
}

impl Replay {
    pub(crate) fn new(errors: LinkErrors, rules: ReplayRules) -> Self {
        Self {
            errors,
            rules,
            items: 0,
            items_time: 0,
            taken: 0,
            again: VecDeque::new(),
            held: VecDeque::new(),
            held_size: 0,
            counted: Counted::default(),
        }
    }

    /// Forgets all items; the next one has this number in the test.
    pub(crate) fn restart_at(&mut self, first: u64) {
        *self = Self::new(LinkErrors { first, ..self.errors }, self.rules);
    }

    /// When a new item of a size starts that could start at a time: behind all that is sent again until then, and once
    /// the replay buffer has room.
    pub(crate) fn start(&self, at: u128, size: u64) -> u128 {
        self.behind_replays(self.with_room(at, size))
    }

    fn with_room(&self, at: u128, size: u64) -> u128 {
        let Some(capacity) = self.rules.capacity else { return at };
        let (mut start, mut held) = (at, self.held_size);
        for one in &self.held {
            if held + size <= capacity {
                break;
            }
            held -= one.size;
            start = start.max(one.until);
        }
        start
    }

    fn behind_replays(&self, at: u128) -> u128 {
        let mut start = at;
        for again in &self.again {
            if start < again.at {
                break;
            }
            start = start.max(again.at + self.time_of(again));
        }
        start
    }

    /// Time of a replay that nothing interrupts, with the items so far.
    fn time_of(&self, again: &Again) -> u128 {
        match self.rules.way {
            FlitReplay::GoBackN => self.items_time - again.before,
            FlitReplay::Selective => again.time,
        }
    }

    /// Sends a new item from a time on, which [`Self::start`] gave for one that could start at `asked`. Returns the end
    /// of the transmission with which the receiver has it and all before it.
    pub(crate) fn send(&mut self, asked: u128, start: u128, time: u128, size: u64) -> u128 {
        self.counted.buffer_wait += self.with_room(asked, size) - asked;
        self.pass(start);
        // Behind a bad item, the first transmission is dropped; the replay sends it right behind the one before.
        let mut begins = match self.rules.way {
            FlitReplay::GoBackN => start.max(self.taken),
            FlitReplay::Selective => start,
        };
        let mut attempt = 0;
        while let Some(bad) = self.errors.of(self.items, attempt) {
            self.counted.errors += 1;
            self.counted.timeouts += u64::from(bad.nak_lost);
            let wait = if bad.nak_lost { self.rules.timer } else { self.rules.nak };
            begins += time + u128::from(wait);
            let index = self.again.partition_point(|other| other.at <= begins);
            self.again.insert(index, Again { at: begins, time, before: self.items_time });
            attempt += 1;
        }
        self.taken = self.taken.max(begins + time);
        self.items += 1;
        self.items_time += time;
        if self.rules.capacity.is_some() {
            self.held.push_back(Held { until: self.taken + u128::from(self.rules.ack), size });
            self.held_size += size;
        }
        self.taken
    }

    /// Leaves behind what a new item at this time no longer waits for.
    fn pass(&mut self, start: u128) {
        while let Some(again) = self.again.front().copied().filter(|again| again.at <= start) {
            self.again.pop_front();
            // Another bad item interrupts the replay, and starts its own.
            let until = self.again.front().map_or(u128::MAX, |next| next.at);
            self.counted.resent += self.time_of(&again).min(until - again.at);
        }
        while let Some(held) = self.held.front().filter(|held| held.until <= start) {
            self.held_size -= held.size;
            self.held.pop_front();
        }
    }

    /// What was sent in vain, where a unit of time lasts `unit_ns`.
    pub(crate) fn counts(&self, unit_ns: f64) -> Replays {
        Replays {
            items: self.items,
            errors: self.counted.errors,
            timeouts: self.counted.timeouts,
            resent_ns: self.counted.resent as f64 * unit_ns,
            buffer_wait_ns: self.counted.buffer_wait as f64 * unit_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_time::Stream;

    /// Slots in which a direction that is never idle has its items taken, sent one by one as a transmitter does: an
    /// event loop without closed forms.
    fn simulated(errors: &LinkErrors, rules: ReplayRules, items: u64) -> Vec<u64> {
        let mut taken: Vec<Option<u64>> = vec![None; items as usize];
        let mut attempts = vec![0_u64; items as usize];
        let (mut new, mut slot) = (0, 0_u64);
        // Items to send before new ones, and Naks on their way: when they are there, and for which item.
        let mut queue: VecDeque<u64> = VecDeque::new();
        let mut naks: Vec<(u64, u64)> = Vec::new();
        let mut expected = 0;
        let mut is_waiting = false;
        while taken.iter().any(Option::is_none) {
            let (due, later) = naks.into_iter().partition::<Vec<_>, _>(|(at, _)| *at <= slot);
            naks = later;
            for (_, item) in due {
                match rules.way {
                    FlitReplay::GoBackN => queue = (item..new).collect(),
                    FlitReplay::Selective => queue.push_back(item),
                }
            }
            let item = queue.pop_front().unwrap_or_else(|| {
                new += 1;
                new - 1
            });
            let is_replay_of_expected =
                item == expected && attempts.get(item as usize).is_some_and(|n| *n > 0);
            let heard = rules.way == FlitReplay::Selective || !is_waiting || is_replay_of_expected;
            if heard && item < items {
                let bad = errors.of(item, attempts[item as usize]);
                attempts[item as usize] += 1;
                match bad {
                    Some(_) => {
                        naks.push((slot + 1 + rules.nak, item));
                        is_waiting = true;
                    }
                    None => {
                        taken[item as usize] = Some(slot + 1);
                        is_waiting = false;
                        expected = item + 1;
                    }
                }
            }
            slot += 1;
        }
        let mut last = 0;
        let in_order = |end: Option<u64>| {
            last = last.max(end.unwrap_or(0));
            last
        };
        taken.into_iter().map(in_order).collect()
    }

    #[test]
    fn a_full_direction_sends_again_what_a_transmitter_would() {
        for way in [FlitReplay::GoBackN, FlitReplay::Selective] {
            for (seed, rate, nak) in [(1, 0.02, 9), (2, 0.2, 3), (3, 0.4, 12), (4, 0.001, 40)] {
                let draws = Draws::new(seed, 0, Stream::UplinkErrors);
                let errors = LinkErrors::new(draws, 0, rate, 0.0);
                let rules = ReplayRules { way, nak, timer: 0, ack: 0, capacity: None };
                let mut replay = Replay::new(errors, rules);
                let mut free = 0;
                let found: Vec<u64> = (0..3000)
                    .map(|_| {
                        let start = replay.start(free, 1);
                        free = start + 1;
                        replay.send(start, start, 1, 1) as u64
                    })
                    .collect();
                assert_eq!(found, simulated(&errors, rules, 3000), "{way:?} {rate} {nak}");
            }
        }
    }

    #[test]
    fn a_full_replay_buffer_makes_a_transmitter_wait_for_acks() {
        let draws = Draws::new(1, 0, Stream::UplinkErrors);
        let rules = ReplayRules { way: FlitReplay::GoBackN, nak: 9, timer: 0, ack: 9, capacity: Some(4) };
        let mut replay = Replay::new(LinkErrors::new(draws, 0, 0.0, 0.0), rules);
        let mut free = 0;
        for nth in 0..40_u128 {
            let start = replay.start(free, 1);
            // Four items for each way of one item and its Ack.
            assert_eq!(start, nth / 4 * 10 + nth % 4);
            replay.send(free, start, 1, 1);
            free = start + 1;
        }
        assert_eq!(replay.counts(1.0).buffer_wait_ns, 9.0 * 6.0);
    }

    #[test]
    fn a_lost_nak_costs_the_replay_timer() {
        let draws = Draws::new(7, 0, Stream::UplinkErrors);
        let taken = |naks_lost| {
            let errors = LinkErrors::new(draws, 0, 0.25, naks_lost);
            let rules = ReplayRules { way: FlitReplay::GoBackN, nak: 5, timer: 50, ack: 0, capacity: None };
            let mut replay = Replay::new(errors, rules);
            let mut last = 0;
            for _ in 0..100 {
                // Each is sent when the one before it is taken.
                let start = replay.start(last, 1);
                last = replay.send(start, start, 1, 1);
            }
            (last, replay.counts(1.0))
        };
        let ((soon, answered), (late, lost)) = (taken(0.0), taken(1.0));
        assert_eq!((answered.errors, answered.timeouts), (lost.timeouts, 0));
        assert_eq!(late - soon, 45 * u128::from(lost.errors));
    }
}
