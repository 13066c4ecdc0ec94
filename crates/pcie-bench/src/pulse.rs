//! When a worker last showed life.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The pulse of a worker: it is awaited while a test is carried out, and overdue once it has been missing for longer than
/// the worker's deadline.
#[derive(Clone, Debug, Default)]
pub struct Pulse {
    awaited: Arc<Mutex<Option<Awaited>>>,
}

#[derive(Clone, Copy, Debug)]
struct Awaited {
    position: usize,
    deadline: Duration,
    last: Instant,
}

impl Pulse {
    /// Shows life.
    pub fn beat(&self) {
        if let Some(awaited) = &mut *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) {
            awaited.last = Instant::now();
        }
    }

    /// From now on life is expected, of the test at `position`, if there is a deadline.
    pub(crate) fn await_life(&self, position: usize, deadline: Option<Duration>) {
        let awaited = deadline.map(|deadline| Awaited { position, deadline, last: Instant::now() });
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = awaited;
    }

    /// Nothing is expected any more.
    pub(crate) fn rest(&self) {
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The test that is silent for longer than it may be, and for how long.
    pub(crate) fn overdue(&self) -> Option<(usize, Duration)> {
        let awaited = (*self.awaited.lock().unwrap_or_else(PoisonError::into_inner))?;
        let silent = awaited.last.elapsed();
        (silent > awaited.deadline).then_some((awaited.position, silent))
    }
}
