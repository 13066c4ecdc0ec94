//! The results of a test that the contract checks.

use crate::device::{BandwidthSlice, Device, DeviceError, LatencySlice};
use crate::facts::TimerFacts;
use pcie_workload::Test;
use std::ops::ControlFlow;

/// The sums of all slices.
#[derive(Default)]
pub(super) struct Found {
    pub(super) transactions: u64,
    ticks: u64,
    elapsed_ns: f64,
    empty_slices: u64,
}

impl Found {
    /// Contradictions in the results of a whole test.
    pub(super) fn problems(self, test: &Test, timer: TimerFacts) -> impl Iterator<Item = String> {
        let Self { transactions, ticks, elapsed_ns, empty_slices } = self;
        let tick_ns = timer.tick().in_ns(1.0);
        // The last tick of each latency may have just begun.
        let least_ns = ticks.saturating_sub(transactions) as f64 * tick_ns;
        let asked = test.transactions;
        [
            (transactions != asked).then(|| format!("{transactions} results of {asked}")),
            (empty_slices > 0).then(|| format!("{empty_slices} slices were empty")),
            (!elapsed_ns.is_finite() || elapsed_ns <= 0.0).then(|| format!("it took {elapsed_ns} ns")),
            (test.operation.is_latency() && least_ns > elapsed_ns)
                .then(|| format!("latencies add up to {least_ns} ns, in {elapsed_ns} ns")),
        ]
        .into_iter()
        .flatten()
    }
}

/// Runs a test until it is complete or `after_slice` breaks off.
pub(super) fn run(
    device: &mut dyn Device,
    test: &Test,
    after_slice: &mut dyn FnMut() -> ControlFlow<()>,
) -> Result<Found, DeviceError> {
    let mut found = Found::default();
    if test.operation.is_latency() {
        device.latency(test, &mut |slice: &LatencySlice| {
            found.empty_slices += u64::from(slice.ticks.is_empty());
            found.transactions += slice.ticks.len() as u64;
            found.ticks += slice.ticks.iter().map(|ticks| u64::from(*ticks)).sum::<u64>();
            found.elapsed_ns += slice.elapsed_ns;
            after_slice()
        })?;
    } else {
        device.bandwidth(test, &mut |slice: BandwidthSlice| {
            found.empty_slices += u64::from(slice.transactions == 0);
            found.transactions += slice.transactions;
            found.elapsed_ns += slice.elapsed_ns;
            after_slice()
        })?;
    }
    Ok(found)
}
