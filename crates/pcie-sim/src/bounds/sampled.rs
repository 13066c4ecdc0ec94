//! The sample of a window's units that stands for all units of a test in its bounds.

use pcie_workload::{Operation, PAGE_BYTES, Pattern, Test, Units, greatest_common_divisor};

/// Up to `REGIONS * NEIGHBOURS` units are all sampled. Of more, 16 regions of 64: alignments repeat.
const NEIGHBOURS: u64 = 64;
const REGIONS: u64 = 16;
/// Transfers longer than a page all have the same alignment.
const NEIGHBOURS_OF_LONG_TRANSFERS: u64 = 2;

/// Offsets of a sample of a test's units, in a possible order of visits: of a unit that is read, and of the
/// unit that is written next. For a test that only reads, or only writes, both are the same.
pub(super) fn sampled_offsets(test: &Test) -> impl Iterator<Item = (u64, u64)> {
    let units = Units::new(test);
    let sample = Sample::of(test, &units);
    let pairs = (0..sample.regions).flat_map(move |region| {
        let (sample, start) = (sample, region * sample.region_step);
        (0..sample.pairs).map(move |index| sample.pair(start, index))
    });
    pairs.map(move |(read, written)| {
        (units.address(units.nth_usable(read)), units.address(units.nth_usable(written)))
    })
}

/// A sample of the entries of an address list.
#[derive(Clone, Copy)]
struct Sample {
    pattern: Pattern,
    stride: u64,
    usable: u64,
    regions: u64,
    /// Entries from the start of a region to the start of the next.
    region_step: u64,
    length: u64,
    pairs: u64,
    /// Whether reads and writes take turns, and so visit the odd and the even entries.
    by_turns: bool,
}

impl Sample {
    fn of(test: &Test, units: &Units) -> Self {
        let usable = units.usable_count();
        // Entries after which an ordered list begins again.
        let entries = match test.pattern {
            Pattern::Fixed => 1,
            Pattern::Sequential | Pattern::Random => usable,
            Pattern::Strided => usable / greatest_common_divisor(usable, test.stride_units % usable),
        };
        let neighbours = if test.size_bytes > PAGE_BYTES { NEIGHBOURS_OF_LONG_TRANSFERS } else { NEIGHBOURS };
        let (regions, length) =
            if entries <= REGIONS * neighbours { (1, entries) } else { (REGIONS, neighbours) };
        let by_turns = test.operation == Operation::BwRdwr && test.pattern != Pattern::Random;
        // With an odd number of entries, each is read in one pass and written in the next.
        let pairs = if by_turns && length.is_multiple_of(2) { length / 2 } else { length };
        Self {
            pattern: test.pattern,
            stride: test.stride_units % usable,
            usable,
            regions,
            region_step: (entries / regions) & !1,
            length,
            pairs,
            by_turns,
        }
    }

    /// The units read and written in pair `index` of the region that starts at an entry.
    fn pair(&self, start: u64, index: u64) -> (u64, u64) {
        let unit = |entry: u64| match self.pattern {
            Pattern::Fixed => 0,
            Pattern::Sequential | Pattern::Random => entry % self.usable,
            Pattern::Strided => entry * self.stride % self.usable,
        };
        match (self.pattern, self.by_turns) {
            (Pattern::Random, _) => {
                let read = start + self.shuffled(index);
                // Any other unit: the alignments of both are independent.
                (unit(read), unit(start + self.shuffled(index + self.length / 3)))
            }
            // Reads take the odd entries, writes the even ones.
            (_, true) => (unit(start + 2 * index + 1), unit(start + 2 * index)),
            (_, false) => (unit(start + index), unit(start + index)),
        }
    }

    /// A permutation of the numbers below `length` without runs.
    fn shuffled(&self, index: u64) -> u64 {
        let near = self.length * 5 / 8;
        let step = (near..near + self.length).find(|step| greatest_common_divisor(*step, self.length) == 1);
        index * step.unwrap_or(1) % self.length
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(pattern: Pattern, operation: Operation, stride_units: u64, units: u64) -> Test {
        let test = Test::random_dma(operation, 64, units * 64, 1 << 20);
        Test { pattern, stride_units, ..test }
    }

    #[test]
    fn sampled_directions_visit_the_units_of_the_test() {
        let visited = |test: &Test| -> (Vec<u64>, Vec<u64>) {
            let (mut read, mut written): (Vec<_>, Vec<_>) =
                sampled_offsets(test).map(|(read, written)| (read / 64, written / 64)).unzip();
            for offsets in [&mut read, &mut written] {
                offsets.sort_unstable();
                offsets.dedup();
            }
            (read, written)
        };
        let (read, written) = visited(&test(Pattern::Sequential, Operation::BwRdwr, 1, 8));
        assert_eq!((read, written), (vec![1, 3, 5, 7], vec![0, 2, 4, 6]));
        let all: Vec<u64> = (0..7).collect();
        assert_eq!(visited(&test(Pattern::Sequential, Operation::BwRdwr, 1, 7)), (all.clone(), all.clone()));
        assert_eq!(visited(&test(Pattern::Random, Operation::BwRdwr, 1, 7)), (all.clone(), all.clone()));
        assert_eq!(visited(&test(Pattern::Random, Operation::BwRd, 1, 7)), (all.clone(), all));
        let (read, written) = visited(&test(Pattern::Strided, Operation::BwRdwr, 2, 8));
        assert_eq!((read, written), (vec![2, 6], vec![0, 4]));
        assert_eq!(visited(&test(Pattern::Fixed, Operation::BwRdwr, 1, 8)), (vec![0], vec![0]));
    }

    #[test]
    fn every_unit_of_a_small_window_is_sampled_once() {
        for units in [1, 2, 3, 18, 40, 63, 64] {
            let mut count = vec![0; units as usize];
            sampled_offsets(&test(Pattern::Random, Operation::BwRd, 1, units))
                .for_each(|(read, _)| count[(read / 64) as usize] += 1);
            assert!(count.iter().all(|times| *times == 1), "{units}: {count:?}");
        }
    }
}
