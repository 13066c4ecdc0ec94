//! Flows that keep so many requests outstanding, at their pace, for so long; and what became of them.

use pcie_time::{Draws, Picoseconds, Stream};
use schemars::JsonSchema;
use serde::Deserialize;

use super::machine::Machine;
use super::network::Discipline;
use super::outcome::{FlowOutcome, Outcome, Served};
use super::traffic::{Arrivals, Primitive, Traffic, place};
use crate::error::FabricError;
use crate::topology::Topology;

/// Simulated time between two looks at whether to stop: little work, even for a large fabric.
const STEP_NS: f64 = 1_000.0;

/// How long to simulate, and how ports queue.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// What is not counted at the beginning, ns.
    pub warm_up_ns: f64,
    /// What is counted after that, ns.
    pub duration_ns: f64,
    /// What has credits of its own.
    pub discipline: Discipline,
    /// Names the draws of random arrivals.
    pub seed: u64,
}

/// When a flow may submit its next request.
#[derive(Debug)]
struct Pace {
    /// Time between requests; none for a flow that goes as fast as it can.
    interval_ns: Option<f64>,
    arrivals: Arrivals,
    next_due_ns: f64,
    draws: Draws,
    drawn: u64,
}

impl Pace {
    fn new(traffic: &Traffic, number: u32, mps_bytes: u32, seed: u64) -> Self {
        let bytes = match traffic.primitive {
            Primitive::Stream => u64::from(mps_bytes),
            _ => traffic.size_bytes,
        };
        Self {
            interval_ns: traffic.standalone_gbytes_per_s.map(|pace| bytes as f64 / pace),
            arrivals: traffic.arrivals,
            next_due_ns: 0.0,
            draws: Draws::new(seed, number.into(), Stream::Arrivals),
            drawn: 0,
        }
    }

    fn next_due(&mut self, now: Picoseconds) -> Picoseconds {
        let Some(interval_ns) = self.interval_ns else { return now };
        let due = now.max(Picoseconds::from_ns(self.next_due_ns));
        let step = match self.arrivals {
            Arrivals::Even => 1.0,
            Arrivals::Random => {
                self.drawn += 1;
                -(1.0 - self.draws.fraction(self.drawn)).ln()
            }
        };
        // A flow that was held up does not make up for it.
        self.next_due_ns = self.next_due_ns.max(now.as_ns() - interval_ns) + interval_ns * step;
        due
    }
}

/// Runs flows on a fabric.
pub(super) fn run(
    topology: &Topology,
    traffic: &[Traffic],
    options: Options,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<Outcome, FabricError> {
    let counting_from = Picoseconds::from_ns(options.warm_up_ns);
    let end = counting_from + Picoseconds::from_ns(options.duration_ns);
    let mut machine = Machine::new(topology, options.discipline, counting_from);
    let mut paces = Vec::with_capacity(traffic.len());
    let mut outcomes = vec![FlowOutcome::default(); traffic.len()];
    for (number, traffic) in (0..).zip(traffic) {
        machine.add_flow(topology, &place(topology, traffic)?);
        let mut pace = Pace::new(traffic, number, topology.mps_bytes(), options.seed);
        let outstanding = match traffic.primitive {
            _ if traffic.standalone_gbytes_per_s == Some(0.0) => 0,
            Primitive::Stream => 1,
            _ => traffic.outstanding,
        };
        for _ in 0..outstanding {
            let request = machine.add_request(number);
            machine.set_size(request, traffic.size_bytes, vec![]);
            machine.submit(pace.next_due(Picoseconds::ZERO), request);
        }
        paces.push(pace);
    }
    // In steps, so that a stop is heeded however much there is to simulate.
    let mut until = Picoseconds::ZERO;
    while until < end {
        if stopped() {
            return Err(FabricError::Stopped);
        }
        until = (until + Picoseconds::from_ns(STEP_NS)).min(end);
        while let Some((now, number)) = machine.run_until(until) {
            let flow = machine.request(number).flow as usize;
            if now >= counting_from && traffic[flow].primitive != Primitive::Stream {
                outcomes[flow].requests.push(Served::of(machine.request(number), now));
            }
            machine.submit(paces[flow].next_due(now), number);
        }
    }
    let span_ns = (end - counting_from).as_ns();
    for (number, outcome) in (0..).zip(&mut outcomes) {
        outcome.gbytes_per_s = machine.delivered_bytes(number) as f64 / span_ns;
    }
    Ok(Outcome {
        flows: outcomes,
        load_gbytes_per_s: machine.sent_bytes().map(|bytes| bytes as f64 / span_ns).collect(),
        tlp_hops: machine.tlp_hops(),
    })
}
