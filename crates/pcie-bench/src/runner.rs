//! The runner: carries out the tests of a suite, one by one, and stores their results.
//!
//! Each job has its own worker. It goes through the whole suite, carries out its share of the tests and
//! replays the others, so that each test finds the state that all earlier ones left. The store has its own
//! thread. A run ends in time without a job or store that does not heed a stop.

mod events;
mod identity;
mod job;
mod opening;
mod options;
mod recorder;

pub use options::{Options, Progress};

use crate::error::RunError;
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

/// Time for jobs to end after a stop, before the store is closed without them.
const JOBS_GRACE: Duration = Duration::from_millis(500);
/// Additional time for the store, before the run ends without it.
const STORE_GRACE: Duration = Duration::from_millis(400);
// What `run` promises, with a tick between its looks.
const _: () = assert!(JOBS_GRACE.as_millis() + STORE_GRACE.as_millis() + TICK.as_millis() <= 1000);

/// Carries out `work` into the store at `path`.
///
/// `manifest` describes the run; the runner adds the entries of the work and its workers. It calls `progress`
/// after each test, and every tenth of a second. Breaking off there stops the run within a second, whatever
/// device and store do, and leaves a store that can be resumed. A device that overruns its deadline ends the
/// run, too.
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
    let result = opening::open(&work, options.clone(), path, manifest, &stop, progress)
        .and_then(|opened| Run::start(work, options, opened, &stop).finish(progress));
    // Wakes threads that still wait for the run.
    stop.request();
    result
}

/// A run in progress.
struct Run {
    work: Arc<dyn Work>,
    device: String,
    stop: Stop,
    /// Request to close the store without the jobs that are still at work.
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
    /// Starts the jobs and the recorder.
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

    /// Supervises the run until everything has ended or was given up.
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
                let (device, at) = (self.device.clone(), self.test_name(position));
                self.fail(RunError::Lost { device, at, reason });
            }
            Event::JobEnded => {
                self.jobs_at_work -= 1;
                // No more results can come: the store is closed without waiting for the channel.
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

    /// Gives up a device that overran its deadline. After a stop, [`Self::is_given_up`] limits the wait.
    fn look_at_deadlines(&mut self) {
        if self.stopping_since.is_some() {
            return;
        }
        if let Some((position, silent)) = self.pulses.iter().find_map(Pulse::overdue) {
            let (device, at) = (self.device.clone(), self.test_name(Some(position)));
            self.fail(RunError::Silent { device, at, seconds: silent.as_secs_f64() });
        }
    }

    /// Whether the time after a stop is over. Closes the store without the jobs in between.
    fn is_given_up(&self) -> bool {
        let Some(since) = self.stopping_since else { return false };
        if since.elapsed() > JOBS_GRACE {
            self.finish.request();
            // A job that does not end gets no more time once the store is closed.
            return !self.recorder_at_work || since.elapsed() > JOBS_GRACE + STORE_GRACE;
        }
        false
    }

    /// Reports the first failure.
    fn fail(&mut self, error: RunError) {
        self.failure.get_or_insert(error);
        self.stop_now();
    }

    fn stop_now(&mut self) {
        self.stop.request();
        self.stopping_since.get_or_insert_with(Instant::now);
    }

    /// ` in FAMILY NAME of suite SUITE`, for messages.
    fn test_name(&self, position: Option<usize>) -> String {
        let named = position.and_then(|position| self.names.get(position));
        named.map_or_else(String::new, |(family, name)| {
            format!(" in {family} {name} of suite {}", self.work.suite())
        })
    }
}

#[cfg(test)]
mod tests;
