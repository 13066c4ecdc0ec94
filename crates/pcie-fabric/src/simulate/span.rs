//! The counted span of a simulation: it starts in the steady state and covers whole round trips.
//!
//! The first requests of a flow meet empty queues and are faster than all later ones. A round trip takes the
//! bytes in flight over the flow's rate, which no fixed time covers: 64 requests of 1 MB take 7.7 ms at 8.7
//! GB/s. So counting begins when every request in flight has come back a few times. Flows that share a queue
//! advance together, in bursts: counting begins and ends with the return of the same request of the slowest
//! flow, so that it covers equally many bursts of each.

use pcie_time::Picoseconds;

use super::slots::Slots;

/// Earliest start of counting: queues of streams fill in less.
const EARLIEST_NS: f64 = 50e3;
/// Longest wait for requests in flight, at the start of counting and again at its end.
const PATIENCE_NS: f64 = 100e6;

/// The counted span.
#[derive(Debug)]
pub(super) struct Span {
    duration: Picoseconds,
    phase: Phase,
}

#[derive(Debug, Clone, Copy)]
enum Phase {
    /// Requests in flight have not made their round trips.
    WarmingUp,
    /// Counting begins with the next return of a request of this flow.
    Beginning { flow: usize },
    /// Counting ends with the first return of this request after the duration; without one, with the duration.
    Counting { from: Picoseconds, request: Option<u32> },
    /// Counting is over.
    Ended { from: Picoseconds, end: Picoseconds },
}

impl Span {
    /// A given warm-up is exact, and so is the duration after it.
    pub fn new(warm_up_ns: Option<f64>, duration_ns: f64) -> Self {
        let phase = warm_up_ns.map_or(Phase::WarmingUp, |warm_up_ns| Phase::Counting {
            from: Picoseconds::from_ns(warm_up_ns),
            request: None,
        });
        Self { duration: Picoseconds::from_ns(duration_ns), phase }
    }

    /// Start of counting, if it is known.
    pub fn from(&self) -> Option<Picoseconds> {
        match self.phase {
            Phase::Counting { from, .. } | Phase::Ended { from, .. } => Some(from),
            Phase::WarmingUp | Phase::Beginning { .. } => None,
        }
    }

    /// Checks between steps whether flows are warm; returns whether counting begins now.
    pub fn at_step(&mut self, now: Picoseconds, slots: &mut Slots) -> bool {
        let waited = now >= Picoseconds::from_ns(PATIENCE_NS);
        self.phase = match self.phase {
            Phase::WarmingUp | Phase::Beginning { .. } if waited => {
                Phase::Counting { from: now, request: None }
            }
            Phase::WarmingUp if now >= Picoseconds::from_ns(EARLIEST_NS) && slots.are_warm(now) => slots
                .slowest()
                .map_or(Phase::Counting { from: now, request: None }, |flow| Phase::Beginning { flow }),
            other => other,
        };
        matches!(self.phase, Phase::Counting { from, .. } if from == now)
    }

    /// Records that a request has come back; returns whether counting begins now.
    pub fn at_return(&mut self, now: Picoseconds, flow: usize, request: u32) -> bool {
        match self.phase {
            Phase::Beginning { flow: slowest } if slowest == flow => {
                self.phase = Phase::Counting { from: now, request: Some(request) };
                return true;
            }
            Phase::Counting { from, request: Some(last) }
                if last == request && now >= from + self.duration =>
            {
                self.phase = Phase::Ended { from, end: now };
            }
            _ => {}
        }
        false
    }

    /// The earlier of `time` and the end of counting, if it is known.
    pub fn before_end(&self, time: Picoseconds) -> Picoseconds {
        self.latest_end().map_or(time, |end| time.min(end))
    }

    /// Start and end of counting, if it is over by `now`.
    pub fn counted(&mut self, now: Picoseconds) -> Option<(Picoseconds, Picoseconds)> {
        if let (Some(from), Some(end)) = (self.from(), self.latest_end().filter(|end| now >= *end)) {
            self.phase = Phase::Ended { from, end };
        }
        match self.phase {
            Phase::Ended { from, end } => Some((from, end)),
            _ => None,
        }
    }

    fn latest_end(&self) -> Option<Picoseconds> {
        match self.phase {
            Phase::Counting { from, request: None } => Some(from + self.duration),
            Phase::Counting { from, request: Some(_) } => {
                Some(from + self.duration + Picoseconds::from_ns(PATIENCE_NS))
            }
            Phase::Ended { end, .. } => Some(end),
            Phase::WarmingUp | Phase::Beginning { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: f64) -> Picoseconds {
        Picoseconds::from_ns(us * 1e3)
    }

    fn one_flow() -> Slots {
        let mut slots = Slots::default();
        slots.add_flow(0, vec![at(0.0), at(0.0)], false);
        slots
    }

    #[test]
    fn counting_lasts_from_return_to_return_of_a_request() {
        let (mut span, mut slots) = (Span::new(None, 10e3), one_flow());
        for request in [0, 1, 0, 1, 0, 1] {
            assert!(!span.at_step(at(60.0), &mut slots));
            slots.came_back(0, request, at(8.0), at(50.0));
        }
        assert!(!span.at_step(at(61.0), &mut slots));
        assert!(span.at_return(at(62.5), 0, 1));
        assert_eq!(span.from(), Some(at(62.5)));
        assert!(!span.at_return(at(70.5), 0, 1));
        assert!(!span.at_return(at(74.5), 0, 0));
        assert_eq!(span.counted(at(75.0)), None, "the other request has not come back");
        assert!(!span.at_return(at(78.5), 0, 1));
        assert_eq!(span.counted(at(78.5)), Some((at(62.5), at(78.5))));
    }

    #[test]
    fn given_warm_up_and_duration_are_exact() {
        let (mut span, mut slots) = (Span::new(Some(5e3), 10e3), one_flow());
        assert_eq!(span.from(), Some(at(5.0)));
        assert!(!span.at_step(at(1.0), &mut slots));
        assert_eq!(span.before_end(at(20.0)), at(15.0));
        assert_eq!(span.counted(at(15.0)), Some((at(5.0), at(15.0))));
    }

    #[test]
    fn counting_begins_neither_too_early_nor_too_late() {
        let mut idle = Slots::default();
        assert!(!Span::new(None, 1e3).at_step(at(49.0), &mut idle));
        assert!(Span::new(None, 1e3).at_step(at(50.0), &mut idle));
        let mut slow = one_flow();
        assert!(!Span::new(None, 1e3).at_step(at(99_999.0), &mut slow));
        assert!(Span::new(None, 1e3).at_step(at(100_000.0), &mut slow));
    }

    #[test]
    fn wait_for_a_lost_request_ends() {
        let (mut span, mut slots) = (Span::new(None, 10e3), one_flow());
        for request in [0, 1, 0, 1, 0, 1] {
            slots.came_back(0, request, at(8.0), at(50.0));
        }
        span.at_step(at(60.0), &mut slots);
        assert!(span.at_return(at(62.0), 0, 1));
        assert_eq!(span.counted(at(100_071.0)), None);
        assert_eq!(span.counted(at(100_072.0)), Some((at(62.0), at(100_072.0))));
    }
}
