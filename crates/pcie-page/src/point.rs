//! Simulated points: a test alone, with the numbers of `pcielab run --test`.

use pcie_bench::{Benchmarks, RunError, Samples, Stop, run_alone};
use pcie_bench_sim::Simulated;
use pcie_refusal::Refusal;
use pcie_schema::Fitting as _;
use pcie_sim::profile::System;
use pcie_sim::{Engine, Machine};
use pcie_store::{Distribution, Status, TestRecord};
use pcie_workload::Suite;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Most steps of a drawn distribution.
const STEPS_MOST: usize = 400;

/// A system and a suite of one test on it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Point {
    system: Value,
    suite: Suite,
    #[serde(default = "adaptive")]
    samples: Samples,
    seed: u64,
}

fn adaptive() -> Samples {
    Samples::Adaptive
}

/// A point as pictures need it. Numbers that its test does not have are left out.
#[derive(Debug, Serialize)]
pub(crate) struct Drawn {
    status: Status,
    message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    gbps: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    median_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    minimum_ns: Option<f64>,
    /// Latencies in ns and the share of samples up to each.
    #[serde(skip_serializing_if = "Option::is_none")]
    cdf: Option<Vec<(f64, f64)>>,
}

/// A system from its resolved JSON.
pub(crate) fn system_of(content: Value) -> Result<System, Refusal> {
    let name = content.get("name").and_then(Value::as_str).unwrap_or_default();
    let subject = format!("system {name}").trim_end().to_owned();
    System::read(content).map_err(|refusal| refusal.about(subject))
}

/// Simulates a point; its record as a store keeps it.
pub(crate) fn record(point: Point, stop: &Stop) -> Result<TestRecord, Refusal> {
    let machine = Machine::new(system_of(point.system)?)?;
    let backend = Arc::new(Simulated::new(machine, point.samples, Engine::Fast));
    let work = Benchmarks::new(point.suite, point.samples, point.seed, backend)?;
    run_alone(&work, stop).map_err(not_run)
}

/// Why a test was not run.
pub(crate) fn not_run(error: RunError) -> Refusal {
    match error.refusal() {
        Ok(refusal) => refusal,
        Err(failed) => Refusal::new(failed),
    }
}

/// A record as pictures need it.
pub(crate) fn drawn(record: &TestRecord) -> Drawn {
    let number = |metric: &str| {
        let found = record.scalars.iter().find(|one| one.subject.is_empty() && one.metric == metric);
        found.map(|one| one.value)
    };
    Drawn {
        status: record.status,
        message: record.message.clone(),
        gbps: number("bandwidth"),
        low: number("bandwidth_low"),
        high: number("bandwidth_high"),
        median_ns: number("median"),
        p99_ns: number("p99"),
        minimum_ns: number("minimum"),
        cdf: record.distributions.iter().find(|one| one.metric == "latency").and_then(cdf),
    }
}

/// A cumulative distribution, thinned for a picture; none if its tick is no number.
fn cdf(distribution: &Distribution) -> Option<Vec<(f64, f64)>> {
    let (numerator, denominator) = distribution.tick.split_once('/').unwrap_or((&distribution.tick, "1"));
    let (numerator, denominator): (f64, f64) = (numerator.parse().ok()?, denominator.parse().ok()?);
    let mut bins = distribution.bins.clone();
    bins.sort_unstable();
    let total: u64 = bins.iter().map(|(_, count)| count).sum();
    let mut seen = 0;
    let steps = bins.iter().map(|(value, count)| {
        seen += count;
        (*value as f64 * numerator / denominator, seen as f64 / total as f64)
    });
    let steps: Vec<_> = steps.collect();
    let (every, last) = (steps.len().div_ceil(STEPS_MOST).max(1), steps.len().saturating_sub(1));
    let kept = steps.into_iter().enumerate().filter(|(nth, _)| nth.is_multiple_of(every) || *nth == last);
    Some(kept.map(|(_, step)| step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_distribution_is_thinned_and_keeps_its_ends() {
        let bins = (0..1000).rev().map(|value| (value, 1)).collect();
        let found = cdf(&Distribution { metric: "latency".into(), tick: "40/3".into(), bins }).unwrap();
        assert!(found.len() <= STEPS_MOST + 1);
        assert_eq!((found[0], found[found.len() - 1]), ((0.0, 0.001), (999.0 * 40.0 / 3.0, 1.0)));
        assert!(cdf(&Distribution { metric: "latency".into(), tick: "x".into(), bins: vec![] }).is_none());
    }
}
