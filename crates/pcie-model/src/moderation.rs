//! Rates of a NIC whose interrupts are moderated by time.
//!
//! Such an interrupt comes once in a period, or as soon as so many packets wait: of `rate` packets a second at regular times
//! `min(rate, max(1 / period, rate / packets))` are interrupts ([`Step::per_packet`](crate::Step::per_packet)). The faster
//! packets come, the less of an interrupt each of them pays for, and so the rate that a link allows depends on the rate.

/// Rates closer to each other than this part of them are the same.
const SAME: f64 = 1e-12;

/// The rate that is allowed where it is the rate: `allowed` is what a resource allows at a rate, and rises with it, but
/// slower than the rate does, as what is asked of the resource in a second never falls.
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
    fn what_does_not_depend_on_the_rate_is_the_rate() {
        assert_eq!(settled_rate(|_| 3.0e6), 3.0e6);
    }

    #[test]
    fn an_interrupt_in_a_period_takes_its_time_off_the_period() {
        // A packet takes 20 ns of the link and an interrupt 3, once in 1000: 997 ns are left for packets.
        let allowed = |rate: f64| 1e9 / (20.0 + 3.0 * (1e6 / rate).min(1.0));
        assert!((settled_rate(allowed) / (997.0 / 20.0 * 1e6) - 1.0).abs() < 1e-9);
    }
}
