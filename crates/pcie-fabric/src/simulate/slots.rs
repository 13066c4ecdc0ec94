//! The requests that flows keep outstanding: how often each has come back, and when it is due again.

use pcie_time::Picoseconds;

/// How often each request in flight has to come back before a flow is steady.
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
    /// Requests that have come back less than [`ROUND_TRIPS`] times.
    fresh: usize,
    is_warm: bool,
    /// Whether its requests come at a pace, and not as soon as others are back.
    is_paced: bool,
    /// How long the last request took that came back.
    took: Picoseconds,
}

impl FlowSlots {
    /// Whether a request that is in flight has not come back often enough.
    fn has_fresh_in_flight(&self, now: Picoseconds) -> bool {
        let mut requests = self.due.iter().zip(&self.round_trips);
        self.fresh > 0 && requests.any(|(due, trips)| *due <= now && *trips < ROUND_TRIPS)
    }
}

impl Slots {
    /// Adds a flow whose requests are numbered from `first` and due at those times.
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

    /// Notes that a request of a flow has come back, and when it is due again.
    pub fn came_back(&mut self, flow: usize, request: u32, took: Picoseconds, due: Picoseconds) {
        let slots = &mut self.flows[flow];
        let place = (request - slots.first) as usize;
        (slots.due[place], slots.took) = (due, took);
        if slots.round_trips[place] < ROUND_TRIPS {
            slots.round_trips[place] += 1;
            slots.fresh -= usize::from(slots.round_trips[place] == ROUND_TRIPS);
        }
    }

    /// Whether every request in flight has come back often enough. A flow with nothing in flight has nothing to wait
    /// for; a flow that was warm stays so.
    pub fn are_warm(&mut self, now: Picoseconds) -> bool {
        for slots in &mut self.flows {
            slots.is_warm |= !slots.has_fresh_in_flight(now);
        }
        self.flows.iter().all(|slots| slots.is_warm)
    }

    /// Of the flows whose requests follow one another, the one whose last request took longest.
    pub fn slowest(&self) -> Option<usize> {
        let closed =
            self.flows.iter().enumerate().filter(|(_, slots)| !slots.is_paced && !slots.due.is_empty());
        closed.max_by_key(|(_, slots)| slots.took).map(|(flow, _)| flow)
    }

    /// When each request of a flow that is in flight at `end` was submitted.
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
    fn flows_are_warm_after_three_round_trips_of_every_request_in_flight() {
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
    fn a_request_that_is_not_due_is_not_in_flight() {
        let mut slots = Slots::default();
        slots.add_flow(0, vec![at(0.0), at(900.0)], true);
        assert!(!slots.are_warm(at(10.0)));
        slots.came_back(0, 0, at(20.0), at(1800.0));
        assert!(slots.are_warm(at(20.0)));
        assert_eq!(slots.in_flight(0, at(1000.0)).collect::<Vec<_>>(), [at(900.0)]);
        assert_eq!(slots.slowest(), None, "it goes at its pace");
    }
}
