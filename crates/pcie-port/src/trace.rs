//! Traces of DMA: a text format, and playing one against a host.
//!
//! The first line is `# pcielab trace 1`. Other lines that start with `#`, and empty ones, are comments. Every
//! further line is a transfer: `TIME read|write OFFSET BYTES`, decimal numbers with spaces between them. TIME is
//! in picoseconds, and never less than in the line before: the earliest time at which the device has the whole
//! TLP. OFFSET counts from the start of the host buffer, so that a trace fits any host. A transfer up to MRRS or
//! MPS that crosses no multiple of 4096 is one TLP, and can be played by devices that cut nothing.

use crate::endpoint::Endpoint;
use crate::requester::{Done, Requester};
use crate::tlp::Kind;
use pcie_refusal::Refusal;
use pcie_time::Picoseconds;
use pcie_workload::{AddressList, Test};
use std::fmt::Write as _;

/// The first line.
pub const HEADER: &str = "# pcielab trace 1";

/// A transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// The earliest time at which its first TLP can be sent.
    pub ready: Picoseconds,
    /// Whether it writes.
    pub write: bool,
    /// Offset in the host buffer.
    pub offset: u64,
    /// Bytes.
    pub bytes: u64,
}

/// Reads a trace.
///
/// # Errors
/// Names the first wrong line.
pub fn read(text: &str) -> Result<Vec<Line>, Refusal> {
    let mut lines = text.lines().zip(1..);
    if lines.next().map(|(first, _)| first.trim_end()) != Some(HEADER) {
        let problem = format!("the first line is not `{HEADER}`");
        return Err(Refusal::new(problem).remedy("give a trace of `pcielab trace record` or `convert`"));
    }
    let mut found: Vec<Line> = Vec::new();
    for (line, number) in lines {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let before = found.last().map_or(Picoseconds::ZERO, |line| line.ready);
        let subject = || format!("line {number}");
        let read = read_line(line).ok_or_else(|| {
            let remedy = "give `TIME read|write OFFSET BYTES`, BYTES at least 1";
            Refusal::new(format!("not a transfer: {line:.60?}")).remedy(remedy).about(subject())
        })?;
        if read.ready < before {
            let remedy = format!("give at least {}, that of the line before", before.0);
            return Err(Refusal::of("TIME", read.ready.0, remedy).about(subject()));
        }
        found.push(read);
    }
    Ok(found)
}

