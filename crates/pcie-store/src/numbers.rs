//! Checks the numbers of a test against the table of metrics.

use crate::metrics::{Kind, MOST_COUNT, Metrics, Table, in_words, metrics};
use crate::record::{Distribution, Scalar, Series, TestRecord};

/// A number that a test may not have.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WrongNumber {
    /// The metric, and its subject.
    pub part: String,
    /// What was found.
    pub found: String,
    /// What is right.
    pub expected: String,
}

/// Most scalars of a test that are kept for the next one: those of a run of many flows would fill memory.
const KNOWN_MOST: usize = 10_000;

/// The metrics of the scalars of the last test, by position: the next test mostly has the same in the same order.
#[derive(Debug, Default)]
pub(crate) struct Known(Vec<(String, String, &'static Metrics)>);

impl Known {
    /// The metric of the scalar at a position; None if tests of the kind do not have it.
    fn metric(&mut self, position: usize, kind: Kind, scalar: &Scalar) -> Option<&'static Metrics> {
        if let Some((subject, metric, known)) = self.0.get(position)
            && *metric == scalar.metric
            && *subject == scalar.subject
        {
            return Some(known);
        }
        let known = find(kind, Table::Scalar, &scalar.subject, &scalar.metric)?;
        self.0.truncate(position);
        if position < KNOWN_MOST {
            self.0.push((scalar.subject.clone(), scalar.metric.clone(), known));
        }
        Some(known)
    }
}

/// The first wrong number of a test; None if all are right. `known` is of tests of the same kind.
pub(crate) fn wrong_number(test: &TestRecord, kind: Kind, known: &mut Known) -> Option<WrongNumber> {
    let mut scalars = test.scalars.iter().enumerate();
    let wrong = scalars
        .find_map(|(position, scalar)| wrong_scalar(scalar, kind, known.metric(position, kind, scalar)));
    let distributions = || test.distributions.iter().find_map(|one| wrong_distribution(kind, one));
    let series = || test.series.iter().find_map(|series| wrong_series(kind, series));
    wrong.or_else(distributions).or_else(series)
}

fn wrong_scalar(scalar: &Scalar, kind: Kind, known: Option<&Metrics>) -> Option<WrongNumber> {
    let part = || named(&scalar.metric, &scalar.subject);
    let Some(known) = known else { return Some(unknown(kind, "a number", part())) };
    let quantity = &known.quantity;
    if quantity.unit != scalar.unit && quantity.unit != "*" {
        let part = format!("the unit of {}", part());
        let found = format!("`{}`", scalar.unit);
        return Some(WrongNumber { part, found, expected: quantity.unit.to_owned() });
    }
    (!quantity.holds(scalar.value)).then(|| WrongNumber {
        part: part(),
        found: in_words(scalar.value),
        expected: quantity.in_words(),
    })
}

fn wrong_series(kind: Kind, series: &Series) -> Option<WrongNumber> {
    let part = named(&series.metric, "");
    let Some(known) = find(kind, Table::Series, "", &series.metric) else {
        return Some(unknown(kind, "a series", part));
    };
    let quantity = &known.quantity;
    let (index, value) = series.values.iter().enumerate().find(|(_, value)| !quantity.holds(**value))?;
    Some(WrongNumber {
        part: format!("value {index} of {part}"),
        found: in_words(*value),
        expected: quantity.in_words(),
    })
}

fn wrong_distribution(kind: Kind, distribution: &Distribution) -> Option<WrongNumber> {
    let part = named(&distribution.metric, "");
    let Some(known) = find(kind, Table::Distribution, "", &distribution.metric) else {
        return Some(unknown(kind, "a distribution", part));
    };
    let quantity = &known.quantity;
    let tick_ns = length_ns(&distribution.tick).filter(|tick_ns| quantity.holds(*tick_ns));
    let Some(tick_ns) = tick_ns else {
        let expected =
            format!("the length of a tick in ns as a fraction, like 40/3, {}", quantity.in_words());
        let found = format!("`{}`", distribution.tick);
        return Some(WrongNumber { part: format!("the tick of {part}"), found, expected });
    };
    if let Some((bin, _)) = distribution.bins.iter().find(|(bin, _)| !quantity.holds(*bin as f64 * tick_ns)) {
        let expected = format!("ticks of {}", quantity.in_words());
        return Some(WrongNumber { part: format!("a bin of {part}"), found: bin.to_string(), expected });
    }
    let total = distribution.bins.iter().map(|(_, count)| *count).fold(0, u64::saturating_add);
    let counts = || distribution.bins.iter().map(|(_, count)| *count).chain([total]);
    let wrong = counts().find(|count| !(1..=MOST_COUNT).contains(count))?;
    Some(WrongNumber {
        part: format!("a count of {part}"),
        found: wrong.to_string(),
        expected: format!("1 to {:e}", MOST_COUNT as f64),
    })
}

/// The length of a tick, from a whole number of ns or a fraction of two; None for anything else.
fn length_ns(tick: &str) -> Option<f64> {
    let whole = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse::<u64>().ok()).flatten().filter(|number| *number > 0)
    };
    match tick.split_once('/') {
        None => Some(whole(tick)? as f64),
        Some((above, below)) => Some(whole(above)? as f64 / whole(below)? as f64),
    }
}

