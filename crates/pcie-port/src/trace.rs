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

/// Lines between two looks for a stop: a few milliseconds.
const LINES_BETWEEN_LOOKS: usize = 4096;

/// The first line.
pub const HEADER: &str = "# pcielab trace 1";

/// Most TLPs of a trace without a larger limit: about ten seconds.
pub const TLPS_MOST: u64 = 10_000_000;

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

impl Line {
    fn kind(&self) -> Kind {
        if self.write { Kind::Write } else { Kind::Read }
    }
}

/// The transfers of a trace, read one by one.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    text: std::str::Lines<'a>,
    /// Number of the line read last, from 1.
    number: u64,
    /// Time of the transfer before.
    before: Picoseconds,
}

/// Starts to read a trace.
///
/// # Errors
/// The first line is another.
pub fn lines(text: &str) -> Result<Lines<'_>, Refusal> {
    let mut text = text.lines();
    if text.next().map(str::trim_end) != Some(HEADER) {
        let problem = format!("the first line is not `{HEADER}`");
        return Err(Refusal::new(problem).remedy("give a trace of `pcielab trace record` or `convert`"));
    }
    Ok(Lines { text, number: 1, before: Picoseconds::ZERO })
}

impl Iterator for Lines<'_> {
    type Item = Result<Line, Refusal>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.text.next()?;
            self.number += 1;
            if !line.is_empty() && !line.starts_with('#') {
                return Some(self.transfer(line));
            }
        }
    }
}

impl Lines<'_> {
    fn transfer(&mut self, line: &str) -> Result<Line, Refusal> {
        let subject = || format!("line {}", self.number);
        let read = read_line(line).ok_or_else(|| {
            let remedy = "give `TIME read|write OFFSET BYTES`, BYTES at least 1";
            Refusal::new(format!("not a transfer: {line:.60?}")).remedy(remedy).about(subject())
        })?;
        if read.ready < self.before {
            let remedy = format!("give at least {}, that of the line before", self.before.0);
            return Err(Refusal::of("TIME", read.ready.0, remedy).about(subject()));
        }
        self.before = read.ready;
        Ok(read)
    }
}

/// Reads a trace as a whole.
///
/// # Errors
/// Names the first wrong line.
pub fn read(text: &str) -> Result<Vec<Line>, Refusal> {
    lines(text)?.collect()
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
    record_unless(test, list, endpoint, &mut |_| false)
}

