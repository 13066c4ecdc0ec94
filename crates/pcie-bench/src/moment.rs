//! Elapsed time without waits for a processor, so that a busy machine does not look like a slow device.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, DirEntry};
use std::time::{Duration, Instant};

/// A moment, and how long each thread of this process and its children had waited for a processor until then.
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
    /// Waits add up, because threads may wait one after another; a child may emulate the device. Only Linux
    /// reports them.
    pub(crate) fn since(&self, earlier: &Self) -> Duration {
        let waited_ns = self.waited_ns.iter().map(|(thread, waited)| {
            waited.saturating_sub(earlier.waited_ns.get(thread).copied().unwrap_or_default())
        });
        self.at.saturating_duration_since(earlier.at).saturating_sub(Duration::from_nanos(waited_ns.sum()))
    }
}

/// Waits of the threads of this process and its children, by number.
fn waited_ns() -> Option<BTreeMap<OsString, u64>> {
    let mut found = BTreeMap::new();
    for thread in fs::read_dir("/proc/self/task").ok()?.flatten() {
        found.extend(wait_ns(&thread));
        // Kernel: Documentation/filesystems/proc.rst, section 3.6.
        let children = fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        for child in children.split_whitespace() {
            let threads = fs::read_dir(format!("/proc/{child}/task")).into_iter().flatten().flatten();
            found.extend(threads.filter_map(|thread| wait_ns(&thread)));
        }
    }
    Some(found)
}

/// Number and wait of a thread, none if it has ended: second field of schedstat (kernel:
/// Documentation/scheduler/sched-stats.rst).
fn wait_ns(thread: &DirEntry) -> Option<(OsString, u64)> {
    let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
    Some((thread.file_name(), text.split_whitespace().nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::sync::Mutex;

    /// Waits count over the process, so only one of these tests at a time may make any.
    static ALONE: Mutex<()> = Mutex::new(());

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
        let _alone = ALONE.lock();
        let time = Duration::from_millis(200);
        let processors = std::thread::available_parallelism().map_or(1, Into::into);
        let (own, whole) = busy(processors * 4, time);
        assert!(own < whole / 2, "{own:?} of {whole:?}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn waits_of_children_for_a_processor_do_not_count() {
        let _alone = ALONE.lock();
        let processors = std::thread::available_parallelism().map_or(1, Into::into);
        let children: Vec<_> = (0..processors * 4)
            .map(|_| Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap())
            .collect();
        let (earlier, started) = (Moment::now(), Instant::now());
        std::thread::sleep(Duration::from_millis(300));
        let (own, whole) = (Moment::now().since(&earlier), started.elapsed());
        for mut child in children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        assert!(own < whole / 2, "{own:?} of {whole:?}");
    }

    #[test]
    fn only_waits_between_the_moments_are_taken_off() {
        let at = Instant::now();
        let waited = |ns: &[(&str, u64)]| ns.iter().map(|&(thread, ns)| (thread.into(), ns)).collect();
        let earlier = Moment { at, waited_ns: waited(&[("1", 500), ("2", 70), ("ended", 9)]) };
        let later = |waited_ns| Moment { at: at + Duration::from_nanos(1_000), waited_ns };
        let since = |ns: &[(&str, u64)]| later(waited(ns)).since(&earlier).as_nanos();
        assert_eq!(since(&[("1", 500), ("2", 70)]), 1_000, "sleeping counts");
        assert_eq!(since(&[("1", 600), ("2", 100), ("begun", 20)]), 850);
        assert_eq!(since(&[("1", 9_000)]), 0, "waits of several threads add up");
    }
}
