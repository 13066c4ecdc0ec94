//! Bandwidth tests: many transactions in flight, simulated TLP by TLP.
//!
//! The parts are the device (workers, an in-order queue of DMAs, tags, a data engine), the two directions of
//! the link with their credits, and the root complex (admission, translation, memory, completion order). The
//! simple reference engine takes events from a queue; the fast engine computes each step's time from the
//! steps that it depends on. Both complete every transaction at the same time.

pub(crate) mod card;
mod fast;
mod reference;
mod start;
mod warm_up;

use crate::cache::history::{State, TestKey};
use crate::link::replay::Replays;
use crate::machine::Machine;
use crate::root_complex::idle::StallsOfTest;
use crate::root_complex::line_pool::PoolUse;
use fast::{ReadRun, ReadWriteRun, WriteRun};
use pcie_time::Picoseconds;
use pcie_trace::Segment;
use pcie_workload::{AddressList, Operation, Test};
use reference::ReferenceRun;
use serde::{Deserialize, Serialize};
use start::Start;

pub use start::{DeviceTlp, Finished};

/// The engine that simulates a bandwidth test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Computes each step's time from the steps that it depends on.
    #[default]
    Fast,
    /// Processes a queue of events.
    Reference,
}

/// A running bandwidth test.
#[derive(Debug)]
pub struct BandwidthRun<'a> {
    run: Run<'a>,
    /// On a machine that stalls, for writes: reads in flight keep the machine awake.
    stalls: Option<StallsOfTest>,
}

