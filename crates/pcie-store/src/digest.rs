//! Digests that show damage to a reader: SHA-256 in hexadecimal over the rows of a table in key order, as
//! `docs/reference/store.md` specifies. They do not detect forgery.

use sha2::{Digest as _, Sha256};

use crate::record::TestRecord;
use pcie_trace::Segment;

/// Length of a missing text.
const NO_TEXT: u64 = u64::MAX;

/// A digest under construction.
struct Digest(Sha256);

impl Digest {
    fn new() -> Self {
        Self(Sha256::new())
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.count(text.len());
        self.0.update(text);
        self
    }

    fn integer(&mut self, value: i64) -> &mut Self {
        self.0.update(value.to_le_bytes());
        self
    }

    fn real(&mut self, value: f64) -> &mut Self {
        // SQLite drops the sign of zero.
        self.0.update(if value == 0.0 { 0.0_f64 } else { value }.to_le_bytes());
        self
    }

    fn count(&mut self, rows: usize) {
        self.0.update((rows as u64).to_le_bytes());
    }

    fn hexadecimal(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// The digest of a test: its row, and its rows in the three tables of results.
pub(crate) fn of_test(test: &TestRecord) -> String {
    let mut digest = Digest::new();
    digest.integer(test.id.cast_signed()).text(&test.family).text(&test.name).text(&test.parameters);
    digest.text(test.status.as_str());
    match &test.message {
        Some(message) => drop(digest.text(message)),
        None => digest.0.update(NO_TEXT.to_le_bytes()),
    }
    let mut scalars: Vec<_> = test.scalars.iter().collect();
    scalars.sort_by_key(|scalar| (&scalar.subject, &scalar.metric));
    digest.count(scalars.len());
    for scalar in scalars {
        digest.text(&scalar.subject).text(&scalar.metric).text(&scalar.unit).real(scalar.value);
    }
    let mut bins: Vec<_> = test
        .distributions
        .iter()
        .flat_map(|of| of.bins.iter().map(move |&(bin, count)| (&of.metric, bin, &of.tick, count)))
        .collect();
    bins.sort_unstable();
    digest.count(bins.len());
    for (metric, bin, tick, count) in bins {
        digest.text(metric).text(tick).integer(bin).integer(count.cast_signed());
    }
    let mut series: Vec<_> = test.series.iter().collect();
    series.sort_by_key(|of| &of.metric);
    digest.count(series.iter().map(|of| of.values.len()).sum());
    for of in series {
        for (index, &value) in (0_i64..).zip(&of.values) {
            digest.text(&of.metric).integer(index).real(value);
        }
    }
    if !test.trace.is_empty() {
        of_trace(&mut digest, &test.trace);
    }
    digest.hexadecimal()
}

fn of_trace(digest: &mut Digest, trace: &[Segment]) {
    digest.count(trace.len());
    for segment in trace {
        let Segment { kind, lane, name, start_ps, end_ps, request, tag, address, bytes, value } = segment;
        digest.text(kind.as_str()).text(lane).text(name);
        digest.integer(start_ps.cast_signed()).integer(end_ps.cast_signed());
        let numbers =
            [*request, tag.map(u64::from), *address, *bytes, value.map(i64::cast_unsigned)].map(|number| {
                // A missing number is 0, a present one 1 and its value.
                (i64::from(number.is_some()), number.unwrap_or(0).cast_signed())
            });
        for (known, number) in numbers {
            digest.integer(known);
            if known == 1 {
                digest.integer(number);
            }
        }
    }
}

/// The digest of a table of two text columns, in the given order.
pub(crate) fn of_texts<'a>(rows: impl ExactSizeIterator<Item = (&'a str, &'a str)>) -> String {
    let mut digest = Digest::new();
    digest.count(rows.len());
    for (first, second) in rows {
        digest.text(first).text(second);
    }
    digest.hexadecimal()
}
