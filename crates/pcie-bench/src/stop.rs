//! The stop request of a run: set once, polled by everything that takes time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A request to stop, shared by all threads that must heed it. It cannot be withdrawn.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    requested: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    /// Requests the stop.
    pub fn request(&self) {
        *self.shared.requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.changed.notify_all();
    }

    /// Whether the stop was requested.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.shared.requested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for the request, at most for `limit`; returns whether it came. Devices wait with it.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> bool {
        let requested = self.shared.requested.lock().unwrap_or_else(PoisonError::into_inner);
        let (requested, _) = self
            .shared
            .changed
            .wait_timeout_while(requested, limit, |requested| !*requested)
            .unwrap_or_else(PoisonError::into_inner);
        *requested
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn request_wakes_waiting_threads() {
        let stop = Stop::default();
        assert!(!stop.wait(Duration::from_millis(1)) && !stop.is_requested());
        let other = stop.clone();
        // Without the wake-up, the thread would wait for years.
        let waiting = std::thread::spawn(move || other.wait(Duration::from_secs(u32::MAX.into())));
        stop.request();
        assert!(waiting.join().is_ok_and(|requested| requested));
        assert!(stop.is_requested());
    }
}
