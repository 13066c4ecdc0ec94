//! The bounds of a bandwidth test on a machine, in closed form.
//!
//! `pcie-model` has the arithmetic of bounds; this module supplies a machine's limits and the costs of a
//! test's transfers. No simulation exceeds a bound: for quantities that only a simulation determines (queues,
//! completion order, contents of caches), it takes the value that allows more.

mod cost;
mod held;
pub(crate) mod host;
mod page_walks;
mod replays;
mod sampled;

use crate::machine::Machine;
use cost::Cost;
use pcie_model::{Answer, Bound, FlitTimes, Limits, LinkReplays, Model};
use pcie_refusal::Refusal;
use pcie_wire::{Accounting, TlpKind};
use pcie_workload::{LINE_BYTES, Operation, Test};
use schemars::JsonSchema;
use serde::Serialize;

/// The bounds of a test.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TestBounds {
    /// The bound that binds, and all others.
    pub answer: Answer,
    /// How long a read request holds its tag on average, at least, in ns; `None` for a test without reads.
    pub round_trip_ns: Option<f64>,
    /// In flit mode, what flits add to a read that is alone: its requests, and its completions; `None` for a test
    /// without reads.
    pub flits: Option<FlitTimes>,
    /// What replays cost each direction while it is full; `None` on a link that damages nothing.
    pub replays: Option<LinkReplays>,
}

/// Tolerance for rounding in sums of averages.
const ROUNDING: f64 = 1e-6;

impl Machine {
    /// All bounds of a bandwidth test on this machine; `None` for latency and unsupported tests.
    ///
    /// # Errors
    /// A number of the profile is not valid as a limit.
    pub fn bounds(&self, test: &Test) -> Result<Option<TestBounds>, Refusal> {
        if test.operation.is_latency() || test.validate().is_err() || self.supports(test).is_err() {
            return Ok(None);
        }
        let cost = Cost::of(self, test);
        let reads = test.operation != Operation::BwWr;
        let round_trip_ns =
            reads.then(|| self.round_trip_ns(test, &cost, self.requests_in_flight(test, &cost)));
        let limits = self.limits(test, &cost, round_trip_ns);
        let flits = self.link().flit_mode().then(|| self.flits_of_a_read(test));
        let model = Model::new(*self.link(), Accounting::Spec, limits)?;
        let passed = |bound| self.share_passed(test, &cost, bound);
        let answer = model.answer_in_part(&cost.load, test.size_bytes, passed);
        Ok(answer.map(|answer| TestBounds {
            answer,
            round_trip_ns,
            flits: flits.filter(|_| reads),
            replays: self.replay_losses(&cost),
        }))
    }

    /// The share of a test's work that must have passed a bound at its end. A write is complete when it has
    /// left the device: the last ones, in a short test all, are still in the root complex's buffers.
    fn share_passed(&self, test: &Test, cost: &Cost, bound: Bound) -> f64 {
        let transactions = self.transactions(test) as f64;
        // N events have N - 1 intervals.
        let all = (transactions - 1.0) / transactions;
        if !test.operation.writes()
            || !matches!(
                bound,
                Bound::WriteRate
                    | Bound::PageWalks
                    | Bound::PostedCredits
                    | Bound::Translation
                    | Bound::WritePool
                    | Bound::Memory
            )
        {
            return all;
        }
        let complex = &self.system.host.root_complex;
        let writes = if test.operation == Operation::BwRdwr { transactions / 2.0 } else { transactions };
        let by_headers = f64::from(complex.posted_header_credits.held_headers()) / cost.load.write_tlps;
        let by_data = complex
            .posted_data_credits
            .count()
            .map_or(writes, |count| f64::from(count) / cost.load.write_data_credits);
        let pooled = complex.write_pool_lines.map_or(0.0, |lines| f64::from(lines) / cost.load.write_lines);
        (all - (by_headers.min(by_data) + pooled) / writes).max(0.0)
    }

