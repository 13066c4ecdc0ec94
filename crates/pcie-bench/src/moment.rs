//! Elapsed time without waits for a processor, so that a busy machine does not look like a slow device.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::time::{Duration, Instant};

/// A moment, and how long each thread of this process had waited for a processor until then.
pub(crate) struct Moment {
    at: Instant,
    waited_ns: BTreeMap<OsString, u64>,
}

impl Moment {
    pub(crate) fn now() -> Self {
        Self { at: Instant::now(), waited_ns: waited_ns().unwrap_or_default() }
    }

    /// Time since `earlier`, less the waits of living threads for a processor in between.
    ///
    /// Waits add up, because threads may wait one after another. Only Linux reports them.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        let waited_ns = self.waited_ns.iter().map(|(thread, waited)| {
            waited.saturating_sub(earlier.waited_ns.get(thread).copied().unwrap_or_default())
        });
        self.at.saturating_duration_since(earlier.at).saturating_sub(Duration::from_nanos(waited_ns.sum()))
    }
}

/// Waits of the threads by number: second field of schedstat (kernel:
/// Documentation/scheduler/sched-stats.rst).
fn waited_ns() -> Option<BTreeMap<OsString, u64>> {
    let mut found = BTreeMap::new();
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        // The thread may have ended.
        let text = fs::read_to_string(thread.path().join("schedstat")).unwrap_or_default();
        if let Some(waited) = text.split_whitespace().nth(1).and_then(|waited| waited.parse().ok()) {
            found.insert(thread.file_name(), waited);
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Own and wall time of threads that are each busy for `time`.
    fn busy(threads: usize, time: Duration) -> (Duration, Duration) {
        let (earlier, started) = (Moment::now(), Instant::now());
        std::thread::scope(|scope| {
            let mut ends = Vec::new();
            for _ in 0..threads {
                let (sender, receiver) = std::sync::mpsc::channel::<()>();
                scope.spawn(move || {
                    while started.elapsed() < time {}
                    // The thread lives until its wait was read.
                    receiver.recv()
                });
                ends.push(sender);
            }
            while started.elapsed() < time {
                std::thread::sleep(Duration::from_millis(1));
            }
            (Moment::now().since(&earlier), started.elapsed())
        })
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn waits_for_a_processor_do_not_count() {
        let time = Duration::from_millis(200);
        let processors = std::thread::available_parallelism().map_or(1, Into::into);
        let (own, whole) = busy(processors * 4, time);
        assert!(own < whole / 2, "{own:?} of {whole:?}");
    }

    #[test]
    fn sleeping_counts() {
        let earlier = Moment::now();
        std::thread::sleep(Duration::from_millis(300));
        let own = Moment::now().since(&earlier);
        assert!(own > Duration::from_millis(100), "{own:?}");
    }
}
