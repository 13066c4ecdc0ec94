//! Reads and bytes in flight over time, in a fixed number of spans whose width doubles as time goes on.

use serde::Serialize;

/// Spans of time.
const SPANS: usize = 256;
/// Width of the first spans, ps.
const FIRST_WIDTH_PS: u64 = 1000;

#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// Reads in flight times ps.
    reads: u128,
    bytes: u128,
    most_reads: u32,
    most_bytes: u64,
    /// Data up and down.
    data: [u64; 2],
}

/// What was in flight in a span of time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct InFlight {
    /// Its start.
    pub start_ns: f64,
    /// Its width.
    pub width_ns: f64,
    /// Reads in flight on average.
    pub reads: f64,
    /// Reads in flight at most.
    pub most_reads: u32,
    /// Bytes that they ask for and that are not yet there, on average.
    pub bytes: f64,
    /// The same at most.
    pub most_bytes: u64,
    /// Data towards the root complex, Gb/s.
    pub upstream_gbps: f64,
    /// Data from it.
    pub downstream_gbps: f64,
}

/// Reads and bytes in flight over time.
#[derive(Clone, Debug)]
pub struct Flight {
    start: Option<u64>,
    now: u64,
    width: u64,
    spans: Vec<Span>,
    reads: u32,
    bytes: u64,
}

impl Default for Flight {
    fn default() -> Self {
        Self {
            start: None,
            now: 0,
            width: FIRST_WIDTH_PS,
            spans: vec![Span::default(); SPANS],
            reads: 0,
            bytes: 0,
        }
    }
}

impl Flight {
    /// Moves time on; an earlier one changes nothing.
    pub fn advance(&mut self, to: u64) {
        let start = *self.start.get_or_insert(to);
        if self.now < start {
            self.now = start;
        }
        while to >= start.saturating_add(self.width.saturating_mul(SPANS as u64)) {
            for span in 0..SPANS / 2 {
                let (one, other) = (self.spans[2 * span], self.spans[2 * span + 1]);
                self.spans[span] = Span {
                    reads: one.reads + other.reads,
                    bytes: one.bytes + other.bytes,
                    most_reads: one.most_reads.max(other.most_reads),
                    most_bytes: one.most_bytes.max(other.most_bytes),
                    data: [one.data[0] + other.data[0], one.data[1] + other.data[1]],
                };
            }
            self.spans[SPANS / 2..].fill(Span::default());
            self.width = self.width.saturating_mul(2);
        }
        while self.now < to {
            let span = ((self.now - start) / self.width) as usize;
            let until = to.min(start + (span as u64 + 1) * self.width);
            let (reads, bytes) = (self.reads, self.bytes);
            if let Some(span) = self.spans.get_mut(span) {
                span.reads += u128::from(reads) * u128::from(until - self.now);
                span.bytes += u128::from(bytes) * u128::from(until - self.now);
                span.most_reads = span.most_reads.max(reads);
                span.most_bytes = span.most_bytes.max(bytes);
            }
            self.now = until;
        }
    }

    /// Changes what is in flight at the present time.
    pub fn change(&mut self, reads: i32, bytes: i64) {
        self.reads = self.reads.saturating_add_signed(reads);
        self.bytes = self.bytes.saturating_add_signed(bytes);
    }

    /// Adds data that go a way at the present time: 0 up, 1 down.
    pub fn deliver(&mut self, way: usize, bytes: u32) {
        let Some(start) = self.start else { return };
        if let Some(span) = self.spans.get_mut(((self.now - start) / self.width) as usize) {
            span.data[way] += u64::from(bytes);
        }
    }

    /// The spans up to the present time.
    #[must_use]
    pub fn spans(&self) -> Vec<InFlight> {
        let Some(start) = self.start else { return Vec::new() };
        let passed = self.now - start;
        let width = self.width;
        let used = (passed / width) as usize + 1;
        let of = |(number, span): (usize, &Span)| {
            let from = number as u64 * width;
            let length = (passed.saturating_sub(from)).min(width).max(1);
            let gbps = |bytes: u64| 8000.0 * bytes as f64 / length as f64;
            InFlight {
                start_ns: from as f64 / 1000.0,
                width_ns: length as f64 / 1000.0,
                reads: span.reads as f64 / length as f64,
                most_reads: span.most_reads,
                bytes: span.bytes as f64 / length as f64,
                most_bytes: span.most_bytes,
                upstream_gbps: gbps(span.data[0]),
                downstream_gbps: gbps(span.data[1]),
            }
        };
        self.spans.iter().take(used).enumerate().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_keep_when_spans_double() {
        let mut flight = Flight::default();
        for step in 0..10_000_u64 {
            flight.advance(5_000_000 + step * 10_000);
            let open = step % 10 < 5;
            flight.change(
                if step % 10 == 0 {
                    4
                } else if step % 10 == 5 {
                    -4
                } else {
                    0
                },
                0,
            );
            if open {
                flight.deliver(1, 64);
            }
        }
        let spans = flight.spans();
        assert!(spans.len() <= SPANS && spans.len() > SPANS / 2 - 1);
        let time: f64 = spans.iter().map(|span| span.width_ns).sum();
        let reads: f64 = spans.iter().map(|span| span.reads * span.width_ns).sum();
        assert!((reads / time - 2.0).abs() < 0.01, "{}", reads / time);
        assert!(spans.iter().all(|span| span.most_reads == 4));
        let bytes: f64 = spans.iter().map(|span| span.downstream_gbps * span.width_ns / 8.0).sum();
        assert!((bytes - 5000.0 * 64.0).abs() < 1.0, "{bytes}");
    }
}
