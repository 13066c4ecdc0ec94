//! Percentiles by nearest rank: the first value in order with at least that share of all values at or below
//! it. The result is a value that occurred; the median of an even count is the lower of the middle two.

/// Rank, from 1, of the percentile of a share from 0 to 1 among `count` values; 0 of no values.
#[must_use]
pub fn nearest_rank(share: f64, count: u64) -> u64 {
    debug_assert!((0.0..=1.0).contains(&share), "share {share} is outside 0 to 1");
    ((share * count as f64).ceil() as u64).clamp(count.min(1), count)
}

/// The percentile of sorted values; None of no values.
#[must_use]
pub fn percentile(sorted: &[f64], share: f64) -> Option<f64> {
    debug_assert!(sorted.is_sorted_by(|one, next| one.total_cmp(next).is_le()), "values are not sorted");
    let index = nearest_rank(share, sorted.len() as u64).checked_sub(1)?;
    sorted.get(index as usize).copied()
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

    /// These shares are no binary fractions: rounding their product with a count must not change the rank.
    #[test]
    fn ranks_of_usual_shares_are_exact() {
        for (share, thousandths) in [(0.5, 500), (0.9, 900), (0.95, 950), (0.99, 990), (0.999, 999)] {
            for count in 1..=100_000_u64 {
                let exact = (count * thousandths).div_ceil(1000);
                assert_eq!(nearest_rank(share, count), exact, "{share} of {count}");
            }
        }
    }
}
