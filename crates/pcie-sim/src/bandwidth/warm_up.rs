//! How long a bandwidth test that begins with an idle machine takes to reach its steady state.
//!
//! A pipeline is full after a round trip. Queues are not: where the resource that binds is only a little slower than what
//! feeds it, its queue grows by that little with every transaction, and the device is slowed down only once the queue is
//! full. Writes fill the root complex's buffers in that way, and a test of reads and writes by turns the reads that may be
//! in flight. A test that only reads is timed behind whatever binds it, so that its queues do not show.

use super::fast::{ReadWriteRun, WriteRun};
use super::start::Start;
use pcie_workload::{Operation, PAGE_BYTES, Test};

/// What fills a pipeline, in transactions, and where the first look at the queues ends.
const SHORTEST: u64 = 2048;
/// The same of transfers of many pages.
const SHORTEST_OF_LONG_TRANSFERS: u64 = 8;
/// More is never waited for.
const LONGEST: u64 = 1 << 19;
/// Looks at the queues in each stretch of the pilot run.
const LOOKS: u64 = 32;
/// A queue that grows by less than this for each transaction changes no bandwidth by more.
const GROWTH_NOT_NOTICED: f64 = 0.001;

/// What fills the pipeline of a test, in transactions.
pub(super) fn shortest(test: &Test) -> u64 {
    (SHORTEST / test.size_bytes.div_ceil(PAGE_BYTES)).max(SHORTEST_OF_LONG_TRANSFERS)
}

/// Transactions after which the queues that a test fills have stopped growing, from a pilot run.
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
        Operation::BwRd | Operation::LatRd | Operation::LatWrrd => shortest,
    }
}

/// Average, and how far it may be off, of what is in flight in a stretch of the pilot run.
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
        // What follows each other closely differs little: count a few as one.
        Self { mean, deviation: (variance / (count / 8.0)).sqrt() }
    }

    /// Whether it may have come to be more than in an earlier stretch, by so much.
    fn may_have_grown(&self, earlier: &Self, growth: f64) -> bool {
        self.mean - earlier.mean + 2.0 * (self.deviation + earlier.deviation) > growth
    }

    /// Whether it is more for sure.
    fn has_grown(&self, earlier: &Self) -> bool {
        self.mean - earlier.mean > 3.0 * (self.deviation + earlier.deviation)
    }
}

/// Takes a pilot run to where no more comes to be in flight. `go_on` carries it a number of transactions further, and says
/// how many writes and how many reads are in flight then.
fn settled_after(shortest: u64, longest: u64, mut go_on: impl FnMut(u64) -> [f64; 2]) -> u64 {
    let mut look = |length: u64| {
        let looks = LOOKS.min(length.max(1));
        let seen: Vec<[f64; 2]> = (0..looks).map(|_| go_on(length / looks)).collect();
        [0, 1].map(|kind| InFlight::of(&seen.iter().map(|seen| seen[kind]).collect::<Vec<f64>>()))
    };
    look(shortest / 2);
    let first = look(shortest / 2);
    let (mut done, mut last, mut settled_by) = (shortest, first, None);
    while 2 * done <= longest {
        let stretch = look(done);
        // From the middle of the stretch before to the middle of this one, which is twice as long.
        let growth = GROWTH_NOT_NOTICED * 0.75 * done as f64;
        let grows = [0, 1].into_iter().any(|kind| stretch[kind].may_have_grown(&last[kind], growth));
        done *= 2;
        last = stretch;
        if !grows {
            // This stretch only shows that the one before it was settled.
            settled_by = Some(done / 2);
            break;
        }
    }
    // What only goes up and down was settled from the beginning.
    let grown = [0, 1].into_iter().any(|kind| last[kind].has_grown(&first[kind]));
    if grown { settled_by.unwrap_or(done) } else { shortest }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A queue that takes `capacity` and grows by `slack` with every transaction.
    fn filled(capacity: f64, slack: f64, longest: u64) -> u64 {
        let mut done = 0;
        settled_after(SHORTEST, longest, |count| {
            done += count;
            let wobble = (done / 64 % 5) as f64;
            [5.0, (20.0 + slack * done as f64).min(capacity) + wobble]
        })
    }

    #[test]
    fn a_queue_is_full_before_anything_counts() {
        for (capacity, slack) in [(1024.0, 0.016), (1024.0, 0.005), (127.0, 0.02), (4096.0, 0.01)] {
            let (done, full) = (filled(capacity, slack, LONGEST) as f64, capacity / slack);
            assert!((0.9 * full..4.5 * full).contains(&done), "{capacity} at {slack}: {done} of {full}");
        }
    }

    #[test]
    fn what_does_not_grow_is_not_waited_for() {
        assert_eq!(filled(1024.0, 0.0, LONGEST), SHORTEST);
        assert_eq!(filled(1024.0, 0.0002, LONGEST), SHORTEST, "nobody would notice");
        assert_eq!(filled(1e9, 0.01, 10_000), 8192, "no longer than the test");
    }
}
