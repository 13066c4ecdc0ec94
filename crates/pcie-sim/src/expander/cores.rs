//! The cores in front of an expander: when they want a line, of which kind it is, and how many are in flight.

use std::collections::VecDeque;

use pcie_time::{Draws, Picoseconds, Stream};

/// How lines come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pace {
    /// One at a time, each some time after the last has returned.
    Alone,
    /// At a mean distance.
    Every(f64),
    /// Whenever a fill buffer is free.
    Always,
}

/// Mean distance of lines that come one at a time, ns: no multiple of a flit.
const ALONE_NS: f64 = 50.0;

/// The cores.
#[derive(Debug)]
pub(super) struct Cores {
    pace: Pace,
    /// Part of the distance of lines that is random; the rest is equal.
    random_part: f64,
    read_share: f64,
    phase: f64,
    fill_buffers: usize,
    in_flight: usize,
    waiting: VecDeque<usize>,
    draws: Draws,
}

impl Cores {
    /// `unevenness` is the variance of the distance of lines over the square of its mean.
    pub(super) fn new(
        pace: Pace,
        unevenness: f64,
        read_share: f64,
        fill_buffers: usize,
        (seed, test): (u64, u64),
    ) -> Self {
        let draws = Draws::new(seed, test, Stream::Arrivals);
        let fill_buffers = if pace == Pace::Alone { 1 } else { fill_buffers };
        Self {
            pace,
            random_part: unevenness.sqrt(),
            read_share,
            phase: draws.fraction(u64::MAX),
            fill_buffers,
            in_flight: 0,
            waiting: VecDeque::new(),
            draws,
        }
    }

    /// Whether a line is read: kinds alternate as evenly as their shares allow.
    pub(super) fn is_read(&self, line: usize) -> bool {
        let reads_until = |lines: usize| (lines as f64 * self.read_share + self.phase).floor();
        reads_until(line + 1) > reads_until(line)
    }

    /// Time between a line and the one before; of lines that come one at a time, after that has returned.
    pub(super) fn distance(&self, line: usize) -> Picoseconds {
        let (mean_ns, random) = match self.pace {
            Pace::Alone => (ALONE_NS, 1.0),
            Pace::Every(mean_ns) => (mean_ns, self.random_part),
            Pace::Always => return Picoseconds::ZERO,
        };
        Picoseconds::from_ns(mean_ns * (1.0 - random + random * self.draws.exponential(line as u64)))
    }

    /// A core wants a line; returns whether it has a fill buffer for it.
    pub(super) fn want(&mut self, line: usize) -> bool {
        let is_free = self.in_flight < self.fill_buffers;
        if is_free {
            self.in_flight += 1;
        } else {
            self.waiting.push_back(line);
        }
        is_free
    }

    /// A line has returned; returns the one that gets its fill buffer.
    pub(super) fn free(&mut self) -> Option<usize> {
        let next = self.waiting.pop_front();
        self.in_flight -= usize::from(next.is_none());
        next
    }

    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    /// Lines that may be in flight.
    pub(super) fn fill_buffers(&self) -> usize {
        self.fill_buffers
    }

    #[cfg(test)]
    fn in_flight(&self) -> usize {
        self.in_flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_their_share_and_distances_their_variance() {
        let cores = Cores::new(Pace::Every(2.0), 0.34, 0.38, 16, (1, 0));
        let reads = (0..10_000).filter(|&line| cores.is_read(line)).count();
        assert!(reads.abs_diff(3800) <= 1, "{reads}");
        let distances: Vec<f64> = (0..100_000).map(|line| cores.distance(line).as_ns() / 2.0).collect();
        let mean = distances.iter().sum::<f64>() / 1e5;
        let variance = distances.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.01 && (variance - 0.34).abs() < 0.02, "{mean} {variance}");
    }

    #[test]
    fn a_line_without_a_fill_buffer_waits_for_one() {
        let mut cores = Cores::new(Pace::Always, 0.0, 1.0, 2, (1, 0));
        assert!(cores.want(0) && cores.want(1) && !cores.want(2));
        assert_eq!((cores.free(), cores.in_flight()), (Some(2), 2));
        assert_eq!((cores.free(), cores.in_flight()), (None, 1));
    }
}