/// The first entry for a metric of a subject.
fn find(kind: Kind, table: Table, subject: &str, name: &str) -> Option<&'static Metrics> {
    metrics(kind).iter().find(|one| {
        one.table == table
            && one.names.iter().any(|pattern| fits(pattern, name))
            && one.subjects.iter().any(|pattern| fits(pattern, subject))
    })
}

/// Whether a text fits a pattern, whose last character may be `*` for any text that is not empty.
fn fits(pattern: &str, text: &str) -> bool {
    let any =
        || pattern.strip_suffix('*').is_some_and(|start| text.len() > start.len() && text.starts_with(start));
    pattern == text || any()
}

fn named(metric: &str, subject: &str) -> String {
    if subject.is_empty() { format!("`{metric}`") } else { format!("`{metric}` of `{subject}`") }
}

fn unknown(kind: Kind, form: &str, part: String) -> WrongNumber {
    let found = format!("{form} that no test of {} has", kind.as_str());
    WrongNumber { part, found, expected: "a metric of docs/reference/store.md".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::LEAST_MAGNITUDE;
    use crate::record::Status;

    fn test(scalars: &[(&str, &str, &str, f64)]) -> TestRecord {
        let scalar = |&(subject, metric, unit, value): &(&str, &str, &str, f64)| Scalar {
            subject: subject.to_owned(),
            metric: metric.to_owned(),
            unit: unit.to_owned(),
            value,
        };
        TestRecord {
            id: 0,
            family: String::new(),
            name: String::new(),
            parameters: "{}".to_owned(),
            status: Status::Ok,
            message: None,
            scalars: scalars.iter().map(scalar).collect(),
            distributions: vec![],
            series: vec![],
            trace: vec![],
        }
    }

    fn of_scalar(kind: Kind, scalar: (&str, &str, &str, f64)) -> Option<String> {
        wrong_number(&test(&[scalar]), kind, &mut Known::default())
            .map(|wrong| format!("{} is {}: {}", wrong.part, wrong.found, wrong.expected))
    }

    #[test]
    fn each_metric_has_a_unit_a_range_and_subjects() {
        let of = |scalar| of_scalar(Kind::Transfers, scalar);
        assert_eq!(of(("", "bandwidth", "Gb/s", 63.0)), None);
        assert_eq!(of(("", "bandwidth", "Gb/s", 0.0)), None);
        let range = "0, or 1e-30 to 1e9 Gb/s";
        for (value, shown) in
            [(-1.0, "-1"), (f64::INFINITY, "inf"), (f64::NAN, "NaN"), (1e308, "1e308"), (5e-324, "5e-324")]
        {
            let expected = format!("`bandwidth` is {shown}: {range}");
            assert_eq!(of(("", "bandwidth", "Gb/s", value)), Some(expected));
        }
        assert_eq!(
            of(("", "bandwidth", "GB/s", 1.0)).as_deref(),
            Some("the unit of `bandwidth` is `GB/s`: Gb/s")
        );
        assert_eq!(
            of(("", "samples", "1", 1.5)).as_deref(),
            Some("`samples` is 1.5: a whole number from 0 to 1e15")
        );
        assert_eq!(of(("transfer", "difference", "ns", -2.5)), None);
        let unknown = of(("flow a", "bandwidth", "Gb/s", 1.0));
        assert!(unknown.is_some_and(|wrong| {
            wrong.starts_with("`bandwidth` of `flow a` is a number that no test of transfers has")
        }));
    }

    /// Devices return latencies as unsigned ticks from which nothing is subtracted; a difference of two may be below 0.
    #[test]
    fn only_differences_of_latencies_are_negative() {
        let of = |scalar| of_scalar(Kind::Transfers, scalar);
        for metric in ["average", "median", "minimum", "maximum", "p95", "p99", "p999"] {
            let expected = format!("`{metric}` is -38.8: 0, or 1e-30 to 1e17 ns");
            assert_eq!(of(("", metric, "ns", -38.8)), Some(expected));
        }
        for subject in ["transfer", "bytes"] {
            assert_eq!(of((subject, "difference", "ns", -38.8)), None);
            assert!(of((subject, "standard_error", "ns", -38.8)).is_some());
        }
    }

    #[test]
    fn conditions_of_users_devices_have_any_name_and_unit() {
        let of = |scalar| of_scalar(Kind::Transfers, scalar);
        assert_eq!(of(("condition", "fan", "rpm", -40.0)), None);
        assert!(of(("condition", "fan", "rpm", 1e19)).is_some());
        assert!(of(("condition", "link_rate", "rpm", 8.0)).is_some());
        assert!(of(("condition", "link_lanes", "1", 7.5)).is_some());
    }

    #[test]
    fn a_test_is_checked_after_another_with_other_numbers() {
        let mut known = Known::default();
        let mut is_wrong = |scalars: &[(&str, &str, &str, f64)]| {
            wrong_number(&test(scalars), Kind::Transfers, &mut known).is_some()
        };
        let (median, rate) = (("", "median", "ns", 1.0), ("", "rate", "1/s", 1.0));
        assert!(!is_wrong(&[median, rate]) && !is_wrong(&[rate, median]) && !is_wrong(&[median]));
        assert!(is_wrong(&[median, ("", "rate", "ns", 1.0)]) && is_wrong(&[("", "rates", "1/s", 1.0), rate]));
        assert!(is_wrong(&[("x", "median", "ns", 1.0)]) && !is_wrong(&[median, rate]));
    }

    #[test]
    fn subjects_name_flows_and_steps() {
        assert_eq!(of_scalar(Kind::Flows, ("flow a b", "bandwidth", "GB/s", 1.0)), None);
        assert!(of_scalar(Kind::Flows, ("flow ", "bandwidth", "GB/s", 1.0)).is_some());
        assert!(of_scalar(Kind::Flows, ("", "bandwidth", "GB/s", 1.0)).is_some());
        assert_eq!(of_scalar(Kind::Frames, ("rx: packet", "rate", "1/s", 1.0)), None);
        assert_eq!(of_scalar(Kind::Frames, ("tags", "binds", "1", 1.0)), None);
        assert!(of_scalar(Kind::Frames, ("tags", "binds", "1", 0.0)).is_some());
        assert!(of_scalar(Kind::Messages, ("third-store", "at", "ns", 1.0)).is_some());
    }

    #[test]
    fn distributions_have_ticks_bins_and_counts() {
        let of = |metric: &str, tick: &str, bins: &[(i64, u64)]| {
            let one = Distribution { metric: metric.to_owned(), tick: tick.to_owned(), bins: bins.to_vec() };
            let record = TestRecord { distributions: vec![one], ..test(&[]) };
            wrong_number(&record, Kind::Transfers, &mut Known::default()).map(|wrong| wrong.part)
        };
        assert_eq!(of("latency", "40/3", &[(0, 1), (30, 5)]), None);
        assert_eq!(of("latency", "4", &[(1, 1)]), None);
        let wrong = |part: &str| Some(format!("{part} of `latency`"));
        for tick in ["0", "1/0", "-1", "1.5", "", "x", "1e3", "40/", "99999999999999999999", "٣"] {
            assert_eq!(of("latency", tick, &[(1, 1)]), wrong("the tick"), "{tick}");
        }
        for bin in [-1, i64::MAX] {
            assert_eq!(of("latency", "1", &[(bin, 1)]), wrong("a bin"));
        }
        for counts in [[0, 1], [u64::MAX, 1], [MOST_COUNT, 1]] {
            assert_eq!(of("latency", "1", &[(1, counts[0]), (2, counts[1])]), wrong("a count"));
        }
        assert_eq!(of("median", "1", &[(1, 1)]), Some("`median`".to_owned()));
    }

    #[test]
    fn a_wrong_value_of_a_series_is_named_by_its_index() {
        let of = |metric: &str, values: &[f64]| {
            let one = Series { metric: metric.to_owned(), values: values.to_vec() };
            wrong_number(
                &TestRecord { series: vec![one], ..test(&[]) },
                Kind::Transfers,
                &mut Known::default(),
            )
            .map(|wrong| wrong.part)
        };
        assert_eq!(of("latency_ticks", &[1.0, 35.5, 0.0]), None);
        assert_eq!(of("latency_ticks", &[1.0, -1.0]).as_deref(), Some("value 1 of `latency_ticks`"));
        assert_eq!(of("median", &[1.0]).as_deref(), Some("`median`"));
    }

    /// A quotient of two numbers, and its square, are finite.
    #[test]
    fn ranges_leave_room_for_arithmetic() {
        for one in Kind::ALL.iter().flat_map(|kind| metrics(*kind)) {
            let quantity = one.quantity;
            assert!(quantity.least <= quantity.most && quantity.least.abs() <= quantity.most, "{one:?}");
            assert!((quantity.most / LEAST_MAGNITUDE).powi(2).is_finite(), "{one:?}");
        }
    }
}
