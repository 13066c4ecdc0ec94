#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use super::*;

use crate::device::simulated_bench;
use pcie_bench::{BandwidthSlice, Bench, LatencySlice, Samples, Start, Stop};
use pcie_workload::{CacheState, TestRecord};
use std::sync::Arc;

const LOTS: Effort = Effort { latency_samples: 1 << 20, bandwidth_transactions: 1 << 20 };

/// Memory and program on the far socket, 4 KiB pages: the most state that a machine can have.
fn system() -> System {
    serde_json::from_str(include_str!("../../../pcie-sim/tests/fixtures/ib-011-nosp.json")).unwrap()
}

fn suite() -> Suite {
    let tests = [
        (Operation::BwWr, 64, 1 << 20, CacheState::Cold),
        (Operation::LatRd, 64, 1 << 20, CacheState::Cold),
        (Operation::LatWrrd, 64, 1 << 16, CacheState::HostWarm),
        (Operation::BwRdwr, 256, 1 << 16, CacheState::DeviceWarm),
        (Operation::BwRd, 64, 1 << 22, CacheState::DeviceThrash),
    ];
    let records = tests.into_iter().map(|(operation, size_bytes, window_bytes, cache)| TestRecord {
        family: "family".into(),
        name: "NAME".into(),
        parameters: Test { cache, ..Test::random_dma(operation, size_bytes, window_bytes, 3_000) },
    });
    Suite { name: "small".into(), title: "Small".into(), tests: records.collect() }
}

fn predict(predictor: &mut Predictor, systems: Vec<System>, rows: &[usize]) -> Vec<Vec<Prediction>> {
    let wanted = vec![rows.to_vec(); systems.len()];
    predictor.predict(systems, &wanted, LOTS, &mut |_, _| ControlFlow::Continue(())).unwrap()
}

/// Runs the same tests through device and host.
fn run() -> Vec<f64> {
    let suite = suite();
    let Bench { mut device, mut host } =
        simulated_bench(Arc::new(Machine::new(system()).unwrap()), Samples::Full, Engine::Fast);
    let stop = Stop::default();
    let mut found = Vec::new();
    for (position, record) in suite.tests.iter().enumerate() {
        let test = &record.parameters;
        device.begin(Start { position: position as u64, seed: 5, test, stop: &stop });
        host.thrash().unwrap();
        match test.cache {
            CacheState::Cold => {}
            CacheState::DeviceThrash => device.thrash().unwrap(),
            CacheState::DeviceWarm => device.warm(test.window_bytes).unwrap(),
            CacheState::HostWarm => host.warm(test.window_bytes).unwrap(),
        }
        let mut sum = 0.0;
        if test.operation.is_latency() {
            let mut gather = |slice: &LatencySlice| {
                sum += slice.ticks.iter().map(|ticks| f64::from(*ticks)).sum::<f64>();
                ControlFlow::Continue(())
            };
            device.latency(test, &mut gather).unwrap();
        } else {
            let mut gather = |slice: BandwidthSlice| {
                sum += slice.elapsed_ns;
                ControlFlow::Continue(())
            };
            device.bandwidth(test, &mut gather).unwrap();
        }
        found.push(sum);
    }
    found
}

/// Sum of ticks, or total time, as [`run`] returns them.
fn total(prediction: &Prediction, test: &Test) -> f64 {
    match prediction {
        Prediction::Latency { ticks, .. } => {
            ticks.iter().map(|(tick, count)| f64::from(*tick) * *count as f64).sum()
        }
        Prediction::Bandwidth { bandwidth_gbps } => {
            let counted = if test.operation == Operation::BwRdwr { 1_500.0 } else { 3_000.0 };
            counted * test.size_bytes as f64 * 8.0 / bandwidth_gbps
        }
        Prediction::NotSupported { .. } => f64::NAN,
    }
}

#[test]
fn predictions_match_a_run_of_the_whole_suite() {
    let expected = run();
    let positions = vec![1, 2, 3, 4];
    let mut predictor = Predictor::new(suite(), positions.clone(), 5, 2).unwrap();
    let [found] = &predict(&mut predictor, vec![system()], &[0, 1, 2, 3])[..] else { panic!("one system") };
    for (row, &position) in positions.iter().enumerate() {
        let total = total(&found[row], &suite().tests[position].parameters);
        assert!((total - expected[position]).abs() < 1e-6 * expected[position], "row {row}: {total}");
    }
}

#[test]
fn variants_do_not_affect_each_others_predictions() {
    let mut slower = system();
    slower.host.memory.miss_ns += 50.0;
    let mut leaky = system();
    leaky.host.llc.host_share = 0.1;
    let mut wider = system();
    wider.host.llc.ddio_ways = 8;
    let variants = vec![system(), slower, leaky, wider];
    let together =
        predict(&mut Predictor::new(suite(), vec![1, 2], 5, 2).unwrap(), variants.clone(), &[0, 1]);
    assert_ne!(together[0][0], together[1][0], "a slower memory lengthens cold reads");
    for (variant, together) in variants.into_iter().zip(together) {
        let mut alone = Predictor::new(suite(), vec![1, 2], 5, 1).unwrap();
        assert_eq!(predict(&mut alone, vec![variant], &[0, 1])[0], together);
    }
}

#[test]
fn later_calls_predict_like_first_ones() {
    let with = |change: &dyn Fn(&mut System)| {
        let mut changed = system();
        change(&mut changed);
        changed
    };
    let variants = [
        system(),
        with(&|system| system.host.memory.miss_ns += 50.0),
        with(&|system| system.host.llc.host_share = 0.1),
        with(&|system| system.device.transactions_most = Some(2_000)),
        with(&|system| system.host.root_complex.read_ns += 20.0),
    ];
    // Shorter than the tests, so that states are advanced to stretches inside them.
    let effort = Effort { latency_samples: 500, bandwidth_transactions: 500 };
    let predict = |predictor: &mut Predictor, system: &System, rows: &[usize]| {
        let go_on = &mut |_: usize, _: usize| ControlFlow::Continue(());
        predictor.predict(vec![system.clone()], &[rows.to_vec()], effort, go_on).unwrap()
    };
    // All have the history of the first machine.
    let new = || {
        let mut predictor = Predictor::new(suite(), vec![1, 2, 3, 4], 5, 2).unwrap();
        predict(&mut predictor, &system(), &[]);
        predictor
    };
    let (mut keeping, all) = (new(), [0, 1, 2, 3]);
    for (nth, variant) in variants.iter().chain(&variants).enumerate() {
        assert_eq!(predict(&mut keeping, variant, &all), predict(&mut new(), variant, &all), "call {nth}");
    }
}

#[test]
fn predict_reports_wrong_rows_stops_and_unsupported_tests() {
    let mut predictor = Predictor::new(suite(), vec![1], 5, 2).unwrap();
    let go_on = &mut |_: usize, _: usize| ControlFlow::Continue(());
    let error = predictor.predict(vec![system()], &[vec![3]], LOTS, go_on).unwrap_err();
    assert!(error.to_string().contains("row is 3"), "{error}");
    let stop = &mut |_: usize, _: usize| ControlFlow::Break(());
    let error = predictor.predict(vec![system()], &[vec![0]], LOTS, stop).unwrap_err();
    assert!(matches!(error, Unfinished::Stopped));
    let mut small = system();
    small.chunk_addresses.truncate(1);
    small.chunk_bytes = 1 << 16;
    let found = predict(&mut predictor, vec![small], &[0]);
    assert!(matches!(found[0][0], Prediction::NotSupported { .. }));
}
