//! The word that a run is to end: set once by whoever wants it, looked at by everything that takes time.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// A request to stop, shared by all that must heed it. Once made it is never taken back.
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
    /// Asks everything that looks at this to end.
    pub fn request(&self) {
        *self.shared.requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.changed.notify_all();
    }

    /// Whether it was asked for.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        *self.shared.requested.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until it is asked for, `limit` at most; whether it was. What a device waits with, where it has to.
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
    use std::time::Instant;

    #[test]
    fn who_waits_is_woken_by_the_request_and_not_by_the_limit() {
        let stop = Stop::default();
        assert!(!stop.wait(Duration::from_millis(1)) && !stop.is_requested());
        let other = stop.clone();
        let started = Instant::now();
        let waiting = std::thread::spawn(move || other.wait(Duration::from_secs(60)));
        stop.request();
        assert!(waiting.join().is_ok_and(|requested| requested));
        assert!(started.elapsed() < Duration::from_secs(30) && stop.is_requested());
    }
}
