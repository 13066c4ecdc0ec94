//! Rates of a NIC whose interrupts are moderated by time.
//!
//! An interrupt comes once in a period, or as soon as `packets` wait: `rate` packets a second at regular
//! times bring `min(rate, max(1 / period, rate / packets))` interrupts a second
//! ([`Step::per_packet`](crate::Step::per_packet)). The faster packets come, the more of them share an
//! interrupt: the rate that a link allows depends on the rate.

/// Relative difference below which two rates are the same.
const SAME: f64 = 1e-12;

/// The fixed point of `allowed`, the rate that a resource allows at a given rate. `allowed` must rise more
/// slowly than the rate.
pub fn settled_rate(allowed: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (allowed(0.0), allowed(f64::INFINITY));
    while high - low > SAME * high {
        let middle = f64::midpoint(low, high);
        if allowed(middle) > middle {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constant_rate_is_its_own_fixed_point() {
        assert_eq!(settled_rate(|_| 3.0e6), 3.0e6);
    }

    #[test]
    fn periodic_interrupt_leaves_the_rest_of_the_period_to_packets() {
        // A packet takes 20 ns of the link and an interrupt 3, once in 1000: 997 ns are left for packets.
        let allowed = |rate: f64| 1e9 / (20.0 + 3.0 * (1e6 / rate).min(1.0));
        assert!((settled_rate(allowed) / (997.0 / 20.0 * 1e6) - 1.0).abs() < 1e-9);
    }
}
