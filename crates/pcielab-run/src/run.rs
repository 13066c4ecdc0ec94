//! The commands `run` and `contract`.

use crate::bench::{Opened, opened};
use crate::failure::{Failure, printable};
use crate::input::{read, read_fitting};
use clap::Args;
use pcie_bench::contract::{MessageTrial, Trial, check, check_messages};
use pcie_bench::{
    Backend, Benchmarks, Breakable, Faults, Faulty, Messages, Options, Progress, Samples, Work,
    run as carry_out,
};
use pcie_refusal::Refusal;
use pcie_store::Manifest;
use pcie_workload::Suite;
use serde_json::{Value, json};
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io::{IsTerminal, Write as _};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// Arguments of `run`.
#[derive(Args)]
pub(crate) struct RunArguments {
    /// Target: a device ({"kind": "nvme", "address": ...}) or the resolved profile of a system, as JSON.
    bench: PathBuf,
    /// Suite, as JSON.
    suite: PathBuf,
    /// Store to write.
    #[arg(short, long, required_unless_present = "check")]
    output: Option<PathBuf>,
    /// Only check whether the run would be refused; write nothing.
    #[arg(long, conflicts_with = "output")]
    check: bool,
    /// Seed of the run.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// All transactions (full), or enough of them (adaptive).
    #[arg(long, default_value = "adaptive")]
    samples: String,
    /// Tests in parallel, where the device allows it.
    #[arg(long, default_value_t = 1)]
    jobs: usize,
    /// Resume an existing store.
    #[arg(long)]
    resume: bool,
    /// Replace an existing store.
    #[arg(long, conflicts_with = "resume")]
    overwrite: bool,
}

/// Carries out a run; signals stop it and leave a store that can be resumed.
pub(crate) fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let samples: Samples = serde_json::from_value(json!(arguments.samples))
        .map_err(|_| Refusal::of("--samples", &arguments.samples, "give full or adaptive"))?;
    let (opened, system) = opened(&arguments.bench, samples)?;
    let (work, suite): (Arc<dyn Work>, String) = match opened {
        Opened::Transfers(backend) => {
            let suite: Suite = read_fitting(&arguments.suite)?;
            let name = suite.name.clone();
            let work = Benchmarks::new(suite, samples, arguments.seed, backend)?;
            (Arc::new(work), name)
        }
        Opened::Messages(backend) => {
            let suite: pcie_workload::MessageSuite = read(&arguments.suite)?;
            let name = suite.name.clone();
            (Arc::new(Messages::new(suite, backend)?), name)
        }
    };
    let Some(output) = &arguments.output else { return Ok(()) };
    let manifest = manifest(&*work, &suite, arguments.seed, system, started(SystemTime::now())?);
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))
            .map_err(|error| Refusal::new(error).about(format!("signal {signal}")))?;
    }
    let mut shown = 0;
    let mut progress = |state: &Progress| {
        show(state, &mut shown);
        if stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    Ok(carry_out(work, options(arguments), output, manifest, &mut progress)?)
}

fn options(arguments: &RunArguments) -> Options {
    Options {
        jobs: arguments.jobs,
        resume: arguments.resume,
        repeat_damaged: false,
        overwrite: arguments.overwrite,
        only: None,
    }
}

/// Shows progress on a terminal.
fn show(state: &Progress, shown: &mut usize) {
    let mut errors = std::io::stderr();
    if state.done != *shown && errors.is_terminal() {
        *shown = state.done;
        let (family, name) = state.last.clone().unwrap_or_default();
        let last = printable(&format!("{family} {name}"));
        let line = format!("\r\x1b[K{}/{} {last}", state.done, state.total);
        let end = if state.done == state.total { "\n" } else { "" };
        // The terminal may be gone.
        let _ = write!(errors, "{line}{end}");
    }
}

/// Start time of a run, as text.
fn started(now: SystemTime) -> Result<String, Failure> {
    // humantime panics at times that it cannot write.
    let since = now.duration_since(UNIX_EPOCH).map_or(YEAR_10000, |since| since.as_secs());
    if since >= YEAR_10000 {
        let refusal = Refusal::new("the clock of this machine is set before 1970 or after 9999");
        return Err(refusal.remedy("set it to the present").into());
    }
    Ok(humantime::format_rfc3339_seconds(now).to_string())
}

/// Seconds of 1 January of the year 10000.
const YEAR_10000: u64 = 253_402_300_800;

fn manifest(work: &dyn Work, suite: &str, seed: u64, system: Option<Value>, started: String) -> Manifest {
    let mut manifest = Manifest::new(work.origin());
    let kernel = |name: &str| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        text.trim().to_owned()
    };
    let kind = work.manifest().get("backend").and_then(|backend| backend["kind"].as_str().map(str::to_owned));
    manifest.set("title", format!("{}, suite {suite}", kind.unwrap_or_default()));
    if let Some(system) = system {
        manifest.set("system", system);
    }
    manifest.set("seed", seed);
    manifest.set("started", started);
    let machine = [
        kernel("hostname"),
        std::env::consts::ARCH.to_owned(),
        kernel("ostype") + " " + &kernel("osrelease"),
    ];
    manifest.set("machine", machine.join(", "));
    manifest
}

/// Checks a device against the contract.
pub(crate) fn contract(bench: &Path, trial: &Path, faults: Option<&Path>) -> Result<(), Failure> {
    let faults: Option<Faults> = faults.map(read).transpose()?;
    let broken = match opened(bench, Samples::Full)?.0 {
        Opened::Transfers(backend) => {
            let trial: Trial = read(trial)?;
            check(&*with_faults(backend, faults), &trial)
        }
        Opened::Messages(backend) => {
            let trial: MessageTrial = read(trial)?;
            check_messages(&*with_faults(backend, faults), &trial)
        }
    };
    for promise in &broken {
        println!("{promise}");
    }
    if broken.is_empty() { Ok(()) } else { Err(Failure::Broken(broken.len())) }
}

fn with_faults<B: Breakable + 'static>(
    backend: Arc<dyn Backend<B>>,
    faults: Option<Faults>,
) -> Arc<dyn Backend<B>> {
    match faults {
        Some(faults) => Arc::new(Faulty::new(backend, faults)),
        None => backend,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn refuses_clock_out_of_range() {
        assert_eq!(started(UNIX_EPOCH).unwrap(), "1970-01-01T00:00:00Z");
        let last = UNIX_EPOCH + Duration::from_secs(YEAR_10000 - 1);
        assert_eq!(started(last).unwrap(), "9999-12-31T23:59:59Z");
        for wrong in [UNIX_EPOCH - Duration::from_secs(1), last + Duration::from_secs(1)] {
            let refused = started(wrong).unwrap_err().to_string();
            assert!(refused.contains("set it to the present"), "{refused}");
        }
    }
}
