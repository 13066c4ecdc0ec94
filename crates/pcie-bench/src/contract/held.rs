//! Resources of the process that a back end might leak.

use std::thread;
use std::time::{Duration, Instant};

/// Time that leftovers get to disappear: Linux may still list a thread just after it was joined.
const PATIENCE: Duration = Duration::from_secs(1);

/// Counts that must not grow; none where the system does not report them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    files: Option<usize>,
    threads: Option<usize>,
    huge_pages_kib: Option<u64>,
}

impl Held {
    /// The current counts.
    pub(super) fn now() -> Self {
        let entries = |path: &str| std::fs::read_dir(path).ok().map(Iterator::count);
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("HugetlbPages:"));
        let huge_pages_kib = line.and_then(|text| text.trim().trim_end_matches(" kB").parse().ok());
        Self { files: entries("/proc/self/fd"), threads: entries("/proc/self/task"), huge_pages_kib }
    }

    /// The counts that still exceed these after [`PATIENCE`], in words.
    pub(super) fn left_behind(&self) -> Vec<String> {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = self.grown(&Self::now());
            if left.is_empty() || Instant::now() >= until {
                return left;
            }
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// The counts of `after` that exceed these, in words.
    fn grown(&self, after: &Self) -> Vec<String> {
        let mut left = Vec::new();
        let mut more = |what: &str, before: Option<u64>, after: Option<u64>| {
            if let (Some(before), Some(after)) = (before, after)
                && after > before
            {
                left.push(format!("{} {what} left behind", after - before));
            }
        };
        let count = |number: Option<usize>| number.map(|number| number as u64);
        more("open files", count(self.files), count(after.files));
        more("threads", count(self.threads), count(after.threads));
        more("KiB of huge pages", self.huge_pages_kib, after.huge_pages_kib);
        left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(files: usize, threads: usize, huge_pages_kib: u64) -> Held {
        Held { files: Some(files), threads: Some(threads), huge_pages_kib: Some(huge_pages_kib) }
    }

    #[test]
    fn what_grew_is_named_and_what_shrank_is_not() {
        let left = held(3, 2, 0).grown(&held(5, 1, 2048));
        assert_eq!(left, ["2 open files left behind", "2048 KiB of huge pages left behind"]);
    }
}
