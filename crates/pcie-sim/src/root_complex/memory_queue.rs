//! The queue of a saturated memory for the lines that devices write.
//!
//! Memory takes an irregular time for each line, exponentially distributed: banks conflict, and the bus turns
//! round between reads and writes. The mean is what busy cores leave to devices.

use crate::cache::history::TestKey;
use crate::profile::Host;
use pcie_time::{Blocks, Draws, Picoseconds, Stream};
use pcie_workload::LINE_BYTES;

#[derive(Debug)]
pub(super) struct MemoryQueue {
    line_ns: f64,
    draws: Draws,
    /// The draws of lines, each block made with the processor's vectors.
    drawn: Blocks<f64>,
    free_at: Picoseconds,
    served: Picoseconds,
}

impl MemoryQueue {
    /// The queue of a host's memory; `None` if devices never saturate it.
    pub(super) fn new(host: &Host, key: TestKey, first_draw: u64) -> Option<Self> {
        let rate = host.writable_gbytes_per_s()?;
        Some(Self {
            line_ns: LINE_BYTES as f64 / rate,
            draws: key.draws(Stream::MemoryTime),
            // A TLP draws for each of its lines.
            drawn: Blocks::new((first_draw << LINES_OF_A_TLP.trailing_zeros()) + 1),
            free_at: Picoseconds::ZERO,
            served: Picoseconds::ZERO,
        })
    }

    /// When memory has accepted `lines` that the root complex admitted at `admitted`.
    pub(super) fn accept(&mut self, lines: u32, admitted: Picoseconds) -> Picoseconds {
        let services: f64 = (0..lines).map(|_| self.service()).sum();
        let busy = Picoseconds::from_ns(services);
        self.served += busy;
        self.free_at = self.free_at.max(admitted) + busy;
        self.free_at
    }

    /// For how long it has been busy.
    pub(super) fn served(&self) -> Picoseconds {
        self.served
    }

    fn service(&mut self) -> f64 {
        let draws = self.draws;
        self.line_ns * self.drawn.next(|first, block| draws.exponentials(first, block))
    }
}

const LINES_OF_A_TLP: u64 = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_systems::snb;

    #[test]
    fn lines_take_the_time_of_the_rate_that_cores_leave() {
        let mut host = snb().system().host.clone();
        host.memory.saturated_gbytes_per_s = Some(32.0);
        let key = TestKey { seed: 1, test: 0 };
        let mut queue = MemoryQueue::new(&host, key, 0).unwrap();
        let lines = 40_000;
        for _ in 0..lines / 4 {
            queue.accept(4, Picoseconds::ZERO);
        }
        let mean_ns = queue.free_at.as_ns() / f64::from(lines);
        assert!((mean_ns / 2.0 - 1.0).abs() < 0.03, "{mean_ns}");
        host.memory.saturated_gbytes_per_s = None;
        assert!(MemoryQueue::new(&host, key, 0).is_none());
    }

    #[test]
    fn each_line_takes_the_draw_of_its_number() {
        let mut host = snb().system().host.clone();
        host.memory.saturated_gbytes_per_s = Some(32.0);
        let key = TestKey { seed: 1, test: 0 };
        let line_ns = LINE_BYTES as f64 / host.writable_gbytes_per_s().unwrap();
        let mut queue = MemoryQueue::new(&host, key, 3).unwrap();
        let mut served = Picoseconds::ZERO;
        for line in 1..=200 {
            queue.accept(1, Picoseconds::ZERO);
            let draw = key.draws(Stream::MemoryTime).exponential(3 * LINES_OF_A_TLP + line);
            served += Picoseconds::from_ns(line_ns * draw);
            assert_eq!(queue.served(), served, "line {line}");
        }
    }
}
