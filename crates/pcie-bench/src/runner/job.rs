//! A job: a thread with its own worker, which shares a suite with other jobs.

use super::events::Event;
use super::recorder::Entry;
use crate::device::DeviceError;
use crate::outcome::Outcome;
use crate::pulse::Pulse;
use crate::stop::Stop;
use crate::work::{Work, Worker};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Sender, SyncSender};

/// The finished tests and the next one, shared by all jobs.
#[derive(Debug)]
pub(super) struct Share {
    finished: BTreeSet<u64>,
    total: usize,
    next: AtomicUsize,
}

impl Share {
    pub(super) fn new(finished: BTreeSet<u64>, total: usize) -> Self {
        Self { finished, total, next: AtomicUsize::new(0) }
    }

    /// Claims the next unfinished test.
    fn take(&self) -> usize {
        loop {
            let position = self.next.fetch_add(1, Ordering::Relaxed);
            if !self.finished.contains(&(position as u64)) {
                return position;
            }
        }
    }
}

/// A job that has not started.
pub(super) struct Job {
    pub(super) stop: Stop,
    pub(super) pulse: Pulse,
    pub(super) events: Sender<Event>,
}

/// Reports the end of a job, also after a panic.
pub(super) struct Ending(pub(super) Sender<Event>);

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let reason = "internal error: its worker panicked".to_owned();
            let _ = self.0.send(Event::Lost { position: None, reason });
        }
        let _ = self.0.send(Event::JobEnded);
    }
}

impl Job {
    /// Opens a worker in a new thread and works.
    pub(super) fn start(self, work: Arc<dyn Work>, share: Arc<Share>, results: SyncSender<Entry>) {
        std::thread::spawn(move || {
            let _ending = Ending(self.events.clone());
            match work.open() {
                Ok(mut worker) => drop(self.work(&mut *worker, &share, &results)),
                Err(error) => drop(self.events.send(Event::NotOpened(error))),
            }
        });
    }

    /// Goes through the suite; `None` if the run ended before.
    pub(super) fn work(
        &self,
        worker: &mut dyn Worker,
        share: &Share,
        results: &SyncSender<Entry>,
    ) -> Option<()> {
        let mut mine = share.take();
        for position in 0..share.total {
            if mine >= share.total {
                break;
            }
            if self.stop.is_requested() {
                return None;
            }
            if position == mine {
                mine = share.take();
                self.carry_out(worker, position, results)?;
            } else if worker.is_stateful() {
                worker.replay_state(position, &self.stop);
            }
        }
        Some(())
    }

    fn carry_out(&self, worker: &mut dyn Worker, position: usize, results: &SyncSender<Entry>) -> Option<()> {
        self.pulse.await_life(position, worker.deadline());
        let result = worker.carry_out(position, &self.stop, &self.pulse);
        let recovered = match &result {
            Err(DeviceError::Failed(_)) => worker.recover(),
            _ => Ok(()),
        };
        self.pulse.rest();
        let lost = match (&result, recovered) {
            (Err(DeviceError::Lost(reason)), _) => Some(reason.clone()),
            (_, Err(error)) => Some(error.to_string()),
            _ => None,
        };
        let outcome = result.unwrap_or_else(Outcome::from);
        let trace = worker.take_trace();
        results.send(Entry::Test { position, outcome, trace }).ok()?;
        if let Some(reason) = lost {
            self.events.send(Event::Lost { position: Some(position), reason }).ok()?;
            return None;
        }
        Some(())
    }
}
