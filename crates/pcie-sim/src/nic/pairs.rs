//! Queue pairs that packets are spread over at random, as a hash of many flows spreads them.
//!
//! The queue of a packet depends only on its number, so that any order of questions has the same answers.

use pcie_time::Draws;

/// Packets until the spread repeats.
const LENGTH: u64 = 1 << 16;

#[derive(Clone, Debug)]
pub(super) struct Pairs {
    /// By number, the queue, and how many came to this queue before.
    spread: Vec<(u32, u32)>,
    /// How many of `LENGTH` come to each queue.
    totals: Vec<u32>,
}

impl Pairs {
    /// `count` pairs; `None` for a single one.
    pub(super) fn new(count: u32, draws: Draws) -> Option<Self> {
        if count < 2 {
            return None;
        }
        let mut totals = vec![0; count as usize];
        let spread = (0..LENGTH).map(|number| {
            let queue = draws.below(number, u64::from(count)) as u32;
            let before = totals[queue as usize];
            totals[queue as usize] += 1;
            (queue, before)
        });
        let spread = spread.collect();
        Some(Self { spread, totals })
    }

    /// The queue of a packet, or of a batch of packets, and its number there.
    pub(super) fn of(&self, number: u64) -> (u64, u64) {
        let (queue, before) = self.spread[(number % LENGTH) as usize];
        let earlier = u64::from(self.totals[queue as usize]) * (number / LENGTH);
        (u64::from(queue), earlier + u64::from(before))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_time::Stream;

    #[test]
    fn packets_of_a_queue_are_numbered_in_order() {
        let pairs = Pairs::new(5, Draws::new(1, 0, Stream::Queues)).unwrap();
        let mut next = [0; 5];
        for number in 0..3 * LENGTH {
            let (queue, nth) = pairs.of(number);
            assert_eq!(nth, next[queue as usize]);
            next[queue as usize] += 1;
        }
        let share = next.map(|count| count as f64 / (3 * LENGTH) as f64);
        assert!(share.iter().all(|share| (share - 0.2).abs() < 0.01), "{share:?}");
        assert!(Pairs::new(1, Draws::new(1, 0, Stream::Queues)).is_none());
    }
}
