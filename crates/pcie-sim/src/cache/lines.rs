//! Numbers for the cache lines that a test can touch, and their cache sets.
//!
//! Lines of the host buffer come first, in buffer order. Then follow the lines outside the buffer that the
//! command path reaches because it drops address bits.

use crate::profile::{LastLevelCache, System};
use pcie_workload::LINE_BYTES;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::OnceLock;

pub type Line = u32;

/// Lines of a block.
const BLOCK_LINES: u32 = 1 << 14;

/// The lines of a system, the targets of the command path, and the set of each line.
#[derive(Clone, Debug)]
pub struct Lines {
    chunk_lines: u32,
    buffer_lines: u32,
    /// By chunk of lines, the address of its first.
    addresses: Vec<u64>,
    /// By chunk of the buffer, the line that the command path reaches for the chunk's first line.
    command_bases: Vec<Line>,
    hash: SliceHash,
    /// The sets of each block of lines, computed at first use: most tests write few blocks, or none.
    blocks: Vec<OnceLock<Box<[u32; BLOCK_LINES as usize]>>>,
}

impl Lines {
    pub fn new(system: &System) -> Self {
        let chunk_lines = (system.chunk_bytes / LINE_BYTES) as u32;
        let buffer_lines = chunk_lines * system.chunk_addresses.len() as u32;
        let mask = match system.device.command.as_ref().map(|command| command.address_bits) {
            Some(bits) if bits < 64 => (1u64 << bits) - 1,
            _ => u64::MAX,
        };
        let mut addresses = system.chunk_addresses.clone();
        let mut chunks: HashMap<u64, usize> = HashMap::with_capacity(addresses.len());
        for (chunk, address) in addresses.iter().enumerate() {
            chunks.entry(*address).or_insert(chunk);
        }
        let command_bases = system
            .chunk_addresses
            .iter()
            .map(|address| {
                let seen = address & mask;
                let chunk = *chunks.entry(seen).or_insert_with(|| {
                    addresses.push(seen);
                    addresses.len() - 1
                });
                chunk as u32 * chunk_lines
            })
            .collect();
        let block_count = (addresses.len() as u32 * chunk_lines).div_ceil(BLOCK_LINES) as usize;
        Self {
            chunk_lines,
            buffer_lines,
            addresses,
            command_bases,
            hash: SliceHash::new(&system.host.llc),
            blocks: vec![OnceLock::new(); block_count],
        }
    }

    pub fn count(&self) -> u32 {
        self.chunk_lines * self.addresses.len() as u32
    }

    pub fn buffer_lines(&self) -> u32 {
        self.buffer_lines
    }

    /// Whether a line is part of the host buffer.
    #[inline]
    pub fn in_buffer(&self, line: Line) -> bool {
        line < self.buffer_lines
    }

    /// The line that the DMA path reaches at an offset of the buffer.
    #[inline]
    pub fn by_dma(&self, offset: u64) -> Line {
        (offset / LINE_BYTES) as Line
    }

    /// The line that the command path reaches at an offset of the buffer.
    #[inline]
    pub fn by_command(&self, offset: u64) -> Line {
        let line = (offset / LINE_BYTES) as Line;
        self.command_bases[(line / self.chunk_lines) as usize] + line % self.chunk_lines
    }

