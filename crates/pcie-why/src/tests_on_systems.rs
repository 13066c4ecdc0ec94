//! Tests on a system, simulated with changes of both.

use crate::changes::{
    Change, TEST, changed_system, changed_test, further, is_of_absent_translation, json_of, of_system,
    of_test,
};
use crate::resource::{Resource, bounds, resource};
use crate::search::{Engine, Length};
use pcie_bench_sim::{Effort, Prediction, Predictor};
use pcie_model::Bound;
use pcie_refusal::{Refusal, Unfinished};
use pcie_schema::Fitting as _;
use pcie_sim::profile::System;
use pcie_workload::{Suite, Test, TestRecord};
use std::ops::ControlFlow;

const SHORT: Effort = Effort { latency_samples: 2048, bandwidth_transactions: 16_384 };
const SHORT_BYTES: u64 = 8 << 20;
/// Buffers that fill at the start weigh little, as in a run.
const FULL: Effort = Effort { latency_samples: 16_384, bandwidth_transactions: 524_288 };
const FULL_BYTES: u64 = 128 << 20;
/// Fewest transactions, however long they are.
const TRANSACTIONS_LEAST: u64 = 1024;
const SEED: u64 = 1;
const NAME: &str = "why";

/// Tests of one unit on a system.
#[derive(Debug)]
pub struct TestQuestion {
    system: System,
    tests: Vec<Test>,
    changes: Vec<Change>,
    /// One for each test that was asked about, changed or not.
    predictors: Vec<(Test, Predictor)>,
}

impl TestQuestion {
    /// A question about tests that are all latencies or all bandwidths.
    ///
    /// # Errors
    /// There is no test, or they have two units.
    pub fn new(system: System, tests: Vec<Test>) -> Result<Self, Refusal> {
        let latencies = tests.iter().filter(|test| test.operation.is_latency()).count();
        if tests.is_empty() || ![0, tests.len()].contains(&latencies) {
            return Err(Refusal::new("tests").remedy("give tests of latency, or tests of bandwidth"));
        }
        let mut changes = of_system(&system)?;
        let of_tests = tests.iter().map(of_test).collect::<Result<Vec<_>, _>>()?;
        let is_common = |change: &&Change| of_tests.iter().all(|other| other.contains(change));
        changes.extend(of_tests[0].iter().filter(is_common).cloned());
        Ok(Self { system, tests, changes, predictors: Vec::new() })
    }

    /// The predictor of a test, which keeps what variants of the machine share.
    fn predictor(&mut self, test: &Test) -> Result<&mut Predictor, Refusal> {
        let known = self.predictors.iter().position(|(known, _)| known == test);
        let at = match known {
            Some(at) => at,
            None => {
                let record = TestRecord { family: NAME.into(), name: NAME.into(), parameters: test.clone() };
                let suite = Suite { name: NAME.into(), title: NAME.into(), tests: vec![record] };
                self.predictors.push((test.clone(), Predictor::new(suite, vec![0], SEED, 1)?));
                self.predictors.len() - 1
            }
        };
        Ok(&mut self.predictors[at].1)
    }
}

impl Engine for TestQuestion {
    fn changes(&self) -> &[Change] {
        &self.changes
    }

    fn values(
        &mut self,
        changes: &[Change],
        length: Length,
        progress: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<Vec<Option<Vec<f64>>>, Unfinished> {
        let systems: Vec<Option<System>> =
            changes.iter().map(|change| changed_system(&self.system, change).ok()).collect();
        let mut found: Vec<Option<Vec<f64>>> =
            systems.iter().map(|system| system.is_some().then(Vec::new)).collect();
        for test in self.tests.clone() {
            let tests: Vec<Option<Test>> =
                changes.iter().map(|change| changed_test(&test, change).ok()).collect();
            let mut distinct: Vec<&Test> = Vec::new();
            for one in tests.iter().flatten() {
                if !distinct.contains(&one) {
                    distinct.push(one);
                }
            }
            let mut of_test: Vec<Option<f64>> = vec![None; changes.len()];
            for one in distinct {
                let of_one: Vec<usize> = (0..changes.len())
                    .filter(|nth| tests[*nth].as_ref() == Some(one) && systems[*nth].is_some())
                    .collect();
                let machines = of_one.iter().filter_map(|nth| systems[*nth].clone()).collect();
                let wanted = vec![vec![0]; of_one.len()];
                let effort = effort(length, one);
                let done = of_test.iter().flatten().count();
                let mut on = |_, _| progress(done);
                let predictions = self.predictor(one)?.predict(machines, &wanted, effort, &mut on)?;
                for (nth, prediction) in of_one.into_iter().zip(predictions) {
                    of_test[nth] = prediction.first().and_then(value);
                }
            }
            for (found, value) in found.iter_mut().zip(of_test) {
                match (found.as_mut(), value) {
                    (Some(values), Some(value)) => values.push(value),
                    _ => *found = None,
                }
            }
        }
        Ok(found)
    }

    fn further(&self, change: &Change) -> Option<Change> {
        let (system, test) = (json_of(&self.system).ok()?, json_of(self.tests.first()?).ok()?);
        further(change, &[(TEST, Test::shape(), test), ("", System::shape(), system)])
    }

    fn raised(&self, changes: &[Change]) -> Vec<f64> {
        let none = vec![1.0; changes.len()];
        let Some(test) = self.tests.first() else { return none };
        let Some(before) = bounds(self.system.clone(), test) else { return none };
        let (bound, gbps): (Bound, f64) = (before.answer.bound, before.answer.gbps);
        let raised = |change: &Change| {
            let (system, test) =
                (changed_system(&self.system, change).ok()?, changed_test(test, change).ok()?);
            let after = bounds(system, &test)?.answer;
            let own = after.ceilings.iter().find(|ceiling| ceiling.bound == bound);
            Some(own.map_or(f64::INFINITY, |ceiling| ceiling.gbps / gbps))
        };
        changes.iter().map(|change| raised(change).unwrap_or(1.0)).collect()
    }

    fn is_without_effect(&self, change: &Change) -> bool {
        is_of_absent_translation(change, &self.system)
    }

    fn is_latency(&self) -> bool {
        self.tests.iter().all(|test| test.operation.is_latency())
    }

    fn resources(&self) -> Vec<Option<Resource>> {
        self.tests.iter().map(|test| resource(&self.system, test)).collect()
    }
}

/// The effort for a test: long transfers need fewer transactions.
fn effort(length: Length, test: &Test) -> Effort {
    let (most, bytes) = match length {
        Length::Short => (SHORT, SHORT_BYTES),
        Length::Full => (FULL, FULL_BYTES),
    };
    let enough = (bytes / test.size_bytes).max(TRANSACTIONS_LEAST);
    Effort { bandwidth_transactions: most.bandwidth_transactions.min(enough), ..most }
}

fn value(prediction: &Prediction) -> Option<f64> {
    match prediction {
        Prediction::Bandwidth { bandwidth_gbps } => Some(*bandwidth_gbps),
        Prediction::Latency { average_ns, .. } => Some(*average_ns),
        Prediction::NotSupported { .. } => None,
    }
}