    /// Mean times in flits of a read from an idle link, by the sizes of its TLPs.
    fn flits_of_a_read(&self, test: &Test) -> FlitTimes {
        let (uplink, downlink) = self.ports();
        let (entry, check_ns) =
            (self.system.link.flit_entry.unwrap_or_default(), self.system.link.flit_check_ns());
        let (mut up_bytes, mut down_bytes) = (0, 0);
        for request in self.read_requests(test.host_offset_bytes, test.size_bytes) {
            up_bytes += uplink.in_units(self.tlp_bytes(TlpKind::MemoryRead, request));
            for completion in self.completions(request) {
                down_bytes += downlink.in_units(self.tlp_bytes(TlpKind::CompletionWithData, completion));
            }
        }
        [up_bytes, down_bytes]
            .map(|bytes| FlitTimes::of(self.link(), entry, check_ns, bytes))
            .into_iter()
            .fold(FlitTimes::default(), std::ops::Add::add)
    }

    /// DMAs of a test that the device keeps in flight.
    fn dmas_in_flight(&self, test: &Test) -> u32 {
        test.outstanding.unwrap_or(u32::MAX).min(self.system.device.dma.outstanding)
    }

    /// Lower bound on the read requests in flight with as many DMAs in flight as possible. With fewer
    /// requests, more of them find the root complex idle and are answered sooner.
    fn requests_in_flight(&self, test: &Test, cost: &Cost) -> f64 {
        let (reads, kinds) = match test.operation {
            Operation::BwRdwr => (cost.load.dmas / 2.0, 2.0),
            _ => (cost.load.dmas, 1.0),
        };
        // Reads and writes take turns, and a write may be done at once.
        let reads_in_flight = (f64::from(self.dmas_in_flight(test)) / kinds).ceil();
        let of_dmas = reads_in_flight * (cost.load.read_requests / reads + ROUNDING).floor();
        of_dmas.min(f64::from(self.tags())).min(self.requests_in_completion_buffer(cost))
    }

    fn limits(&self, test: &Test, cost: &Cost, round_trip_ns: Option<f64>) -> Limits {
        let (card, complex) = (&self.system.device, &self.system.host.root_complex);
        let dmas = cost.load.dmas;
        let walk_interval_ns = self.walk_interval_ns(test);
        let buffer = self.usable_completion_buffer(cost);
        Limits {
            round_trip_ns,
            tags: round_trip_ns.map(|_| self.tags()),
            dmas_in_flight: Some(self.dmas_in_flight(test)),
            dma_ns: some_time(self.dma_ns(test, cost, round_trip_ns)),
            posted_header_credits: complex.posted_header_credits.count(),
            posted_data_credits: complex.posted_data_credits.count(),
            non_posted_header_credits: complex.non_posted_header_credits.count(),
            credit_return_ns: some_time(self.flight_ns() + complex.credit_return_ns),
            device_mdmas_per_s: some_time(self.card_interval(test).as_ns()).map(|ns| 1_000.0 * dmas / ns),
            device_port_ns: some_time(cost.device_port_ns / dmas),
            // DLLPs alone are no limit: a root port that falls behind sends one for several writes.
            root_port_ns: round_trip_ns.and(some_time(cost.root_port_ns / dmas)),
            replay_buffer_ns: self.replay_buffer_ns(&cost.load).and_then(some_time).map(|ns| ns / dmas),
            request_interval_ns: some_time(complex.request_interval_ns),
            write_interval_ns: some_time(complex.write_interval_ns),
            write_line_ns: some_time(complex.write_line_ns),
            receive_buffers: round_trip_ns.map(|_| card.dma.receive_buffers),
            receive_ns: round_trip_ns.map(|_| self.receive_ns(cost)),
            completion_buffer_headers: buffer.headers,
            completion_buffer_bytes: buffer.bytes,
            walks_per_dma: some_time(walk_interval_ns).and(some_time(self.walks_of_a_transfer(test))),
            walk_interval_ns: some_time(walk_interval_ns),
            write_pool_lines: complex.write_pool_lines.filter(|_| complex.write_ns > 0.0),
            write_hold_ns: some_time(complex.write_ns),
            read_pool_lines: round_trip_ns.and(complex.read_pool_lines),
            read_hold_ns: some_time(self.read_hold_ns(test)),
            memory_line_ns: self.memory_line_ns(),
            ..Limits::default()
        }
    }
}

impl Machine {
    /// Time for which a saturated memory is busy with a line that a device writes.
    pub(crate) fn memory_line_ns(&self) -> Option<f64> {
        self.system.host.writable_gbytes_per_s().map(|rate| LINE_BYTES as f64 / rate)
    }
}

/// A limit, or `None` where 0 stands for no limit.
fn some_time(value: f64) -> Option<f64> {
    (value > 0.0).then_some(value)
}
