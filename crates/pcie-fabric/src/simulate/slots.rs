//! The requests that flows keep outstanding: their round trips, and when they are due.

use pcie_time::Picoseconds;

/// Round trips of each request in flight before a flow is steady.
const ROUND_TRIPS: u8 = 3;

/// Requests of all flows, by their numbers in the machine.
#[derive(Debug, Default)]
pub(super) struct Slots {
    flows: Vec<FlowSlots>,
}

/// The requests of one flow.
#[derive(Debug)]
struct FlowSlots {
    first: u32,
    due: Vec<Picoseconds>,
    round_trips: Vec<u8>,
    /// Requests with fewer than [`ROUND_TRIPS`] round trips.
    fresh: usize,
    is_warm: bool,
    /// Whether its requests are paced, instead of following completions.
    is_paced: bool,
    /// Time of the last request that came back.
    took: Picoseconds,
}

impl FlowSlots {
    /// Whether a request in flight has fewer than [`ROUND_TRIPS`] round trips.
    fn has_fresh_in_flight(&self, now: Picoseconds) -> bool {
        let mut requests = self.due.iter().zip(&self.round_trips);
        self.fresh > 0 && requests.any(|(due, trips)| *due <= now && *trips < ROUND_TRIPS)
    }
}

impl Slots {
    /// Adds a flow whose requests are numbered from `first`, with the times at which they are due.
    pub fn add_flow(&mut self, first: u32, due: Vec<Picoseconds>, is_paced: bool) {
        self.flows.push(FlowSlots {
            first,
            round_trips: vec![0; due.len()],
            fresh: due.len(),
            due,
            is_warm: false,
            is_paced,
            took: Picoseconds::ZERO,
        });
    }

    /// Records that a request has come back, and when it is due again.
    pub fn came_back(&mut self, flow: usize, request: u32, took: Picoseconds, due: Picoseconds) {
        let slots = &mut self.flows[flow];
        let slot = (request - slots.first) as usize;
        (slots.due[slot], slots.took) = (due, took);
        if slots.round_trips[slot] < ROUND_TRIPS {
            slots.round_trips[slot] += 1;
            slots.fresh -= usize::from(slots.round_trips[slot] == ROUND_TRIPS);
        }
    }

    /// Whether every request in flight has made its round trips. A flow with nothing in flight is warm, and a
    /// warm flow stays warm.
    pub fn are_warm(&mut self, now: Picoseconds) -> bool {
        for slots in &mut self.flows {
            slots.is_warm |= !slots.has_fresh_in_flight(now);
        }
        self.flows.iter().all(|slots| slots.is_warm)
    }

    /// The unpaced flow whose last request took longest.
    pub fn slowest(&self) -> Option<usize> {
        let closed =
            self.flows.iter().enumerate().filter(|(_, slots)| !slots.is_paced && !slots.due.is_empty());
        closed.max_by_key(|(_, slots)| slots.took).map(|(flow, _)| flow)
    }

    /// Submission times of a flow's requests in flight at `end`.
    pub fn in_flight(&self, flow: usize, end: Picoseconds) -> impl Iterator<Item = Picoseconds> + '_ {
        self.flows[flow].due.iter().copied().filter(move |due| *due < end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: f64) -> Picoseconds {
        Picoseconds::from_ns(ns)
    }

    #[test]
    fn flows_are_warm_after_three_round_trips_of_each_request() {
        let mut slots = Slots::default();
        slots.add_flow(0, vec![at(0.0)], false);
        slots.add_flow(1, vec![at(0.0), at(0.0)], false);
        for trip in 1..=3 {
            let now = at(60e3 * f64::from(trip));
            assert!(!slots.are_warm(now));
            slots.came_back(0, 0, at(10.0), now);
            slots.came_back(1, 1, at(20.0), now);
            assert!(!slots.are_warm(now));
            slots.came_back(1, 2, at(30.0), now);
        }
        assert!(slots.are_warm(at(200e3)));
        assert_eq!(slots.slowest(), Some(1));
    }

    #[test]
    fn request_that_is_not_due_is_not_in_flight() {
        let mut slots = Slots::default();
        slots.add_flow(0, vec![at(0.0), at(900.0)], true);
        assert!(!slots.are_warm(at(10.0)));
        slots.came_back(0, 0, at(20.0), at(1800.0));
        assert!(slots.are_warm(at(20.0)));
        assert_eq!(slots.in_flight(0, at(1000.0)).collect::<Vec<_>>(), [at(900.0)]);
        assert_eq!(slots.slowest(), None, "a paced flow");
    }
}
