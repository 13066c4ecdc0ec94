//! The one definition of a percentile, by nearest rank: the first value in order that at least this share of all values does
//! not exceed. It is a value that occurred, never one between two; the median of an even count is the lower of the middle two.

/// Which of `count` values in order, from 1, is the percentile of a share from 0 to 1; 0 of no values.
#[must_use]
pub fn nearest_rank(share: f64, count: u64) -> u64 {
    debug_assert!((0.0..=1.0).contains(&share), "a share lies from 0 to 1, not at {share}");
    ((share * count as f64).ceil() as u64).clamp(count.min(1), count)
}

/// The percentile of values that are in order already; None of no values.
#[must_use]
pub fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    debug_assert!(sorted.is_sorted_by(|one, next| one.total_cmp(next).is_le()), "values have to be in order");
    let place = nearest_rank(share, sorted.len() as u64).checked_sub(1)?;
    sorted.get(place as usize).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_a_value_that_occurred() {
        let values = [1.0, 2.0, 3.0, 10.0];
        assert_eq!(
            [0.0, 0.25, 0.26, 0.5, 0.51, 0.99, 1.0].map(|share| percentile(&values, share)),
            [1.0, 1.0, 2.0, 2.0, 3.0, 10.0, 10.0].map(Some)
        );
        assert_eq!(percentile(&[7.0], 0.999), Some(7.0));
        assert_eq!(percentile(&[], 0.5), None);
    }

    /// The shares that are shown are no binary fractions: their products with a count must not be rounded over a rank.
    #[test]
    fn ranks_of_the_shares_that_are_shown_are_exact() {
        for (share, thousandths) in [(0.5, 500), (0.9, 900), (0.95, 950), (0.99, 990), (0.999, 999)] {
            for count in 1..=100_000_u64 {
                assert_eq!(
                    nearest_rank(share, count),
                    (count * thousandths).div_ceil(1000),
                    "{share} of {count}"
                );
            }
        }
    }
}
