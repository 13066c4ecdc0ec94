//! The runner: takes the tests of a suite, one by one, through what carries them out into a store.
//!
//! Every job has a worker of its own and goes through the whole suite, carrying out its share of the tests and passing over
//! the others, so that each test finds the state that the ones before it left, whoever carried them out. The store has a
//! thread of its own too. Neither can hold up the run: what does not end in time after it was told to stop is left behind.

mod alone;
mod error;
mod events;
mod identity;
mod job;
mod opening;
mod options;
mod recorder;

pub use alone::run_alone;
pub use error::RunError;
pub use options::{Options, Progress};

use crate::pulse::Pulse;
use crate::stop::Stop;
use crate::work::Work;
use events::Event;
use job::{Job, Share};
use opening::Opened;
use options::TICK;
use pcie_store::{Manifest, Status};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// What jobs have, once told to stop, before the store is closed without them.
const JOBS_GRACE: Duration = Duration::from_millis(500);
/// What the store has after that before the run is given up without it.
const STORE_GRACE: Duration = Duration::from_millis(400);

/// Carries out `work` into the store at `path`.
///
/// `manifest` says what is run on what; the runner adds what the work and its workers say of themselves. `progress` is
/// called after every test, and every tenth of a second; breaking off stops the run and leaves a store that can be gone on
/// with. It returns within a second of that, and soon after a device overran its deadline, whatever device and store do.
///
/// # Errors
/// See [`RunError`]. A test that fails is not an error: it is recorded as failed.
pub fn run(
    work: Arc<dyn Work>,
    options: Options,
    path: &Path,
    manifest: Manifest,
    progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<(), RunError> {
    let stop = Stop::default();
    let result = opening::open(&work, options, path, manifest, &stop, progress)
        .and_then(|opened| Run::start(work, options, opened, &stop).finish(progress));
    // Whatever waits for a run that has ended need not wait any longer.
    stop.request();
    result
}

/// A run that is going on.
struct Run {
    work: Arc<dyn Work>,
    device: String,
    stop: Stop,
    /// Asked for when the store is to be closed without the jobs that are still at work.
    finish: Stop,
    events: Receiver<Event>,
    pulses: Vec<Pulse>,
    names: Vec<(String, String)>,
    jobs_at_work: usize,
    recorder_at_work: bool,
    state: Progress,
    failure: Option<RunError>,
    stopping_since: Option<Instant>,
}

impl Run {
    /// Sets the jobs and the recorder to work.
    fn start(work: Arc<dyn Work>, options: Options, opened: Opened, stop: &Stop) -> Self {
        let Opened { first, store, tests, finished, device, events, sender } = opened;
        let total = tests.len();
        let names = tests.iter().map(|test| (test.family.clone(), test.name.clone())).collect();
        let state = Progress { done: finished.len(), total, last: None };
        let finish = Stop::default();
        let jobs = options.jobs.clamp(1, total.max(1));
        let results = recorder::start(store, tests, jobs, stop.clone(), finish.clone(), sender.clone());
        let share = Arc::new(Share::new(finished, total));
        let mut pulses = vec![first.pulse.clone()];
        first.go_on(Arc::clone(&share), results.clone());
        for _ in 1..jobs {
            let pulse = Pulse::default();
            pulses.push(pulse.clone());
            let job = Job { stop: stop.clone(), pulse, events: sender.clone() };
            job.start(Arc::clone(&work), Arc::clone(&share), results.clone());
        }
        Self {
            work,
            device,
            stop: stop.clone(),
            finish,
            events,
            pulses,
            names,
            jobs_at_work: jobs,
            recorder_at_work: true,
            state,
            failure: None,
            stopping_since: None,
        }
    }

    /// Looks after the run until everything has ended or was given up.
    fn finish(mut self, progress: &mut dyn FnMut(&Progress) -> ControlFlow<()>) -> Result<(), RunError> {
        while self.jobs_at_work > 0 || self.recorder_at_work {
            match self.events.recv_timeout(TICK) {
                Ok(event) => self.take(event),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            if progress(&self.state).is_break() {
                self.stop_now();
            }
            self.look_at_deadlines();
            if self.is_given_up() {
                break;
            }
        }
        let Progress { done, total, .. } = self.state;
        match self.failure {
            Some(error) => Err(error),
            None if done < total => Err(RunError::Interrupted { done, total }),
            None => Ok(()),
        }
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Stored { position, status } => {
                if status != Status::Interrupted {
                    self.state.done += 1;
                }
                self.state.last = self.names.get(position).cloned();
            }
            Event::NotOpened(error) => self.fail(error.into()),
            Event::NotStored(error) => self.fail(error.into()),
            Event::Lost { position, reason } => {
                let (device, at) = (self.device.clone(), self.place(position));
                self.fail(RunError::Lost { device, at, reason });
            }
            Event::JobEnded => {
                self.jobs_at_work -= 1;
                // Nothing more can come: the store is closed without waiting for a channel to be.
                if self.jobs_at_work == 0 {
                    self.finish.request();
                }
            }
            Event::RecorderEnded(result) => {
                self.recorder_at_work = false;
                if let Err(error) = result {
                    self.fail(error.into());
                }
            }
        }
    }

    /// Gives up a device that overran its deadline. One that was told to stop is not waited for in any case.
    fn look_at_deadlines(&mut self) {
        if self.stopping_since.is_some() {
            return;
        }
        if let Some((position, silent)) = self.pulses.iter().find_map(Pulse::overdue) {
            let (device, at) = (self.device.clone(), self.place(Some(position)));
            self.fail(RunError::Silent { device, at, seconds: silent.as_secs_f64() });
        }
    }

    /// Whether what is still at work has had its time. Closes the store without the jobs on the way.
    fn is_given_up(&self) -> bool {
        let Some(since) = self.stopping_since else { return false };
        if since.elapsed() > JOBS_GRACE {
            self.finish.request();
            // A job that will not end needs no more time than the store does to be closed without it.
            return !self.recorder_at_work || since.elapsed() > JOBS_GRACE + STORE_GRACE;
        }
        false
    }

    /// The first thing that went wrong is what is told.
    fn fail(&mut self, error: RunError) {
        self.failure.get_or_insert(error);
        self.stop_now();
    }

    fn stop_now(&mut self) {
        self.stop.request();
        self.stopping_since.get_or_insert_with(Instant::now);
    }

    fn place(&self, position: Option<usize>) -> String {
        let named = position.and_then(|position| self.names.get(position));
        named.map_or_else(String::new, |(family, name)| {
            format!(" in {family} {name} of suite {}", self.work.suite())
        })
    }
}

#[cfg(test)]
mod tests;
