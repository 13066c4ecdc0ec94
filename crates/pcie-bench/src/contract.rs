//! What every back end has to keep to, as one set of checks that any of them can be put through.

use crate::backend::{Backend, Bench};
use crate::device::{BandwidthSlice, Device, DeviceError, LatencySlice, Start};
use crate::stop::Stop;
use pcie_workload::{CacheState, Test};
use serde::Deserialize;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// In so much time a device has to end after it was told to.
const STOP_WITHIN: Duration = Duration::from_millis(200);

/// Tests to put a back end through.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trial {
    /// A latency test that it can carry out in a second or so.
    pub latency: Test,
    /// A bandwidth test likewise.
    pub bandwidth: Test,
    /// Tests that it has to refuse.
    pub refused: Vec<Test>,
}

/// Puts a back end through the contract; what it does not keep to, in words. Nothing, for one that keeps to all of it.
#[must_use]
pub fn check(backend: &dyn Backend, trial: &Trial) -> Vec<String> {
    let mut findings = Vec::new();
    // Once before anything is counted: libraries may keep what they load.
    drop(backend.open());
    let before = Held::now();
    findings.extend(opening(backend));
    for problem in [
        with_bench(backend, |bench, findings| complete(bench, trial, findings)),
        with_bench(backend, |bench, findings| stopping(bench, trial, findings)),
        with_bench(backend, |bench, findings| refusals(bench, trial, findings)),
    ] {
        findings.extend(problem);
    }
    findings.extend(before.left_behind(&Held::now()));
    findings
}

fn with_bench(backend: &dyn Backend, check: impl FnOnce(&mut Bench, &mut Vec<String>)) -> Vec<String> {
    let mut findings = Vec::new();
    match backend.open() {
        Ok(mut bench) => check(&mut bench, &mut findings),
        Err(error) => findings.push(format!("it does not open: {error}")),
    }
    findings
}

/// Closing without having run does no harm, and it says the same of itself each time.
fn opening(backend: &dyn Backend) -> Vec<String> {
    let facts = || backend.open().map(|bench| (bench.device.facts(), bench.host.facts()));
    match (facts(), facts()) {
        (Ok(first), Ok(second)) if first == second => Vec::new(),
        (Ok(_), Ok(_)) => {
            vec!["facts differ from one opening to the next: conditions are no part of them".into()]
        }
        (Err(error), _) => vec![format!("it does not open: {error}")],
        (_, Err(error)) => vec![format!("it does not open again after it was closed: {error}")],
    }
}

/// Brings the caches into every state before a test.
fn prepare(bench: &mut Bench, position: u64, test: &Test, stop: &Stop) -> Result<(), DeviceError> {
    let start = Start { position, seed: 1, test, stop };
    bench.device.begin(start);
    bench.host.begin(start);
    bench.host.thrash()?;
    match test.cache {
        CacheState::Cold => Ok(()),
        CacheState::DeviceThrash => bench.device.thrash(),
        CacheState::DeviceWarm => bench.device.warm(test.window_bytes),
        CacheState::HostWarm => bench.host.warm(test.window_bytes),
    }
}

/// A test that nobody breaks off: counts add up, and ticks fit in the time.
fn complete(bench: &mut Bench, trial: &Trial, findings: &mut Vec<String>) {
    let stop = Stop::default();
    let states = [CacheState::Cold, CacheState::DeviceThrash, CacheState::DeviceWarm, CacheState::HostWarm];
    for (position, cache) in (0..).zip(states) {
        for test in [&trial.latency, &trial.bandwidth] {
            let test = Test { cache, ..test.clone() };
            let result = prepare(bench, position, &test, &stop)
                .and_then(|()| run(&mut *bench.device, &test, &mut |_| ControlFlow::Continue(())));
            match result {
                Ok(found) => findings.extend(found.problems(&test, &*bench.device)),
                Err(DeviceError::NotSupported(_)) => {}
                Err(error) => findings.push(format!("{}: {error}", named(&test))),
            }
        }
    }
}

/// What came out of a test.
#[derive(Default)]
struct Found {
    transactions: u64,
    ticks: u64,
    elapsed_ns: f64,
    empty_slices: u64,
}

impl Found {
    fn problems(&self, test: &Test, device: &dyn Device) -> Vec<String> {
        let mut problems = Vec::new();
        let mut problem = |text: String| problems.push(format!("{}: {text}", named(test)));
        if self.transactions != test.transactions {
            problem(format!("{} results of {}", self.transactions, test.transactions));
        }
        if self.empty_slices > 0 {
            problem(format!("{} slices were empty", self.empty_slices));
        }
        if !(self.elapsed_ns.is_finite() && self.elapsed_ns > 0.0) {
            problem(format!("it took {} ns", self.elapsed_ns));
        }
        let tick_ns = device.facts().timer.tick().in_ns(1.0);
        // The last tick of each may have only just begun.
        let least_ns = self.ticks.saturating_sub(self.transactions) as f64 * tick_ns;
        if test.operation.is_latency() && least_ns > self.elapsed_ns {
            problem(format!("latencies add up to {least_ns} ns, in {} ns", self.elapsed_ns));
        }
        problems
    }
}

