//! The load generator: flows that keep requests outstanding at their pace, and their outcome.

use pcie_refusal::{Refusal, Unfinished};
use pcie_time::{Draws, Picoseconds, Stream};
use schemars::JsonSchema;
use serde::Deserialize;

use super::machine::Machine;
use super::network::Discipline;
use super::outcome::{FlowOutcome, Outcome, Served};
use super::slots::Slots;
use super::span::Span;
use super::traffic::{Arrivals, Primitive, Traffic, resolve};
use crate::topology::Topology;

/// Simulated time between checks for a stop: little work, even for a large fabric.
const STEP_NS: f64 = 1_000.0;

/// Duration of a simulation, and queueing of its ports.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Warm-up, which is not counted, ns; none: until every request in flight has come back three times, 50
    /// us to 100 ms.
    #[serde(default)]
    pub warm_up_ns: Option<f64>,
    /// Counted time after that, ns. Without `warm_up_ns` it is a minimum: counting ends when the slowest
    /// request has come back once more.
    pub duration_ns: f64,
    /// Granularity of credits.
    pub discipline: Discipline,
    /// Seed of random arrivals.
    pub seed: u64,
}

/// The times at which a flow may submit requests.
#[derive(Debug)]
struct Pace {
    /// Time between requests; none for an unpaced flow.
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
                -libm::log(1.0 - self.draws.fraction(self.drawn))
            }
        };
        // A delayed flow does not catch up.
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
) -> Result<Outcome, Unfinished> {
    Load::new(topology, traffic, options)?.run(stopped)
}

/// Flows in a simulation.
struct Load<'a> {
    traffic: &'a [Traffic],
    options: Options,
    machine: Machine,
    paces: Vec<Pace>,
    slots: Slots,
    outcomes: Vec<FlowOutcome>,
    span: Span,
}

impl<'a> Load<'a> {
    fn new(topology: &Topology, traffic: &'a [Traffic], options: Options) -> Result<Self, Refusal> {
        let mut load = Self {
            traffic,
            options,
            machine: Machine::new(topology, options.discipline),
            paces: Vec::with_capacity(traffic.len()),
            slots: Slots::default(),
            outcomes: vec![FlowOutcome::default(); traffic.len()],
            span: Span::new(options.warm_up_ns, options.duration_ns),
        };
        if let Some(from) = load.span.from() {
            load.machine.count_from(from);
        }
        for (number, traffic) in (0..).zip(traffic) {
            load.machine.add_flow(topology, &resolve(topology, traffic)?);
            load.add_requests(number, traffic, topology.mps_bytes());
        }
        Ok(load)
    }

    /// Submits the first requests of a flow.
    fn add_requests(&mut self, number: u32, traffic: &Traffic, mps_bytes: u32) {
        let mut pace = Pace::new(traffic, number, mps_bytes, self.options.seed);
        let outstanding = match traffic.primitive {
            _ if traffic.standalone_gbytes_per_s == Some(0.0) => 0,
            Primitive::Stream => 1,
            _ => traffic.outstanding,
        };
        let mut first = 0;
        let due: Vec<Picoseconds> = (0..outstanding).map(|_| pace.next_due(Picoseconds::ZERO)).collect();
        for (index, due) in due.iter().enumerate() {
            let request = self.machine.add_request(number);
            first = if index == 0 { request } else { first };
            self.machine.set_size(request, traffic.size_bytes, vec![]);
            self.machine.submit(*due, request);
        }
        // Nothing of a stream comes back.
        let due = if traffic.primitive == Primitive::Stream { vec![] } else { due };
        self.slots.add_flow(first, due, traffic.standalone_gbytes_per_s.is_some());
        self.paces.push(pace);
    }

    /// Advances in steps with a check for a stop before each.
    fn run(mut self, stopped: &mut dyn FnMut() -> bool) -> Result<Outcome, Unfinished> {
        let mut until = Picoseconds::ZERO;
        loop {
            if self.span.at_step(until, &mut self.slots) {
                self.machine.count_from(until);
            }
            if let Some((from, end)) = self.span.counted(until) {
                return Ok(self.outcome(from, end));
            }
            if stopped() {
                return Err(Unfinished::Stopped);
            }
            until = self.span.before_end(until + Picoseconds::from_ns(STEP_NS));
            self.step(until);
        }
    }

    fn step(&mut self, until: Picoseconds) {
        while let Some((now, number)) = self.machine.run_until(until) {
            let flow = self.machine.request(number).flow as usize;
            let due = self.paces[flow].next_due(now);
            if self.traffic[flow].primitive != Primitive::Stream {
                if self.span.from().is_some_and(|from| now >= from) {
                    self.outcomes[flow].requests.push(Served::of(self.machine.request(number), now));
                }
                let took = now.since(self.machine.request(number).submitted);
                self.slots.came_back(flow, number, took, due);
                if self.span.at_return(now, flow, number) {
                    self.machine.count_from(now);
                }
            }
            self.machine.submit(due, number);
            if self.span.counted(now).is_some() {
                return;
            }
        }
    }

    fn outcome(mut self, from: Picoseconds, end: Picoseconds) -> Outcome {
        let span_ns = end.since(from).as_ns();
        for (number, outcome) in (0..).zip(&mut self.outcomes) {
            outcome.gbytes_per_s = self.machine.rate_gbytes_per_s(number, span_ns);
            let done = outcome.requests.iter().map(|one| {
                let done_ns = one.submitted_ns + one.phases.total_ns();
                done_ns - one.submitted_ns.max(from.as_ns())
            });
            let under_way = self.slots.in_flight(number as usize, end);
            let under_way = under_way.map(|submitted| end.since(submitted.max(from)).as_ns());
            outcome.in_flight = (done.sum::<f64>() + under_way.sum::<f64>()) / span_ns;
        }
        Outcome {
            flows: self.outcomes,
            load_gbytes_per_s: self.machine.sent_bytes().map(|bytes| bytes as f64 / span_ns).collect(),
            tlp_hops: self.machine.tlp_hops(),
            warm_up_ns: from.as_ns(),
            counted_ns: span_ns,
        }
    }
}