fn read_line(line: &str) -> Option<Line> {
    let mut words = line.split_ascii_whitespace();
    let ready = Picoseconds(words.next()?.parse().ok()?);
    let write = match words.next()? {
        "read" => false,
        "write" => true,
        _ => return None,
    };
    let (offset, bytes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    (words.next().is_none() && bytes > 0).then_some(Line { ready, write, offset, bytes })
}

/// Writes a trace, with a comment below the first line.
#[must_use]
pub fn write(lines: &[Line], comment: &str) -> String {
    let mut text = format!("{HEADER}\n");
    for line in comment.lines() {
        let _ = writeln!(text, "# {line}");
    }
    for Line { ready, write, offset, bytes } in lines {
        let kind = if *write { "write" } else { "read" };
        let _ = writeln!(text, "{} {kind} {offset} {bytes}", ready.0);
    }
    text
}

/// Records a test of DMA: its transactions as TLPs, each as soon as a device with the tags of the system's link
/// can send it.
///
/// # Errors
/// The test does not fit the host.
pub fn record(test: &Test, list: &AddressList, endpoint: Endpoint) -> Result<Vec<Line>, Refusal> {
    let link = &endpoint.port().system().link;
    let (mps_bytes, mrrs_bytes) = (u64::from(link.mps_bytes), u64::from(link.mrrs_bytes));
    let mut lines = Vec::new();
    for transaction in 0..test.transactions {
        let write = AddressList::writes(test.operation, transaction, test.transactions);
        let most = if write { mps_bytes } else { mrrs_bytes };
        let (mut offset, mut left) = (list.offset(transaction), test.size_bytes);
        while left > 0 {
            let bytes = left.min(most - offset % most);
            lines.push(Line { ready: Picoseconds::ZERO, write, offset, bytes });
            (offset, left) = (offset + bytes, left - bytes);
        }
    }
    let done = play(&lines, endpoint)?;
    for (line, done) in lines.iter_mut().zip(done) {
        line.ready = done.sent;
    }
    Ok(lines)
}

/// Plays a trace with a device that has the tags of the system's link; returns every transfer, in the order of
/// the lines.
///
/// # Errors
/// Names the first line that the host refuses.
pub fn play(lines: &[Line], endpoint: Endpoint) -> Result<Vec<Done>, Refusal> {
    let mut requester = Requester::new(endpoint);
    for (line, number) in lines.iter().zip(1_u64..) {
        let kind = if line.write { Kind::Write } else { Kind::Read };
        let pushed = requester.push(kind, line.offset, line.bytes, line.ready);
        pushed.map_err(|error| Refusal::new(error).about(format!("transfer {number}")))?;
    }
    let mut done = Vec::with_capacity(lines.len());
    while let Some(next) = requester.next_at() {
        requester.advance(next).map_err(Refusal::new)?;
        done.extend(std::iter::from_fn(|| requester.take()));
    }
    done.sort_unstable_by_key(|done| done.transfer);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::port::Port;
    use crate::test_machines::snb;
    use pcie_sim::TestKey;
    use pcie_time::{Draws, Stream};
    use pcie_workload::Operation;
    use proptest::prelude::*;

    #[test]
    fn wrong_lines_are_named() {
        let refused = |text: &str| read(text).unwrap_err().to_string();
        assert!(refused("").contains(HEADER));
        assert!(refused("0 read 0 64").contains(HEADER));
        let body = |line: &str| refused(&format!("{HEADER}\n\n# comment\n5 read 0 64\n{line}\n"));
        for wrong in ["6 read 0 0", "6 move 0 64", "6 read -1 64", "6 read 0", "6 read 0 64 9", "x read 0 64"]
        {
            assert!(body(wrong).contains("line 5"), "{wrong}: {}", body(wrong));
        }
        assert!(body("4 read 0 64").contains("give at least 5"));
        assert!(body("99999999999999999999 read 0 64").contains("line 5"));
    }

    fn endpoint() -> Endpoint {
        let machine = snb();
        let (key, state) = (TestKey { seed: 1, test: 0 }, machine.boot());
        Endpoint::new(Port::new(machine, key, state, Operation::BwRdwr))
    }

    #[test]
    fn what_is_recorded_plays_at_the_same_times() {
        let test = Test {
            operation: Operation::BwRdwr,
            size_bytes: 700,
            window_bytes: 65536,
            transactions: 400,
            ..Test::default()
        };
        let list = AddressList::new(&test, Draws::new(1, 0, Stream::Addresses));
        let lines = record(&test, &list, endpoint()).unwrap();
        assert!(lines.len() > 800 && lines.iter().all(|line| line.bytes <= 512));
        let done = play(&lines, endpoint()).unwrap();
        assert!(lines.iter().zip(&done).all(|(line, done)| line.ready == done.sent));
    }

    #[test]
    fn a_transfer_outside_the_buffer_is_named() {
        let line = Line { ready: Picoseconds::ZERO, write: false, offset: 1 << 40, bytes: 64 };
        let refused = play(&[line], endpoint()).unwrap_err().to_string();
        assert!(refused.starts_with("transfer 1: 64 bytes at offset"), "{refused}");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            steps in proptest::collection::vec((0u64..9, any::<bool>(), 0u64..1 << 40, 1u64..9000), 0..50),
        ) {
            let mut ready = Picoseconds::ZERO;
            let lines: Vec<Line> = steps
                .into_iter()
                .map(|(step, write, offset, bytes)| {
                    ready += Picoseconds(step);
                    Line { ready, write, offset, bytes }
                })
                .collect();
            prop_assert_eq!(read(&write(&lines, "two\nlines")).unwrap(), lines);
        }
    }
}
