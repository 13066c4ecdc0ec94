//! The thread that owns the store and writes the jobs' results.

use super::events::Event;
use crate::facts::Condition;
use crate::outcome::Outcome;
use crate::stop::Stop;
use crate::work::Asked;
use pcie_store::Store;
use pcie_trace::Segment;
use serde_json::json;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::time::Duration;

/// Interval of checks for the request to finish.
const TICK: Duration = Duration::from_millis(20);

/// An entry for the store.
pub(super) enum Entry {
    /// The outcome of a test.
    Test { position: usize, outcome: Outcome, trace: Vec<Segment> },
    /// The conditions at the end of the run.
    After(Vec<Condition>),
}

struct Recorder {
    store: Store,
    tests: Arc<[Asked]>,
    entries: Receiver<Entry>,
    finish: Stop,
    events: Sender<Event>,
}

/// Starts the recorder and returns its channel, which holds one result for each job.
pub(super) fn start(
    store: Store,
    tests: Arc<[Asked]>,
    jobs: usize,
    stop: Stop,
    finish: Stop,
    events: Sender<Event>,
) -> SyncSender<Entry> {
    let (sender, entries) = mpsc::sync_channel(jobs);
    let recorder = Recorder { store, tests, entries, finish, events: events.clone() };
    std::thread::spawn(move || {
        let result = recorder.record(&stop);
        // The receiver is gone if the run was given up.
        let _ = events.send(Event::RecorderEnded(result));
    });
    sender
}

impl Recorder {
    /// Writes entries until the channel ends or a write fails, then closes the store.
    fn record(mut self, stop: &Stop) -> Result<(), pcie_store::Error> {
        while let Some(entry) = self.next() {
            if let Err(error) = self.write(entry) {
                stop.request();
                let _ = self.events.send(Event::NotStored(error));
                break;
            }
        }
        // Wakes jobs that wait to send.
        drop(self.entries);
        self.store.close()
    }

    fn next(&self) -> Option<Entry> {
        loop {
            match self.entries.recv_timeout(TICK) {
                Ok(entry) => return Some(entry),
                Err(RecvTimeoutError::Disconnected) => return None,
                Err(RecvTimeoutError::Timeout) if self.finish.is_requested() => return None,
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    fn write(&mut self, entry: Entry) -> Result<(), pcie_store::Error> {
        match entry {
            Entry::After(conditions) => self.store.set_manifest("conditions_after", &json!(conditions)),
            Entry::Test { position, outcome, trace } => {
                let status = outcome.status;
                self.store.write_test(&outcome.record(position, &self.tests[position], trace))?;
                let _ = self.events.send(Event::Stored { position, status });
                Ok(())
            }
        }
    }
}
