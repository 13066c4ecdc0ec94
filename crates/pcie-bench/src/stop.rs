//! The stop request of a run: set once, polled by everything that takes time.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Interval at which a waiting thread asks whoever may request the stop.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A request to stop, shared by all threads that must heed it. It cannot be withdrawn.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    requested: Mutex<bool>,
    changed: Condvar,
    /// Whether the stop is requested by something that must be asked, for example a signal.
    asks: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl fmt::Debug for Shared {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("Shared").field("requested", &self.requested).finish_non_exhaustive()
    }
}

impl Stop {
    /// A stop that `asks` requests, too, by returning true: whoever polls the stop calls it.
    #[must_use]
    pub fn asking(asks: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { shared: Arc::new(Shared { asks: Some(Box::new(asks)), ..Shared::default() }) }
    }

    /// Requests the stop.
    pub fn request(&self) {
        *self.shared.requested.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.shared.changed.notify_all();
    }

    /// Whether the stop was requested.
    #[must_use]
    pub fn is_requested(&self) -> bool {
        if *self.shared.requested.lock().unwrap_or_else(PoisonError::into_inner) {
            return true;
        }
        let is_asked_for = self.shared.asks.as_ref().is_some_and(|asks| asks());
        if is_asked_for {
            self.request();
        }
        is_asked_for
    }

    /// Waits for the request, at most for `limit`; returns whether it came. Devices wait with it.
    #[must_use]
    pub fn wait(&self, limit: Duration) -> bool {
        if self.shared.asks.is_none() {
            return self.notified_within(limit);
        }
        let started = Instant::now();
        loop {
            let left = limit.saturating_sub(started.elapsed());
            if self.notified_within(left.min(ASK_EVERY)) || self.is_requested() {
                return true;
            }
            if left <= ASK_EVERY {
                return false;
            }
        }
    }

    fn notified_within(&self, limit: Duration) -> bool {
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
    use std::sync::atomic::{AtomicU32, Ordering};

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

    #[test]
    fn whoever_polls_asks_for_the_request() {
        let asked = Arc::new(AtomicU32::new(0));
        let count = Arc::clone(&asked);
        let stop = Stop::asking(move || count.fetch_add(1, Ordering::Relaxed) == 2);
        assert!(!stop.is_requested() && !stop.is_requested());
        // Without asking, it would wait for years.
        assert!(stop.wait(Duration::from_secs(u32::MAX.into())));
        assert!(stop.clone().is_requested());
        assert_eq!(asked.load(Ordering::Relaxed), 3, "a request is not asked for again");
    }
}