    /// The lines that the command path reaches for some lines of the buffer, in ranges.
    pub fn ranges_by_command(
        &self,
        of_buffer: Range<Line>,
    ) -> impl Iterator<Item = Range<Line>> + Clone + '_ {
        let Range { start, end } = of_buffer;
        (start / self.chunk_lines..end.div_ceil(self.chunk_lines)).map(move |chunk| {
            let first = chunk * self.chunk_lines;
            let base = self.command_bases[chunk as usize];
            base + start.max(first) - first..base + end.min(first + self.chunk_lines) - first
        })
    }

    /// The set of the last-level cache that a line maps to.
    #[inline]
    pub fn set(&self, line: Line) -> u32 {
        self.block(line / BLOCK_LINES)[(line % BLOCK_LINES) as usize]
    }

    /// The sets of consecutive lines, block by block.
    pub fn sets(&self, lines: Range<Line>) -> impl Iterator<Item = &[u32]> {
        let Range { start, end } = lines;
        (start / BLOCK_LINES..end.div_ceil(BLOCK_LINES)).map(move |number| {
            let first = number * BLOCK_LINES;
            let of_block = start.max(first) - first..end.min(first + BLOCK_LINES) - first;
            &self.block(number)[of_block.start as usize..of_block.end as usize]
        })
    }

    pub fn set_count(&self) -> u32 {
        self.hash.set_count()
    }

    #[inline]
    fn block(&self, number: u32) -> &[u32; BLOCK_LINES as usize] {
        self.blocks[number as usize].get_or_init(|| self.sets_of_block(number))
    }

    #[cold]
    fn sets_of_block(&self, number: u32) -> Box<[u32; BLOCK_LINES as usize]> {
        let (mut line, end) = (number * BLOCK_LINES, self.count().min((number + 1) * BLOCK_LINES));
        let mut sets = Vec::with_capacity(BLOCK_LINES as usize);
        while line < end {
            let (chunk, within) = (line / self.chunk_lines, line % self.chunk_lines);
            let count = (self.chunk_lines - within).min(end - line);
            let address = self.addresses[chunk as usize] / LINE_BYTES;
            self.hash.sets(address + u64::from(within), count as usize, &mut sets);
            line += count;
        }
        let mut block = Box::new([0; BLOCK_LINES as usize]);
        block.iter_mut().zip(sets).for_each(|(set, computed)| *set = computed);
        block
    }
}

/// Maps addresses to slices and sets.
///
/// The real hash is not published. According to the measurements, lines per set deviate by about a fifth of
/// their mean at every window size. Here the index comes from the low bits, and the slice from a golden-ratio
/// sequence over the high bits, with a different start for each index and slices of slightly unequal shares.
#[derive(Clone, Debug)]
struct SliceHash {
    sets_per_slice: u64,
    bounds: Vec<f64>,
}

impl SliceHash {
    fn new(cache: &LastLevelCache) -> Self {
        let slices = cache.slices.max(1);
        let lines_per_slice = cache.llc_bytes / LINE_BYTES / u64::from(cache.ways.max(1)) / u64::from(slices);
        let weights: Vec<f64> = (0..slices)
            .map(|slice| {
                let probability = (f64::from(slice) + 0.5) / f64::from(slices);
                (1.0 + cache.slice_spread * normal_quantile(probability)).max(0.05)
            })
            .collect();
        let total: f64 = weights.iter().sum();
        let mut bounds = Vec::with_capacity(weights.len());
        let mut sum = 0.0;
        for weight in weights {
            sum += weight / total;
            bounds.push(sum);
        }
        Self { sets_per_slice: lines_per_slice.max(1), bounds }
    }

    fn set_count(&self) -> u32 {
        (self.sets_per_slice * self.bounds.len() as u64) as u32
    }

    /// Appends the sets of `count` consecutive lines.
    fn sets(&self, physical_line: u64, count: usize, sets: &mut Vec<u32>) {
        let (mut first, mut left) = (physical_line, count);
        while left > 0 {
            // The lines up to the next one with index 0 have a tag in common.
            let index = first % self.sets_per_slice;
            let run = left.min((self.sets_per_slice - index) as usize);
            self.sets_of_tag(first / self.sets_per_slice, index, run, sets);
            (first, left) = (first + run as u64, left - run);
        }
    }

    /// Appends the sets of `count` lines with consecutive indices from `first` on, in blocks and without branches
    /// that depend on a line: a system has a million lines or more.
    fn sets_of_tag(&self, tag: u64, first: u64, count: usize, sets: &mut Vec<u32>) {
        const GOLDEN: f64 = 0.618_033_988_749_894_9;
        const BLOCK: usize = 64;
        let from_tag = tag as f64 * GOLDEN;
        let whole = from_tag.trunc();
        // The last slice has all phases that no other has.
        let bounds = &self.bounds[..self.bounds.len() - 1];
        let mut phases = [0.0; BLOCK];
        for done in (0..count).step_by(BLOCK) {
            let indices = first as u32 + done as u32..first as u32 + count.min(done + BLOCK) as u32;
            for (phase, index) in phases.iter_mut().zip(indices.clone()) {
                let start = f64::from(index.wrapping_mul(0x9E37_79B9) & 0xFFFF) / 65_536.0;
                // The fraction: both terms of the sum have the same whole part but for one.
                let over = (from_tag + start) - whole;
                *phase = if over >= 1.0 { over - 1.0 } else { over };
            }
            let mut slices = [0u64; BLOCK];
            for bound in bounds {
                for (slice, phase) in slices.iter_mut().zip(&phases) {
                    *slice += u64::from(bound <= phase);
                }
            }
            let of_block = slices.iter().zip(indices);
            sets.extend(of_block.map(|(slice, index)| *slice as u32 * self.sets_per_slice as u32 + index));
        }
    }
}

