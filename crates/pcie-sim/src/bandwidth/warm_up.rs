//! Length of the warm-up of a bandwidth test that starts on an idle machine.
//!
//! A pipeline is full after a round trip. A queue may take much longer: if the bottleneck is only a little
//! slower than its input, its queue grows slowly, and slows the device down only when it is full. Writes fill
//! the root complex's buffers in this way; a test of alternating reads and writes also fills the reads that
//! may be in flight. A test that only reads is timed behind its bottleneck, so its queues do not matter.

use super::fast::{ReadWriteRun, WriteRun};
use super::start::Start;
use pcie_workload::{Operation, PAGE_BYTES, Test};

/// Transactions that fill a pipeline; the first sample of the queues ends there.
const SHORTEST: u64 = 2048;
/// The same for transfers of many pages.
const SHORTEST_OF_LONG_TRANSFERS: u64 = 8;
/// Longest warm-up, in transactions.
const LONGEST: u64 = 1 << 19;
/// Samples of the queues in each stretch of the pilot run.
const LOOKS: u64 = 32;
/// Growth of a queue per transaction that is ignored: it changes the bandwidth by no more.
const NEGLIGIBLE_GROWTH: f64 = 0.001;

pub(super) fn shortest(test: &Test) -> u64 {
    (SHORTEST / test.size_bytes.div_ceil(PAGE_BYTES)).max(SHORTEST_OF_LONG_TRANSFERS)
}

/// Transactions after which the queues have stopped growing, from a pilot run.
pub(super) fn warm_up_transactions(start: Start<'_>) -> u64 {
    let longest = LONGEST.min(start.test.transactions - start.first);
    let shortest = shortest(start.test);
    match start.test.operation {
        Operation::BwWr => {
            let mut run = WriteRun::new(start);
            settled_after(shortest, longest, |count| {
                run.run(count, None);
                [run.in_flight(), 0.0]
            })
        }
        Operation::BwRdwr => {
            let mut run = ReadWriteRun::new(start);
            settled_after(shortest, longest, |count| {
                run.run(count, None);
                run.in_flight()
            })
        }
        Operation::BwRd | Operation::LatRd | Operation::LatWrrd | Operation::LatChase => shortest,
    }
}

/// Mean of the transactions in flight in a stretch of the pilot run, and its standard error.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    mean: f64,
    deviation: f64,
}

impl InFlight {
    fn of(seen: &[f64]) -> Self {
        let count = seen.len() as f64;
        let mean = seen.iter().sum::<f64>() / count;
        let variance = seen.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
        // Neighbouring samples are correlated: count eight as one.
        Self { mean, deviation: (variance / (count / 8.0)).sqrt() }
    }

    /// Whether it may exceed that of an earlier stretch by more than `growth`.
    fn may_have_grown(&self, earlier: &Self, growth: f64) -> bool {
        self.mean - earlier.mean + 2.0 * (self.deviation + earlier.deviation) > growth
    }

    /// Whether it exceeds that of an earlier stretch with confidence.
    fn has_grown(&self, earlier: &Self) -> bool {
        self.mean - earlier.mean > 3.0 * (self.deviation + earlier.deviation)
    }
}

/// Transactions of a pilot run until the number in flight stops growing. `advance` runs a number of
/// transactions, and returns the writes and the reads in flight.
fn settled_after(shortest: u64, longest: u64, mut advance: impl FnMut(u64) -> [f64; 2]) -> u64 {
    let mut look = |length: u64| {
        let looks = LOOKS.min(length.max(1));
        let seen: Vec<[f64; 2]> = (0..looks).map(|_| advance(length / looks)).collect();
        [0, 1].map(|kind| InFlight::of(&seen.iter().map(|seen| seen[kind]).collect::<Vec<f64>>()))
    };
    look(shortest / 2);
    let first = look(shortest / 2);
    let (mut done, mut last, mut settled_by) = (shortest, first, None);
    while 2 * done <= longest {
        let stretch = look(done);
        // From the middle of the previous stretch to the middle of this one, which is twice as long.
        let growth = NEGLIGIBLE_GROWTH * 0.75 * done as f64;
        let grows = [0, 1].into_iter().any(|kind| stretch[kind].may_have_grown(&last[kind], growth));
        done *= 2;
        last = stretch;
        if !grows {
            // This stretch only confirms that the previous one had settled.
            settled_by = Some(done / 2);
            break;
        }
    }
    // Without lasting growth it was settled from the start.
    let grown = [0, 1].into_iter().any(|kind| last[kind].has_grown(&first[kind]));
    if grown { settled_by.unwrap_or(done) } else { shortest }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Warm-up for a queue of `capacity` that grows by `slack` with every transaction.
    fn filled(capacity: f64, slack: f64, longest: u64) -> u64 {
        let mut done = 0;
        settled_after(SHORTEST, longest, |count| {
            done += count;
            let wobble = (done / 64 % 5) as f64;
            [5.0, (20.0 + slack * done as f64).min(capacity) + wobble]
        })
    }

    #[test]
    fn warm_up_lasts_until_the_queue_is_full() {
        for (capacity, slack) in [(1024.0, 0.016), (1024.0, 0.005), (127.0, 0.02), (4096.0, 0.01)] {
            let (done, full) = (filled(capacity, slack, LONGEST) as f64, capacity / slack);
            assert!((0.9 * full..4.5 * full).contains(&done), "{capacity} at {slack}: {done} of {full}");
        }
    }

    #[test]
    fn warm_up_is_shortest_without_growth_and_ends_with_the_test() {
        assert_eq!(filled(1024.0, 0.0, LONGEST), SHORTEST);
        assert_eq!(filled(1024.0, 0.0002, LONGEST), SHORTEST, "negligible growth");
        assert_eq!(filled(1e9, 0.01, 10_000), 8192, "no longer than the test");
    }
}
