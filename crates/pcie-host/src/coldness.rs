//! Checks by timing that lines are in no cache.
//!
//! A line counts as cold if a load of it takes at least as long as the middle between a load from the core's
//! own cache and a load after a flush. Both are measured beside it. Each sampled line has a page of its own,
//! because prefetchers fetch further lines of a page.

use crate::buffer::Buffer;
use crate::clock::Clock;
use std::hint::black_box;

/// Most lines sampled.
const LINES_MOST: u64 = 64;
/// Loads for each of the two times that lines are judged by.
const REFERENCE_LOADS: u64 = 512;
const PAGE_BYTES: u64 = 4096;
const LINE_BYTES: u64 = 64;

/// Lines of a window, one a page at most, in an order without a stride.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// Offset of each line in the buffer.
    offsets: Vec<u64>,
}

impl Sample {
    /// Lines of the first bytes of a buffer; `number` varies them.
    pub(crate) fn of(window_bytes: u64, number: u64) -> Self {
        let pages = window_bytes.div_ceil(PAGE_BYTES);
        let mut state = number ^ 0x9e37_79b9_7f4a_7c15;
        let mut draw = |below: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            ((u128::from(state) * u128::from(below)) >> 64) as u64
        };
        let count = pages.min(LINES_MOST);
        let line = |index: u64| {
            let (page, next) = (index * pages / count, (index + 1) * pages / count);
            let start = (page + draw(next - page)) * PAGE_BYTES;
            // The other half of the page is for its translation.
            let lines = (PAGE_BYTES / 2).min(window_bytes - start).div_ceil(LINE_BYTES);
            start + draw(lines) * LINE_BYTES
        };
        let mut offsets: Vec<u64> = (0..count).map(line).collect();
        for last in (1..offsets.len()).rev() {
            offsets.swap(last, draw(last as u64 + 1) as usize);
        }
        Self { offsets }
    }

    /// Brings the lines into the caches, so that only what follows can have evicted them.
    pub(crate) fn load(&self, buffer: &Buffer) {
        for offset in &self.offsets {
            black_box(buffer.word(*offset));
        }
    }

    /// The share of the lines that are in no cache; none where times do not tell, or no line can be flushed.
    /// Flushes their pages at the end, so that no line is warmer than before.
    pub(crate) fn cold_share(&self, buffer: &Buffer, clock: &Clock) -> Option<f64> {
        buffer.flush_page(buffer.length()).ok()?;
        let found: Vec<u64> = self.offsets.iter().map(|offset| timed(buffer, *offset, clock)).collect();
        let mut warm = self.reference(|offset| {
            black_box(buffer.word(offset));
            timed(buffer, offset, clock)
        });
        let mut flushed = self.reference(|offset| {
            let _ = buffer.flush_page(offset);
            timed(buffer, offset, clock)
        });
        for offset in &self.offsets {
            buffer.flush_page(*offset).ok()?;
        }
        share_above(&found, limit(&mut warm, &mut flushed)?)
    }

    fn reference(&self, load: impl FnMut(u64) -> u64) -> Vec<u64> {
        self.offsets.iter().copied().cycle().take(REFERENCE_LOADS as usize).map(load).collect()
    }
}

/// Time of a load whose page is already translated, in counts of the clock.
fn timed(buffer: &Buffer, offset: u64, clock: &Clock) -> u64 {
    black_box(buffer.word(offset ^ (PAGE_BYTES / 2)));
    let before = clock.now();
    black_box(buffer.word(offset));
    clock.now().saturating_sub(before)
}

/// The time between those of warm and of flushed lines; none if they overlap, as on an emulated processor.
fn limit(warm: &mut [u64], flushed: &mut [u64]) -> Option<f64> {
    warm.sort_unstable();
    flushed.sort_unstable();
    let at = |sorted: &[u64], quarters: usize| sorted.get(sorted.len() * quarters / 4).copied();
    let apart = at(warm, 3)? < at(flushed, 1)?;
    apart.then_some((at(warm, 2)? as f64 + at(flushed, 2)? as f64) / 2.0)
}

fn share_above(found: &[u64], limit: f64) -> Option<f64> {
    let cold = found.iter().filter(|time| **time as f64 >= limit).count();
    (!found.is_empty()).then(|| cold as f64 / found.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::PageSize;
    use crate::topology::Topology;
    use std::collections::BTreeSet;

    #[test]
    fn sampled_lines_are_within_the_window_on_pages_of_their_own() {
        for window in [1, 64, 2048, 4096, 4160, 8192, 1 << 18, (1 << 18) + 64, 64 << 20] {
            for number in 0..20 {
                let offsets = Sample::of(window, number).offsets;
                let pages: BTreeSet<u64> = offsets.iter().map(|offset| offset / PAGE_BYTES).collect();
                assert_eq!(pages.len(), offsets.len());
                assert_eq!(offsets.len() as u64, window.div_ceil(PAGE_BYTES).min(LINES_MOST));
                let inside = |offset: &u64| *offset < window && offset % PAGE_BYTES < PAGE_BYTES / 2;
                assert!(offsets.iter().all(inside), "{window}: {offsets:?}");
            }
        }
        assert!(Sample::of(0, 1).offsets.is_empty());
    }

    #[test]
    fn share_is_of_times_at_or_above_the_middle() {
        let (mut warm, mut flushed) = (vec![30, 31, 29, 30], vec![120, 130, 110, 120]);
        assert_eq!(limit(&mut warm, &mut flushed), Some(75.0));
        assert_eq!(share_above(&[30, 75, 74, 300], 75.0), Some(0.5));
        // Times of an emulated processor overlap.
        assert_eq!(limit(&mut [30, 90, 150, 200], &mut [40, 90, 160, 210]), None);
        assert_eq!((limit(&mut [], &mut []), share_above(&[], 1.0)), (None, None));
    }

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn flushed_lines_are_cold_and_loaded_lines_are_not() {
        let topology = Topology::here();
        let buffer = Buffer::allocate(1 << 20, PageSize::FourKib, None, &topology).unwrap();
        let (sample, clock) = (Sample::of(1 << 18, 7), Clock::measured(&topology));
        sample.load(&buffer);
        let Some(warm) = sample.cold_share(&buffer, &clock) else { return };
        // The check has flushed the lines.
        let cold = sample.cold_share(&buffer, &clock).unwrap();
        assert!(warm < 0.25 && cold > 0.75, "{warm} of loaded lines, {cold} of flushed lines");
    }
}
