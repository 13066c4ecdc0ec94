//! Medians of times with their standard errors, and differences between them.
//!
//! A standard error is that of the samples. It does not include what changes between two measurements, for
//! example the clock of the core.

use pcie_host::Clock;
use pcie_statistics::Histogram;
use pcie_store::Scalar;

/// Standard errors below which a difference is not resolvable.
const RESOLVABLE_ERRORS: f64 = 2.0;

/// A median time, or the difference of two.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Median {
    pub(crate) value_ns: f64,
    pub(crate) standard_error_ns: f64,
}

impl Median {
    /// The median of latencies in ticks of a clock.
    pub(crate) fn of(seen: &Histogram, clock: &Clock) -> Self {
        let tick = clock.timer().tick();
        Self {
            value_ns: tick.in_ns(f64::from(seen.quantile(0.5))),
            standard_error_ns: tick.in_ns(seen.median_standard_error()),
        }
    }

    /// The rest of a whole without one of its parts.
    #[expect(clippy::disallowed_methods, reason = "a measurement, which no other machine repeats")]
    pub(crate) fn less(self, part: Self) -> Self {
        Self {
            value_ns: self.value_ns - part.value_ns,
            standard_error_ns: self.standard_error_ns.hypot(part.standard_error_ns),
        }
    }

    /// Itself and its standard error, as the numbers of a part.
    pub(crate) fn scalars(self, subject: &str, metric: &str) -> [Scalar; 2] {
        [(metric, self.value_ns), ("standard_error", self.standard_error_ns)].map(|(metric, value)| Scalar {
            subject: subject.into(),
            metric: metric.into(),
            unit: "ns".into(),
            value,
        })
    }

    /// A caveat on a difference that its standard error hides; `subject` names it.
    pub(crate) fn unresolvable(self, subject: &str) -> Option<String> {
        (self.value_ns.abs() < RESOLVABLE_ERRORS * self.standard_error_ns).then(|| {
            format!(
                "{subject}: not resolvable: {:.0} ns with a standard error of {:.0} ns",
                self.value_ns, self.standard_error_ns
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_below_two_standard_errors_is_not_resolvable() {
        let floor = Median { value_ns: 900.0, standard_error_ns: 3.0 };
        let difference = |whole_ns| Median { value_ns: whole_ns, standard_error_ns: 4.0 }.less(floor);
        assert_eq!(difference(911.0), Median { value_ns: 11.0, standard_error_ns: 5.0 });
        assert_eq!(difference(911.0).unresolvable("transfer"), None);
        let caveat = difference(891.0).unresolvable("transfer");
        assert_eq!(caveat.as_deref(), Some("transfer: not resolvable: -9 ns with a standard error of 5 ns"));
        let [value, error] = difference(911.0).scalars("transfer", "difference");
        assert_eq!((value.metric.as_str(), value.value), ("difference", 11.0));
        assert_eq!(
            (error.subject.as_str(), error.metric.as_str(), error.value),
            ("transfer", "standard_error", 5.0)
        );
    }
}
