//! Slices during which the kernel ran another program on the core.
//!
//! A preempted slice contains the other program's time, so it is measured again where that is possible. The
//! kernel counts the involuntary context switches of a thread (`getrusage`, `RUSAGE_THREAD`). It does not count
//! the time that interrupts take, nor that of other guests on a virtual machine's core.

use crate::kernel::involuntary_switches;
use pcie_bench::{Condition, Stop};

/// Most measurements of a slice. A core that is shared evenly with one busy program preempts a slice of a few
/// milliseconds about every second time.
const ATTEMPTS_MOST: u32 = 16;

/// The preempted slices of a test.
#[derive(Clone, Debug)]
pub(crate) struct Preemption {
    /// Involuntary switches of this thread so far; none where the kernel does not count them.
    switches: fn() -> Option<u64>,
    slices: u64,
    dropped: u64,
    kept: u64,
}

impl Default for Preemption {
    fn default() -> Self {
        Self::counted_by(involuntary_switches)
    }
}

impl Preemption {
    fn counted_by(switches: fn() -> Option<u64>) -> Self {
        Self { switches, slices: 0, dropped: 0, kept: 0 }
    }

    /// A slice's result. Measures a preempted slice again, up to [`ATTEMPTS_MOST`] times, if it is `repeatable`:
    /// the cache states that it meets are the same again.
    pub(crate) fn slice<R>(&mut self, repeatable: bool, stop: &Stop, mut measure: impl FnMut() -> R) -> R {
        self.slices += 1;
        let mut attempts = 0;
        loop {
            let before = (self.switches)();
            let result = measure();
            if (self.switches)() == before {
                return result;
            }
            attempts += 1;
            if !repeatable || attempts == ATTEMPTS_MOST || stop.is_requested() {
                self.kept += 1;
                return result;
            }
            self.dropped += 1;
        }
    }

    /// Numbers of preempted slices of this test: measured again, and kept.
    pub(crate) fn conditions(&self) -> [Condition; 2] {
        [
            Condition::new("preempted_slices_dropped", "1", Some(self.dropped as f64)),
            Condition::new("preempted_slices_kept", "1", Some(self.kept as f64)),
        ]
    }

    /// The mark of a row that contains time of other programs, or for which more slices were dropped than kept.
    pub(crate) fn message(&self, core: u32) -> Option<String> {
        let Self { slices, dropped, kept, .. } = *self;
        let remedy = "end the other programs on it, or give another host.core";
        if kept > 0 {
            return Some(format!(
                "preempted: {kept} of {slices} slices include the time of other programs on cpu{core}: {remedy}"
            ));
        }
        (dropped > slices).then(|| {
            format!(
                "preempted: other programs ran on cpu{core} during {dropped} slices, which were measured again: \
                 {remedy}"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static SWITCHES: Cell<u64> = const { Cell::new(0) };
    }

    fn counted() -> Preemption {
        SWITCHES.set(0);
        Preemption::counted_by(|| Some(SWITCHES.get()))
    }

    /// Numbers the attempts; the first `preempted` of them are.
    fn attempts(preempted: u32) -> impl FnMut() -> u32 {
        let mut attempt = 0;
        move || {
            attempt += 1;
            SWITCHES.set(SWITCHES.get() + u64::from(attempt <= preempted));
            attempt
        }
    }

    #[test]
    fn preempted_slice_is_measured_again() {
        let mut preemption = counted();
        let stop = Stop::default();
        assert_eq!(preemption.slice(true, &stop, attempts(0)), 1);
        assert_eq!(preemption.message(3), None);
        assert_eq!(preemption.slice(true, &stop, attempts(2)), 3);
        assert_eq!((preemption.dropped, preemption.kept, preemption.message(3)), (2, 0, None));
        assert_eq!(preemption.slice(true, &stop, attempts(5)), 6);
        let message = preemption.message(3).unwrap();
        assert!(message.starts_with("preempted: other programs ran on cpu3 during 7 slices"), "{message}");
        assert_eq!(preemption.conditions().map(|condition| condition.value), [Some(7.0), Some(0.0)]);
    }

    #[test]
    fn slice_that_is_always_preempted_is_kept_and_marked() {
        let mut preemption = counted();
        let stop = Stop::default();
        assert_eq!(preemption.slice(true, &stop, attempts(u32::MAX)), ATTEMPTS_MOST);
        assert_eq!(preemption.slice(true, &stop, attempts(0)), 1);
        let message = preemption.message(0).unwrap();
        assert!(
            message.starts_with("preempted: 1 of 2 slices include the time of other programs"),
            "{message}"
        );
    }

    #[test]
    fn slice_of_cold_caches_and_one_that_is_stopped_are_not_repeated() {
        let (mut preemption, stop) = (counted(), Stop::default());
        assert_eq!(preemption.slice(false, &stop, attempts(1)), 1);
        stop.request();
        assert_eq!(preemption.slice(true, &stop, attempts(1)), 1);
        assert_eq!((preemption.dropped, preemption.kept), (0, 2));
    }

    #[test]
    fn without_a_count_every_slice_counts_as_undisturbed() {
        let mut preemption = Preemption::counted_by(|| None);
        assert_eq!(preemption.slice(true, &Stop::default(), attempts(1)), 1);
        assert_eq!(preemption.message(0), None);
    }

    #[test]
    fn kernel_counts_involuntary_switches() {
        let before = involuntary_switches().unwrap();
        // A runnable thread that gives its core up is not switched involuntarily; the count never falls.
        std::thread::yield_now();
        assert!(involuntary_switches().unwrap() >= before);
    }
}
