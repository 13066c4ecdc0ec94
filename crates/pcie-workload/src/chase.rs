//! The cycle of a pointer chase: the order in which its reads visit the units of a window.

use crate::units::greatest_common_divisor;
use crate::{AddressList, Pattern};

/// Offsets of the reads of one pass, after which the chase is back at the first.
///
/// A random pattern is a random permutation of the usable units, drawn from the list's draws: every unit is
/// visited once before any is visited again, and no prefetcher can foresee the next one. A sequential pattern
/// visits all of them in order, a strided one those that its stride meets, and a fixed one the first.
#[must_use]
pub fn cycle(list: &AddressList) -> Vec<u64> {
    let units = list.units();
    let usable = units.usable_count();
    let stride = list.stride() % usable;
    let visits: Vec<u64> = match list.pattern() {
        Pattern::Fixed => vec![0],
        Pattern::Sequential => (0..usable).collect(),
        Pattern::Strided => {
            let length = usable / greatest_common_divisor(usable, stride);
            (0..length)
                .map(|visit| (u128::from(visit) * u128::from(stride) % u128::from(usable)) as u64)
                .collect()
        }
        Pattern::Random => shuffled(list, usable),
    };
    visits.into_iter().map(|nth| units.address(units.nth_usable(nth))).collect()
}

/// A random permutation of `0..count` (Fisher and Yates).
fn shuffled(list: &AddressList, count: u64) -> Vec<u64> {
    let mut order: Vec<u64> = (0..count).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, list.draws().below(last as u64, last as u64 + 1) as usize);
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Operation, Path, Test};
    use pcie_time::{Draws, Stream};
    use std::collections::BTreeSet;

    fn visits(pattern: Pattern, stride_units: u64, seed: u64) -> Vec<u64> {
        let chase = Test::random_dma(Operation::LatChase, 8, 4096, 1);
        let test = Test { path: Path::Command, pattern, stride_units, ..chase };
        test.validate().unwrap();
        cycle(&AddressList::new(&test, Draws::new(seed, 0, Stream::Addresses)))
    }

    #[test]
    fn random_cycle_visits_every_unit_once_in_an_order_of_the_seed() {
        let (first, again, other) =
            (visits(Pattern::Random, 1, 1), visits(Pattern::Random, 1, 1), visits(Pattern::Random, 1, 2));
        let units: BTreeSet<u64> = (0..64).map(|unit| unit * 64).collect();
        assert_eq!((first.len(), first.iter().copied().collect::<BTreeSet<u64>>()), (64, units));
        assert_eq!(first, again);
        assert_ne!(first, other);
        let in_order = first.windows(2).filter(|pair| pair[1] == pair[0] + 64).count();
        assert!(in_order < 8, "{first:?}");
    }

    #[test]
    fn other_patterns_visit_units_in_their_order() {
        assert_eq!(visits(Pattern::Fixed, 1, 1), [0]);
        assert_eq!(visits(Pattern::Sequential, 1, 1)[..3], [0, 64, 128]);
        assert_eq!(visits(Pattern::Sequential, 1, 1).len(), 64);
        assert_eq!(visits(Pattern::Strided, 16, 1), [0, 1024, 2048, 3072]);
        let all = visits(Pattern::Strided, 27, 1);
        assert_eq!((all[1], all[3], all.len()), (27 * 64, (81 - 64) * 64, 64));
    }

    #[test]
    fn window_of_one_unit_is_a_cycle_of_one() {
        let test = Test { path: Path::Command, ..Test::random_dma(Operation::LatChase, 8, 64, 1) };
        for pattern in [Pattern::Random, Pattern::Sequential, Pattern::Strided, Pattern::Fixed] {
            let test = Test { pattern, ..test.clone() };
            assert_eq!(cycle(&AddressList::new(&test, Draws::new(1, 0, Stream::Addresses))), [0]);
        }
    }
}
