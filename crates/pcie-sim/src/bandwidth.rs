//! Bandwidth tests: many transactions in flight, simulated TLP by TLP.
//!
//! The parts are the card (workers, an in-order queue of DMAs, tags, a data engine), the two directions of the link with
//! their credits, and the root complex (admission, translation, memory, the order of completions). Two engines put them
//! together: the reference takes every event from one queue and is easy to believe; the fast one computes the time of each
//! step from the steps that it waits for, and completes every transaction at the same time.

pub(crate) mod card;
mod fast;
mod reference;
mod start;
mod warm_up;

use crate::cache::history::{State, TestKey};
use crate::machine::Machine;
use crate::root_complex::idle::StallsOfTest;
use fast::{ReadRun, ReadWriteRun, WriteRun};
use pcie_time::Picoseconds;
use pcie_workload::{AddressList, Operation, Test};
use reference::ReferenceRun;
use serde::{Deserialize, Serialize};
use start::Start;

pub use start::Finished;

/// What simulates bandwidth tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Engine {
    /// Computes when each step happens from the steps that it waits for.
    #[default]
    Fast,
    /// Goes from event to event.
    Reference,
}

/// A bandwidth test going on.
#[derive(Debug)]
pub struct BandwidthRun<'a> {
    run: Run<'a>,
    /// Of a machine that stalls, unless reads in flight keep it awake.
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
    /// Starts at transaction `first`, with the machine in the state in which the transactions before it left it and
    /// nothing in flight.
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
        debug_assert!(!test.operation.is_latency(), "a latency test is no run of bandwidth");
        debug_assert!(first < test.transactions, "transaction {first} is not one of the test");
        let stalls = match (&machine.system.host.idle, test.operation) {
            (Some(idle), Operation::BwWr) => Some(StallsOfTest::new(&idle.stalls, key)),
            _ => None,
        };
        let start = Start { machine, test, list, key, state, first };
        let run = match (engine, test.operation) {
            (Engine::Reference, _) => Run::Reference(Box::new(ReferenceRun::new(start))),
            (Engine::Fast, Operation::BwWr) => Run::Writes(Box::new(WriteRun::new(start))),
            (Engine::Fast, Operation::BwRdwr) => Run::Both(Box::new(ReadWriteRun::new(start))),
            (Engine::Fast, _) => Run::Reads(Box::new(ReadRun::new(start))),
        };
        Self { run, stalls }
    }

    /// Transactions that a run which starts at `first` takes to fill the queues of the machine, at least; those behind them
    /// show the steady state. At most half a million, and no more than the test has left.
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

    /// The fewest transactions that [`Self::warm_up_transactions`] gives: they fill a pipeline.
    #[must_use]
    pub fn least_warm_up_transactions(test: &Test) -> u64 {
        warm_up::shortest(test)
    }

    /// Simulates until `count` more transactions are complete, or all are; returns the time of the last completion,
    /// counted from the start of the run.
    pub fn run(&mut self, count: u64) -> Picoseconds {
        let last = self.go_on(count, None);
        self.with_stalls(last)
    }

    /// The same, and the transactions one by one, earliest first.
    pub fn finished(&mut self, count: u64) -> Vec<Finished> {
        let mut noted = Vec::new();
        let last = self.go_on(count, Some(&mut noted));
        debug_assert!(noted.is_sorted_by_key(|finished| finished.time), "transactions finish in order");
        debug_assert!(noted.len() as u64 <= count, "no more are complete than were asked for");
        debug_assert!(noted.iter().all(|finished| finished.time <= last), "none is after the last");
        for finished in &mut noted {
            finished.time = self.with_stalls(finished.time);
        }
        noted
    }

    /// Transactions in flight at the last completion, of a test that writes: those that a queue holds are among them.
    /// Zero where they are not counted, which is where they do not show: see [`Self::warm_up_transactions`].
    #[must_use]
    pub fn in_flight(&self) -> f64 {
        match &self.run {
            Run::Reference(_) | Run::Reads(_) => 0.0,
            Run::Writes(run) => run.in_flight(),
            Run::Both(run) => run.in_flight().iter().sum(),
        }
    }

    /// The factors by which the test may take shorter and longer under other seeds, at 95 %, where that is more than chance
    /// within a run shows: on a machine whose stalls come more or less often from test to test.
    #[must_use]
    pub fn between_runs(&self) -> Option<(f64, f64)> {
        self.stalls.map(StallsOfTest::between_runs)
    }

    fn with_stalls(&self, served: Picoseconds) -> Picoseconds {
        self.stalls.map_or(served, |stalls| stalls.with_stalls(served))
    }

    fn go_on(&mut self, count: u64, noted: Option<&mut Vec<Finished>>) -> Picoseconds {
        match &mut self.run {
            Run::Reference(run) => run.run(count, noted),
            Run::Reads(run) => run.run(count, noted),
            Run::Writes(run) => run.run(count, noted),
            Run::Both(run) => run.run(count, noted),
        }
    }
}
