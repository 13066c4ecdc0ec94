//! Detection of silent workers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The pulse of a worker: expected during a test, and overdue after the worker's deadline.
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

#[cfg_attr(target_family = "wasm", expect(dead_code, reason = "only the runner expects beats"))]
impl Pulse {
    /// Records a sign of life.
    pub fn beat(&self) {
        if let Some(awaited) = &mut *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) {
            awaited.last = Instant::now();
        }
    }

    /// Expects a beat within `deadline` from now on, for the test at `position`.
    pub(crate) fn await_life(&self, position: usize, deadline: Option<Duration>) {
        let awaited = deadline.map(|deadline| Awaited { position, deadline, last: Instant::now() });
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = awaited;
    }

    /// Expects no more beats.
    pub(crate) fn rest(&self) {
        *self.awaited.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The position of an overdue test, and the length of its silence.
    pub(crate) fn overdue(&self) -> Option<(usize, Duration)> {
        let awaited = (*self.awaited.lock().unwrap_or_else(PoisonError::into_inner))?;
        let silent = awaited.last.elapsed();
        (silent > awaited.deadline).then_some((awaited.position, silent))
    }
}