/// The same until `stopped` returns true, see [`play_unless`].
///
/// # Errors
/// Those of [`record`].
pub fn record_unless(
    test: &Test,
    list: &AddressList,
    endpoint: Endpoint,
    stopped: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Line>, Refusal> {
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
    let done = play_unless(lines.iter().map(|line| Ok(*line)), endpoint, u64::MAX, stopped)?;
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
    play_unless(lines.iter().map(|line| Ok(*line)), endpoint, u64::MAX, &mut |_| false)
}

/// The same for lines as they are read, until `stopped` returns true: it is called between two steps of the
/// device with the number of transfers that are done. What is done by then is returned. `limit`: TLPs that all
/// transfers may take.
///
/// # Errors
/// Those of [`play`], a wrong line, and more TLPs: all before the first transfer is sent.
pub fn play_unless(
    lines: impl Iterator<Item = Result<Line, Refusal>> + Clone,
    endpoint: Endpoint,
    limit: u64,
    stopped: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Done>, Refusal> {
    let mut requester = Requester::new(endpoint);
    let count = check(lines.clone(), &requester, limit, stopped)?;
    let mut done = Vec::with_capacity(count);
    let mut waiting = lines.peekable();
    while !stopped(done.len() as u64) {
        let next = requester.next_at();
        // The device has every transfer that is ready by the next step, and no other: a trace has millions.
        let ready = |line: &Result<Line, Refusal>| line.as_ref().is_ok_and(|line| Some(line.ready) <= next);
        let mut line = if next.is_none() { waiting.next() } else { waiting.next_if(ready) };
        if next.is_none() && line.is_none() {
            break;
        }
        while let Some(pushed) = line {
            let pushed = pushed?;
            let number = requester.push(pushed.kind(), pushed.offset, pushed.bytes, pushed.ready);
            number.map_err(Refusal::new)?;
            line = waiting.next_if(ready);
        }
        if let Some(next) = next {
            requester.advance(next).map_err(Refusal::new)?;
            done.extend(std::iter::from_fn(|| requester.take()));
        }
    }
    done.sort_unstable_by_key(|done| done.transfer);
    Ok(done)
}

/// Checks every line, so that none is played of a trace that is refused; returns their number.
fn check(
    lines: impl Iterator<Item = Result<Line, Refusal>>,
    requester: &Requester,
    limit: u64,
    stopped: &mut dyn FnMut(u64) -> bool,
) -> Result<usize, Refusal> {
    let (mut count, mut tlps, mut refused) = (0_usize, 0_u64, None);
    for line in lines {
        let line = line?;
        count += 1;
        tlps = tlps.saturating_add(requester.tlps(line.kind(), line.offset, line.bytes));
        if count.is_multiple_of(LINES_BETWEEN_LOOKS) && stopped(0) {
            break;
        }
        if refused.is_none() {
            let checked = requester.check(line.kind(), line.offset, line.bytes, line.ready);
            refused = checked.err().map(|error| Refusal::new(error).about(format!("transfer {count}")));
        }
    }
    match refused {
        Some(refusal) => Err(refusal),
        None if tlps > limit => {
            let problem = format!("the trace has {tlps} TLPs");
            Err(Refusal::of("limit", limit, format!("give {tlps}, or fewer bytes")).problem(problem))
        }
        None => Ok(count),
    }
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
    fn transfers_read_on_the_way_play_as_if_all_were_known() {
        let spaced = (0..600_u64).map(|number| Line {
            ready: Picoseconds(number / 3 * 20_000),
            write: number % 4 == 0,
            offset: 64 * (number * 37 % 1000),
            bytes: 1 + number * 13 % 3000,
        });
        let lines: Vec<Line> = spaced.collect();
        let mut requester = Requester::new(endpoint());
        for line in &lines {
            requester.push(line.kind(), line.offset, line.bytes, line.ready).unwrap();
        }
        let mut known = Vec::new();
        while let Some(next) = requester.next_at() {
            requester.advance(next).unwrap();
            known.extend(std::iter::from_fn(|| requester.take()));
        }
        known.sort_unstable_by_key(|done| done.transfer);
        assert_eq!(play(&lines, endpoint()).unwrap(), known);
    }

    #[test]
    fn playing_stops_within_a_transfer() {
        let bytes = endpoint().port().buffer().bytes();
        let long = [Line { ready: Picoseconds::ZERO, write: false, offset: 0, bytes }];
        let mut asked = 0;
        let mut stopped = |done| {
            asked += 1;
            assert_eq!(done, 0);
            asked == 100
        };
        let done =
            play_unless(long.iter().map(|line| Ok(*line)), endpoint(), u64::MAX, &mut stopped).unwrap();
        assert_eq!((done.len(), asked), (0, 100));
    }

    #[test]
    fn nothing_is_played_of_a_trace_with_a_wrong_last_line() {
        let text = write(&[Line { ready: Picoseconds::ZERO, write: true, offset: 0, bytes: 64 }; 50], "");
        let wrong = format!("{text}1 read 0 0\n");
        let played = play_unless(lines(&wrong).unwrap(), endpoint(), u64::MAX, &mut |_| unreachable!());
        assert!(played.unwrap_err().to_string().starts_with("line 52: not a transfer"));
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

    #[test]
    fn a_trace_of_too_many_tlps_is_refused_before_the_first() {
        let mrrs = u64::from(endpoint().port().system().link.mrrs_bytes);
        let line = Line { ready: Picoseconds::ZERO, write: false, offset: 0, bytes: 3 * mrrs };
        let few = |limit| play_unless([Ok(line), Ok(line)].into_iter(), endpoint(), limit, &mut |_| false);
        assert_eq!(few(6).unwrap().len(), 2);
        let refused = few(5).unwrap_err().to_string();
        assert_eq!(refused, "limit is 5: the trace has 6 TLPs: give 6, or fewer bytes");
    }
}