#[derive(Debug)]
enum Run<'a> {
    Reference(Box<ReferenceRun<'a>>),
    Reads(Box<ReadRun<'a>>),
    Writes(Box<WriteRun<'a>>),
    Both(Box<ReadWriteRun<'a>>),
}

impl<'a> BandwidthRun<'a> {
    /// The TLPs of a whole bandwidth test in the order in which the device sends them, from the `state` before it.
    /// `stopped` is asked now and then, with the TLPs so far: when it returns true, the result ends there.
    #[must_use]
    pub fn tlps(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        key: TestKey,
        state: State,
        stopped: &mut dyn FnMut(u64) -> bool,
    ) -> Vec<DeviceTlp> {
        ReferenceRun::new(Start { machine, test, list, key, state, first: 0 }).tlps(stopped)
    }

    /// The trace of the first `span` of a bandwidth test, from the `state` before it: what either engine simulates, TLP by
    /// TLP. `stopped` is asked now and then; when it returns true, the trace ends there.
    #[must_use]
    pub fn trace(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        key: TestKey,
        state: State,
        span: Picoseconds,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Vec<Segment> {
        let state = if machine.sees_state(test) { state } else { state.without_lines() };
        let run = ReferenceRun::new(Start { machine, test, list, key, state, first: 0 });
        let Some(mut record) = run.record(span, stopped) else { return Vec::new() };
        if let Some(stalls) = stalls_of(machine, test, key) {
            record.map_times(|served| stalls.with_stalls(served));
        }
        record.into_segments()
    }

    /// Starts at transaction `first` with nothing in flight, from the `state` after the transactions before.
    #[must_use]
    pub fn new(
        engine: Engine,
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        key: TestKey,
        state: State,
        first: u64,
    ) -> Self {
        debug_assert!(!test.operation.is_latency(), "{:?} is not a bandwidth operation", test.operation);
        debug_assert!(first < test.transactions, "transaction {first} is beyond the end of the test");
        let stalls = stalls_of(machine, test, key);
        let state = if machine.sees_state(test) { state } else { state.without_lines() };
        let start = Start { machine, test, list, key, state, first };
        let run = match (engine, test.operation) {
            (Engine::Reference, _) => Run::Reference(Box::new(ReferenceRun::new(start))),
            (Engine::Fast, Operation::BwWr) => Run::Writes(Box::new(WriteRun::new(start))),
            (Engine::Fast, Operation::BwRdwr) => Run::Both(Box::new(ReadWriteRun::new(start))),
            (Engine::Fast, _) => Run::Reads(Box::new(ReadRun::new(start))),
        };
        Self { run, stalls }
    }

    /// Transactions from `first` on to discard as warm-up: behind them the machine's queues are full and the
    /// run is in its steady state. At most half a million, and no more than the test has left.
    #[must_use]
    pub fn warm_up_transactions(
        machine: &'a Machine,
        test: &'a Test,
        list: &'a AddressList,
        key: TestKey,
        state: State,
        first: u64,
    ) -> u64 {
        warm_up::warm_up_transactions(Start { machine, test, list, key, state, first })
    }

    /// The least value of [`Self::warm_up_transactions`]: enough to fill the pipeline.
    #[must_use]
    pub fn least_warm_up_transactions(test: &Test) -> u64 {
        warm_up::shortest(test)
    }

    /// Simulates `count` more transactions, or all that are left; returns the time of the last completion.
    pub fn run(&mut self, count: u64) -> Picoseconds {
        let last = self.advance(count, None);
        self.with_stalls(last)
    }

    /// Simulates like [`Self::run`]; returns the completed transactions, earliest first.
    pub fn finished(&mut self, count: u64) -> Vec<Finished> {
        let mut noted = Vec::new();
        let last = self.advance(count, Some(&mut noted));
        debug_assert!(noted.is_sorted_by_key(|finished| finished.time), "completions out of order");
        debug_assert!(noted.len() as u64 <= count, "more than {count} completions");
        debug_assert!(noted.iter().all(|finished| finished.time <= last), "completion after the last one");
        for finished in &mut noted {
            finished.time = self.with_stalls(finished.time);
        }
        noted
    }

    /// Transactions in flight or queued at the last completion of a test that writes. 0 for reads and for the
    /// reference engine, which do not count them: see [`Self::warm_up_transactions`].
    #[must_use]
    pub fn in_flight(&self) -> f64 {
        match &self.run {
            Run::Reference(_) | Run::Reads(_) => 0.0,
            Run::Writes(run) => run.in_flight(),
            Run::Both(run) => run.in_flight().iter().sum(),
        }
    }

    /// Use of the root complex's pools for writes and for reads so far; `None` without one.
    #[must_use]
    pub fn pool_use(&self) -> [Option<PoolUse>; 2] {
        match &self.run {
            Run::Reference(run) => run.pool_use(),
            Run::Reads(run) => run.pool_use(),
            Run::Writes(run) => run.pool_use(),
            Run::Both(run) => run.pool_use(),
        }
    }

    /// What the device and the root port sent again so far; `None` on a link that damages nothing and has room for all
    /// that it keeps.
    #[must_use]
    pub fn replays(&self) -> Option<[Replays; 2]> {
        let [up, down] = match &self.run {
            Run::Reference(run) => run.replays(),
            Run::Reads(run) => run.replays(),
            Run::Writes(run) => run.replays(),
            Run::Both(run) => run.replays(),
        };
        Some([up?, down.unwrap_or_default()])
    }

    /// Factors between which the test's time varies with the seed, at 95 %, on a machine whose stalls vary in
    /// frequency from test to test; `None` where variation within a run shows it all.
    #[must_use]
    pub fn between_runs(&self) -> Option<(f64, f64)> {
        self.stalls.map(StallsOfTest::between_runs)
    }

    fn with_stalls(&self, served: Picoseconds) -> Picoseconds {
        self.stalls.map_or(served, |stalls| stalls.with_stalls(served))
    }

    fn advance(&mut self, count: u64, noted: Option<&mut Vec<Finished>>) -> Picoseconds {
        match &mut self.run {
            Run::Reference(run) => run.run(count, noted),
            Run::Reads(run) => run.run(count, noted),
            Run::Writes(run) => run.run(count, noted),
            Run::Both(run) => run.run(count, noted),
        }
    }
}

/// The stalls of a test that writes, on a machine that has them.
fn stalls_of(machine: &Machine, test: &Test, key: TestKey) -> Option<StallsOfTest> {
    match (&machine.system.host.idle, test.operation) {
        (Some(idle), Operation::BwWr) => Some(StallsOfTest::new(&idle.stalls, key)),
        _ => None,
    }
}