fn run(
    device: &mut dyn Device,
    test: &Test,
    after_slice: &mut dyn FnMut(&Found) -> ControlFlow<()>,
) -> Result<Found, DeviceError> {
    let mut found = Found::default();
    if test.operation.is_latency() {
        device.latency(test, &mut |slice: &LatencySlice| {
            found.empty_slices += u64::from(slice.ticks.is_empty());
            found.transactions += slice.ticks.len() as u64;
            found.ticks += slice.ticks.iter().map(|ticks| u64::from(*ticks)).sum::<u64>();
            found.elapsed_ns += slice.elapsed_ns;
            after_slice(&found)
        })?;
    } else {
        device.bandwidth(test, &mut |slice: BandwidthSlice| {
            found.empty_slices += u64::from(slice.transactions == 0);
            found.transactions += slice.transactions;
            found.elapsed_ns += slice.elapsed_ns;
            after_slice(&found)
        })?;
    }
    Ok(found)
}

/// It ends soon after it was told to, and the next test works.
fn stopping(bench: &mut Bench, trial: &Trial, findings: &mut Vec<String>) {
    for test in [&trial.latency, &trial.bandwidth] {
        let long = Test { transactions: 1 << 33, ..test.clone() };
        let stop = Stop::default();
        let mut asked = None;
        let result = prepare(bench, 0, &long, &stop).and_then(|()| {
            run(&mut *bench.device, &long, &mut |_| {
                asked.get_or_insert_with(Instant::now);
                stop.request();
                ControlFlow::Break(())
            })
        });
        let late = asked.map(|asked: Instant| asked.elapsed()).filter(|late| *late > STOP_WITHIN);
        match (result, asked, late) {
            (Err(error), _, _) => findings.push(format!("{}, told to stop: {error}", named(test))),
            (_, None, _) => findings.push(format!("{}: nothing came out of it", named(test))),
            (_, _, Some(late)) => findings.push(format!("{}: it stopped after {late:?}", named(test))),
            _ => {}
        }
        works(bench, test, "after it was told to stop", findings);
    }
}

fn works(bench: &mut Bench, test: &Test, when: &str, findings: &mut Vec<String>) {
    let stop = Stop::default();
    let result = prepare(bench, 1, test, &stop)
        .and_then(|()| run(&mut *bench.device, test, &mut |_| ControlFlow::Continue(())));
    match result {
        Ok(found) if found.transactions > 0 => {}
        Ok(_) => findings.push(format!("{}, {when}: nothing came out of it", named(test))),
        Err(error) => findings.push(format!("{}, {when}: {error}", named(test))),
    }
}

/// What it cannot do it refuses, naming the limit, and the next test works.
fn refusals(bench: &mut Bench, trial: &Trial, findings: &mut Vec<String>) {
    for test in &trial.refused {
        let stop = Stop::default();
        let result = prepare(bench, 0, test, &stop)
            .and_then(|()| run(&mut *bench.device, test, &mut |_| ControlFlow::Continue(())));
        match result {
            Err(DeviceError::NotSupported(reason)) if !reason.trim().is_empty() => {}
            Err(DeviceError::NotSupported(_)) => {
                findings.push(format!("{}: refused without a word", named(test)))
            }
            Err(error) => findings.push(format!("{}: not refused, but {error}", named(test))),
            Ok(_) => findings.push(format!("{}: not refused", named(test))),
        }
        works(bench, &trial.latency, "after a refusal", findings);
    }
}

fn named(test: &Test) -> String {
    let operation = serde_json::to_string(&(test.operation, test.path, test.cache)).unwrap_or_default();
    format!("{operation} of {} bytes", test.size_bytes)
}

/// What a process holds that a back end might leave behind; null where the system does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    files: Option<usize>,
    threads: Option<usize>,
    huge_pages_kib: Option<u64>,
}

impl Held {
    fn now() -> Self {
        let entries = |path: &str| std::fs::read_dir(path).ok().map(Iterator::count);
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("HugetlbPages:"));
        let huge_pages_kib = line.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        Self { files: entries("/proc/self/fd"), threads: entries("/proc/self/task"), huge_pages_kib }
    }

    fn left_behind(&self, after: &Self) -> Vec<String> {
        let mut left = Vec::new();
        let mut more = |what: &str, before: Option<u64>, after: Option<u64>| {
            if let (Some(before), Some(after)) = (before, after)
                && after > before
            {
                left.push(format!("{} {what} left behind", after - before));
            }
        };
        let count = |number: Option<usize>| number.map(|number| number as u64);
        more("open files", count(self.files), count(after.files));
        more("threads", count(self.threads), count(after.threads));
        more("KiB of huge pages", self.huge_pages_kib, after.huge_pages_kib);
        left
    }
}
