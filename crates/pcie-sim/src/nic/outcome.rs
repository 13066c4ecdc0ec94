//! What came out: rates, drops, latencies, what crossed the link for each step, and what held it back.

use super::bus::{Counted, Crossed};
use pcie_model::Interactions;
use pcie_time::Picoseconds;
use serde::Serialize;

/// What holds a NIC back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NicBound {
    /// Nothing: the line is full.
    Line,
    /// The link from the NIC to the host is.
    WireUpstream,
    /// The link from the host to the NIC is.
    WireDownstream,
    /// Writes wait for room at the root complex, which is still busy with those before them.
    PostedCredits,
    /// Reads wait for one before them to be answered.
    Tags,
    /// No resource is full: descriptors, buffers and packets wait for each other's way to and fro.
    Latency,
}

/// A port that sends for so much of the time is full.
const FULL: f64 = 0.97;
/// What waits for so much of the time waits for what holds it back.
const WAITING: f64 = 0.5;
/// A rate this close to that of the line is that.
const AT_LINE_RATE: f64 = 0.998;

/// A step's part.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepOutcome {
    /// Bytes that crossed the link for each packet, TLPs with their headers.
    pub upstream_bytes: f64,
    /// The same from the host to the NIC.
    pub downstream_bytes: f64,
    /// From an access's first TLP until what was read is there, or what was written can be seen, on average.
    pub mean_ns: f64,
    /// Accesses under way at a time, on average.
    pub in_flight: f64,
    /// Accesses that came to their end each second.
    pub accesses_per_s: f64,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct NicOutcome {
    /// Packets each second: of each direction, if both.
    pub packets_per_s: f64,
    /// Packets that a full line has.
    pub line_packets_per_s: f64,
    /// Share of the packets from the line that were dropped.
    pub dropped_share: f64,
    /// Of each packet received, from the end of its frame on the line until the driver could see it, ns.
    pub latencies_ns: Vec<f64>,
    /// Shares of the time for which the ports sent.
    pub upstream_share: f64,
    /// The same of the root port.
    pub downstream_share: f64,
    /// What binds.
    pub bound: NicBound,
    /// By step, in the NIC's order; steps of a direction that was not asked for have nothing.
    pub steps: Vec<StepOutcome>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Accesses {
    count: u64,
    time: Picoseconds,
}

#[derive(Debug)]
struct Begin {
    at: Picoseconds,
    finished: u64,
    counted: Counted,
}

/// What is measured while a NIC works.
#[derive(Debug)]
pub(super) struct Measured {
    begin: Option<Begin>,
    steps: Vec<Accesses>,
    latencies_ns: Vec<f64>,
    arrived: u64,
    dropped: u64,
    dropped_in_a_row: u64,
}

impl Measured {
    pub(super) fn new(steps: usize) -> Self {
        Self {
            begin: None,
            steps: vec![Accesses::default(); steps],
            latencies_ns: Vec::new(),
            arrived: 0,
            dropped: 0,
            dropped_in_a_row: 0,
        }
    }

    pub(super) fn is_counting(&self) -> bool {
        self.begin.is_some()
    }

    pub(super) fn start(&mut self, at: Picoseconds, finished: u64, counted: &Counted) {
        *self = Self::new(self.steps.len());
        self.begin = Some(Begin { at, finished, counted: counted.clone() });
    }

    pub(super) fn access(&mut self, step: usize, took: Picoseconds) {
        self.steps[step].count += 1;
        self.steps[step].time += took;
    }

    pub(super) fn received(&mut self, took: Picoseconds) {
        self.latencies_ns.push(took.as_ns());
    }

    pub(super) fn arrived(&mut self, let_in: bool) {
        self.arrived += 1;
        self.dropped += u64::from(!let_in);
        self.dropped_in_a_row = if let_in { 0 } else { self.dropped_in_a_row + 1 };
    }

    pub(super) fn dropped_in_a_row(&self) -> u64 {
        self.dropped_in_a_row
    }

    /// What came out between the start and now.
    pub(super) fn outcome(
        self,
        nic: &Interactions,
        now: Picoseconds,
        finished: u64,
        counted: &Counted,
        interval: Picoseconds,
    ) -> NicOutcome {
        let begin = self.begin.unwrap_or(Begin {
            at: Picoseconds::ZERO,
            finished: 0,
            counted: Counted { crossed: vec![Crossed::default(); nic.steps.len()], ..Counted::default() },
        });
        let elapsed = now.since(begin.at);
        let elapsed_ns = elapsed.as_ns().max(1e-3);
        let packets = (finished - begin.finished) as f64;
        let share = |now: Picoseconds, then: Picoseconds| now.since(then).as_ns() / elapsed_ns;
        let packets_per_s = packets * 1e9 / elapsed_ns;
        let line_packets_per_s = 1e9 / interval.as_ns();
        let dropped_share = if self.arrived > 0 { self.dropped as f64 / self.arrived as f64 } else { 0.0 };
        let upstream_share = share(counted.uplink_busy, begin.counted.uplink_busy);
        let downstream_share = share(counted.downlink_busy, begin.counted.downlink_busy);
        let tags_waited = share(counted.tags_waited, begin.counted.tags_waited);
        let credits_waited = share(counted.credits_waited, begin.counted.credits_waited);
        let bound = match () {
            () if packets_per_s >= AT_LINE_RATE * line_packets_per_s && self.dropped == 0 => NicBound::Line,
            () if upstream_share >= FULL && upstream_share >= downstream_share => NicBound::WireUpstream,
            () if downstream_share >= FULL => NicBound::WireDownstream,
            () if credits_waited >= WAITING && credits_waited >= tags_waited => NicBound::PostedCredits,
            () if tags_waited >= WAITING => NicBound::Tags,
            () => NicBound::Latency,
        };
        let steps = self.steps.iter().zip(&counted.crossed).zip(&begin.counted.crossed);
        let steps = steps.map(|((accesses, crossed), before)| StepOutcome {
            upstream_bytes: (crossed.upstream_bytes - before.upstream_bytes) as f64 / packets,
            downstream_bytes: (crossed.downstream_bytes - before.downstream_bytes) as f64 / packets,
            mean_ns: if accesses.count > 0 { accesses.time.as_ns() / accesses.count as f64 } else { 0.0 },
            in_flight: accesses.time.as_ns() / elapsed_ns,
            accesses_per_s: accesses.count as f64 * 1e9 / elapsed_ns,
        });
        NicOutcome {
            packets_per_s,
            line_packets_per_s,
            dropped_share,
            latencies_ns: self.latencies_ns,
            upstream_share,
            downstream_share,
            bound,
            steps: steps.collect(),
        }
    }
}
