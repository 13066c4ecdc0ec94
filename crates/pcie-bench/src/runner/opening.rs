//! The start of a run: opens the first worker, adds its identity to the manifest, and creates or resumes the
//! store.

use super::events::Event;
use super::identity;
use super::job::{Ending, Job, Share};
use super::options::{Options, Progress, TICK};
use super::recorder::Entry;
use crate::backend::OpenError;
use crate::error::RunError;
use crate::facts::Condition;
use crate::pulse::Pulse;
use crate::stop::Stop;
use crate::work::{Asked, Work};
use pcie_refusal::Refusal;
use pcie_store::{Manifest, Store};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};

/// The parts of a run that is about to start.
pub(super) struct Opened {
    pub(super) first: FirstJob,
    pub(super) store: Store,
    pub(super) tests: Arc<[Asked]>,
    /// Positions of the tests that this run passes over.
    pub(super) finished: BTreeSet<u64>,
    /// Name of the device in messages.
    pub(super) device: String,
    pub(super) events: Receiver<Event>,
    pub(super) sender: Sender<Event>,
}

/// The job whose worker was opened first, waiting for its share. It ends when this is dropped.
pub(super) struct FirstJob {
    pub(super) pulse: Pulse,
    orders: Sender<(Arc<Share>, SyncSender<Entry>)>,
}

impl FirstJob {
    /// Starts the job's work.
    pub(super) fn go_on(self, share: Arc<Share>, results: SyncSender<Entry>) {
        // A job that has ended has sent an event.
        let _ = self.orders.send((share, results));
    }
}

/// Identity and conditions from the first worker.
struct Introduction {
    identity: Map<String, Value>,
    conditions: Vec<Condition>,
}

/// Opens the first worker and the store.
pub(super) fn open(
    work: &Arc<dyn Work>,
    options: Options,
    path: &Path,
    manifest: Manifest,
    stop: &Stop,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Opened, RunError> {
    if options.jobs > work.jobs_most() {
        let kind =
            work.manifest().get("backend").and_then(|backend| backend["kind"].as_str()).map(str::to_owned);
        let kind = kind.unwrap_or_else(|| "this device".to_owned());
        let most = work.jobs_most();
        let refusal = Refusal::of("jobs", options.jobs, format!("give {most} or fewer"));
        return Err(refusal.problem(format!("{kind} carries out {most} at a time")).into());
    }
    let tests = work.tests()?;
    let (sender, events) = mpsc::channel();
    let (first, introductions) = start_first(Arc::clone(work), stop.clone(), sender.clone());
    let state = Progress { done: 0, total: tests.len(), last: None };
    let introduced = wait(&introductions, &state, stop, progress)?;
    let manifest = complete(manifest, &**work, &tests, &introduced)?;
    let only = options.only.clone();
    let stores = start_store(path, manifest, options, work.attachments(), introduced.conditions);
    let (store, mut finished) = wait(&stores, &state, stop, progress)?;
    if let Some(only) = only {
        finished.extend((0..tests.len() as u64).filter(|position| !only.contains(position)));
    }
    let named = introduced.identity.get("device").and_then(|device| device["name"].as_str());
    let device = named.unwrap_or("the device").to_owned();
    Ok(Opened { first, store, tests, finished, device, events, sender })
}

fn start_first(
    work: Arc<dyn Work>,
    stop: Stop,
    events: Sender<Event>,
) -> (FirstJob, Receiver<Result<Introduction, RunError>>) {
    let (introductions, introduced) = mpsc::channel();
    let (orders, ordered) = mpsc::channel::<(Arc<Share>, SyncSender<Entry>)>();
    let pulse = Pulse::default();
    let job = Job { stop, pulse: pulse.clone(), events };
    std::thread::spawn(move || {
        let _ending = Ending(job.events.clone());
        let mut worker = match work.open() {
            Ok(worker) => worker,
            Err(error) => return drop(introductions.send(Err(error.into()))),
        };
        let introduction = Introduction { identity: worker.identity(), conditions: worker.conditions() };
        // The receiver is gone if the run was refused in the meantime.
        if introductions.send(Ok(introduction)).is_err() {
            return;
        }
        let Ok((share, results)) = ordered.recv() else { return };
        if job.work(&mut *worker, &share, &results).is_some() {
            let after = worker.conditions();
            if !after.is_empty() {
                let _ = results.send(Entry::After(after));
            }
        }
    });
    (FirstJob { pulse, orders }, introduced)
}

/// Waits for the result of another thread; abandons that thread if the run is stopped.
fn wait<T>(
    made: &Receiver<Result<T, RunError>>,
    state: &Progress,
    stop: &Stop,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<T, RunError> {
    loop {
        match made.recv_timeout(TICK) {
            Ok(made) => return made,
            Err(RecvTimeoutError::Disconnected) => {
                let reason = "internal error: opening it panicked".to_owned();
                return Err(OpenError::Failed(reason).into());
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if progress(state).is_break() {
            stop.request();
            return Err(RunError::Interrupted { done: 0, total: state.total });
        }
    }
}

fn complete(
    mut manifest: Manifest,
    work: &dyn Work,
    tests: &[Asked],
    introduced: &Introduction,
) -> Result<Manifest, RunError> {
    manifest.set("suite", work.suite());
    manifest.set("suite_digest", identity::digest(tests)?);
    manifest.set("tests", tests.len());
    for (key, value) in work.manifest().iter().chain(&introduced.identity) {
        manifest.set(key, value.clone());
    }
    Ok(manifest)
}

/// Opens the store in its own thread, so that a slow or locked file does not delay a stop.
fn start_store(
    path: &Path,
    manifest: Manifest,
    options: Options,
    attachments: Vec<(String, String)>,
    conditions: Vec<Condition>,
) -> Receiver<Result<(Store, BTreeSet<u64>), RunError>> {
    let (sender, stores) = mpsc::channel();
    let path = path.to_owned();
    std::thread::spawn(move || {
        let opened = open_store(&path, manifest, options, &attachments, &conditions);
        // The receiver is gone if the run was stopped.
        let _ = sender.send(opened);
    });
    stores
}

fn open_store(
    path: &Path,
    mut manifest: Manifest,
    options: Options,
    attachments: &[(String, String)],
    conditions: &[Condition],
) -> Result<(Store, BTreeSet<u64>), RunError> {
    let (mut store, finished) = if options.resume && path.exists() {
        if options.repeat_damaged {
            // Check first: nothing is dropped from a store of another run.
            identity::check(path, &pcie_store::read_manifest(path)?, &manifest)?;
            Store::drop_damaged(path)?;
        }
        let resumed = Store::open_for_resume(path)?;
        identity::check(path, &resumed.manifest, &manifest)?;
        (resumed.store, resumed.finished)
    } else {
        if !conditions.is_empty() {
            manifest.set("conditions_before", json!(conditions));
        }
        (Store::create(path, &manifest, options.overwrite)?, BTreeSet::new())
    };
    for (name, content) in attachments {
        match store.attach(name, content) {
            // A run killed here may have attached some of them.
            Err(pcie_store::Error::AttachmentExists { .. }) => (),
            attached => attached?,
        }
    }
    Ok((store, finished))
}