/// Quantile of the standard normal distribution, good to 6e-3 for probabilities between 1/12 and 11/12.
fn normal_quantile(probability: f64) -> f64 {
    // Tukey's lambda with shape 0.135 agrees with the normal quantile to 1e-3 in the range of slices.
    let shape = 0.135;
    (libm::pow(probability, shape) - libm::pow(1.0 - probability, shape)) / 0.1975
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantile_is_normal_in_the_range_of_slices() {
        for (probability, expected) in
            [(0.5, 0.0), (0.25, -0.6745), (1.0 / 12.0, -1.383), (11.0 / 12.0, 1.383)]
        {
            assert!((normal_quantile(probability) - expected).abs() < 6e-3, "{probability}");
        }
    }

    #[test]
    fn sets_of_many_lines_are_those_of_each() {
        let fraction = |tag: u64, index: u64| {
            let start = (index.wrapping_mul(0x9E37_79B9) % 65_536) as f64 / 65_536.0;
            (tag as f64 * 0.618_033_988_749_894_9 + start).fract()
        };
        for (slices, sets_per_slice) in [(1, 4), (6, 2048), (7, 1000), (28, 1 << 17)] {
            let bounds: Vec<f64> = (1..=slices).map(|slice| slice as f64 / slices as f64).collect();
            let hash = SliceHash { sets_per_slice, bounds };
            for first in [0, 5, 0x10ab_0000, (1 << 57) - 70_000] {
                let mut sets = Vec::new();
                hash.sets(first, 70_000, &mut sets);
                let expected = (first..first + 70_000).map(|line| {
                    let (tag, index) = (line / sets_per_slice, line % sets_per_slice);
                    let phase = fraction(tag, index);
                    let slice = hash.bounds.iter().filter(|bound| **bound <= phase).count().min(slices - 1);
                    (slice as u64 * sets_per_slice + index) as u32
                });
                assert!(sets.into_iter().eq(expected), "{slices} slices of {sets_per_slice}, line {first}");
            }
        }
    }

    #[test]
    fn ranges_of_lines_have_the_sets_of_each() {
        let mut system: System = serde_json::from_str(include_str!("../../tests/fixtures/snb.json")).unwrap();
        // Chunks larger and smaller than a block.
        for chunk_bytes in [system.chunk_bytes, 64 << 10] {
            system.chunk_bytes = chunk_bytes;
            let lines = Lines::new(&system);
            let (middle, end) = (BLOCK_LINES.min(lines.count() / 2), lines.count());
            for range in [0..0, 5..5, 0..1, 7..middle, middle - 1..end, end - 9..end] {
                let sets: Vec<u32> = lines.sets(range.clone()).flatten().copied().collect();
                let mut expected = Vec::new();
                for line in range {
                    let address = lines.addresses[(line / lines.chunk_lines) as usize] / LINE_BYTES;
                    lines.hash.sets(address + u64::from(line % lines.chunk_lines), 1, &mut expected);
                }
                assert_eq!(sets, expected);
            }
        }
    }

    #[test]
    fn lines_per_set_deviate_by_a_fifth_of_their_mean() {
        let cache = LastLevelCache {
            llc_bytes: 15 << 20,
            ways: 20,
            ddio_ways: 2,
            slices: 6,
            slice_spread: 0.2,
            host_share: 0.9,
        };
        let hash = SliceHash::new(&cache);
        assert_eq!(hash.set_count(), 12_288);
        for mebibytes in [4u64, 16, 64] {
            let mut counts = vec![0f64; hash.set_count() as usize];
            let mut sets = Vec::new();
            hash.sets(0x4_2ac0_0000 >> 6, (mebibytes << 20) as usize / LINE_BYTES as usize, &mut sets);
            sets.iter().for_each(|set| counts[*set as usize] += 1.0);
            let mean = counts.iter().sum::<f64>() / counts.len() as f64;
            let deviation =
                (counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64).sqrt();
            assert!((0.15..0.30).contains(&(deviation / mean)), "{mebibytes} MiB: {deviation} of {mean}");
        }
    }
}
