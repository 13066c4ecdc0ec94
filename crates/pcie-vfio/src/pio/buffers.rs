//! Counts a core's write-combining buffers from the time of interleaved stores to more and more lines.
//!
//! Each round stores every line whole, one word of each line in turn. While each line has a buffer, it leaves
//! in one piece; beyond that nearly every word leaves alone and takes several times as long.

use super::range::Range;
use pcie_host::Clock;

const LINE: u64 = 64;
const WORDS: u64 = LINE / 8;
/// Most lines tried: more than any known processor has buffers.
const LINES_MOST: u64 = 32;
/// Rounds whose least time counts.
const ROUNDS: usize = 5;
/// Trials; the share that agrees is the confidence.
const TRIALS: usize = 9;
/// Least factor between the times beyond and before the knee.
const STEP: f64 = 1.5;

/// Number of buffers, and the share of trials that found it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    pub(super) buffers: u64,
    pub(super) confidence: f64,
}

/// Counts the buffers through a write-combining mapping; none without a knee.
pub(super) fn count(range: &Range, clock: &Clock) -> Option<Found> {
    let most = (range.bytes() / LINE).min(LINES_MOST);
    let trial = |_| {
        let times: Vec<f64> = (1..=most).map(|lines| time_ns(range, clock, lines) / lines as f64).collect();
        knee(&times)
    };
    agreed(&(0..TRIALS).map(trial).collect::<Vec<_>>())
}

/// The least time of a round over `lines` lines, ns.
fn time_ns(range: &Range, clock: &Clock, lines: u64) -> f64 {
    let Some((window, start)) = range.window() else { return 0.0 };
    let round = |_| {
        let before = clock.now();
        for word in 0..WORDS {
            for line in 0..lines {
                window.write_long(start + line * LINE + word * 8, word);
            }
        }
        super::stores::fence();
        clock.ns(clock.now() - before)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

/// The last number of lines before the time per line rises for good; none if it does not.
fn knee(times: &[f64]) -> Option<u64> {
    let mean = |times: &[f64]| times.iter().sum::<f64>() / times.len() as f64;
    let ratio = |lines: usize| mean(&times[lines..]) / mean(&times[..lines]);
    // One line is left out: its time is mostly the fence.
    let best =
        (2..times.len().saturating_sub(1)).max_by(|left, right| ratio(*left).total_cmp(&ratio(*right)))?;
    (ratio(best) >= STEP).then_some(best as u64)
}

fn agreed(trials: &[Option<u64>]) -> Option<Found> {
    let votes = |buffers: u64| trials.iter().filter(|trial| **trial == Some(buffers)).count();
    let buffers = trials.iter().flatten().copied().max_by_key(|buffers| votes(*buffers))?;
    Some(Found { buffers, confidence: votes(buffers) as f64 / trials.len() as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knee_is_the_last_fast_number_of_lines() {
        let times = |buffers: usize| {
            (1..=32).map(|lines| if lines <= buffers { 20.0 } else { 90.0 }).collect::<Vec<_>>()
        };
        for buffers in [4, 10, 12, 24] {
            assert_eq!(knee(&times(buffers)), Some(buffers as u64));
        }
        let mut noisy = times(12);
        noisy[0] = 80.0;
        noisy[5] = 25.0;
        noisy[20] = 60.0;
        assert_eq!(knee(&noisy), Some(12));
        assert_eq!(knee(&[20.0; 32]), None);
        assert_eq!(knee(&[]), None);
    }

    #[test]
    fn confidence_is_the_share_of_agreeing_trials() {
        let found = agreed(&[Some(12), Some(12), Some(13), None]);
        assert_eq!(found, Some(Found { buffers: 12, confidence: 0.5 }));
        assert_eq!(agreed(&[None, None]), None);
    }
}
