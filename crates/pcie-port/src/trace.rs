//! Traces of DMA: a text format, and playing one against a host.
//!
//! The first line is `# pcielab trace 1`. Other lines that start with `#`, and empty ones, are comments. Every
//! further line is a transfer: `TIME read|write OFFSET BYTES`, decimal numbers with spaces between them. TIME is
//! in picoseconds, and never less than in the line before: the earliest time at which the device has the whole
//! TLP. OFFSET counts from the start of the host buffer, so that a trace fits any host. A transfer up to MRRS or
//! MPS that crosses no multiple of 4096 is one TLP, and can be played by devices that cut nothing.

use crate::caches::Prepared;
use crate::endpoint::Endpoint;
use crate::requester::{Done, Requester};
use crate::tlp::Kind;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use pcie_sim::{BandwidthRun, DeviceTlp, Machine, TestKey};
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
        return Err(Refusal::new(problem)
            .kind(RefusalKind::Malformed)
            .remedy("give a trace of `pcielab trace record` or `convert`"));
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
            Refusal::new(format!("not a transfer: {line:.60?}"))
                .kind(RefusalKind::Malformed)
                .remedy(remedy)
                .about(subject())
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

/// Records a test of DMA: the TLPs of the machine's own device, each at the time at which that device has it, a tag
/// and credits. What limits the device (its workers, its data engine, the order of its tags) is in the times; the
/// time that it needs to store what it has read is not.
///
/// # Errors
/// The device or the host do not support the test.
pub fn record(
    test: &Test,
    list: &AddressList,
    machine: &Machine,
    key: TestKey,
    prepared: Prepared,
) -> Result<Vec<Line>, Refusal> {
    record_unless(test, list, machine, key, prepared, &mut |_| false)
}

/// The same until `stopped` returns true: it is called now and then with the TLPs so far.
///
/// # Errors
/// Those of [`record`].
pub fn record_unless(
    test: &Test,
    list: &AddressList,
    machine: &Machine,
    key: TestKey,
    prepared: Prepared,
    stopped: &mut dyn FnMut(u64) -> bool,
) -> Result<Vec<Line>, Refusal> {
    machine.supports(test).map_err(Refusal::new)?;
    let tlps = BandwidthRun::tlps(machine, test, list, key, prepared.state(machine, key), stopped);
    let line = |DeviceTlp { at, write, piece }| Line {
        ready: at,
        write,
        offset: piece.address,
        bytes: piece.length.into(),
    };
    Ok(tlps.into_iter().map(line).collect())
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
            refused = checked.err().map(|error| {
                Refusal::new(error).kind(RefusalKind::Malformed).about(format!("transfer {count}"))
            });
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
    use pcie_sim::Engine;
    use pcie_time::Stream;
    use pcie_workload::{CacheState, Operation};
    use proptest::prelude::*;
    use std::sync::Arc;

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

    const KEY: TestKey = TestKey { seed: 1, test: 0 };
    const COLD: Prepared = Prepared { cache: CacheState::Cold, window_bytes: 0 };

    fn endpoint() -> Endpoint {
        let machine = Arc::new(Machine::without_device(snb().system().clone()).unwrap());
        let state = COLD.state(&machine, KEY);
        Endpoint::new(Port::new(machine, KEY, state, Operation::BwRdwr))
    }

    fn recorded(test: &Test) -> Vec<Line> {
        let list = AddressList::new(test, KEY.draws(Stream::Addresses));
        record(test, &list, &snb(), KEY, COLD).unwrap()
    }

    /// Rate from the first transfer sent to the last one done, bytes a microsecond.
    fn rate(lines: &[Line], done: &[Done]) -> f64 {
        let bytes: u64 = lines.iter().map(|line| line.bytes).sum();
        let last = done.iter().map(|done| done.at.0).max().unwrap();
        bytes as f64 / (last - done[0].sent.0) as f64 * 1e6
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
        let lines = recorded(&test);
        assert!(lines.len() > 800 && lines.iter().all(|line| line.bytes <= 512));
        let done = play(&lines, endpoint()).unwrap();
        assert!(lines.iter().zip(&done).all(|(line, done)| line.ready == done.sent));
    }

    #[test]
    fn a_recording_has_the_pace_of_its_device_and_another_device_has_its_own() {
        let list = |test: &Test| AddressList::new(test, KEY.draws(Stream::Addresses));
        for (operation, size_bytes) in [
            (Operation::BwRd, 64),
            (Operation::BwRd, 700),
            (Operation::BwWr, 64),
            (Operation::BwWr, 407),
            (Operation::BwRdwr, 256),
        ] {
            let test = Test { operation, size_bytes, transactions: 5000, ..Test::default() };
            let (machine, list) = (snb(), list(&test));
            let mut run =
                BandwidthRun::new(Engine::Fast, &machine, &test, &list, KEY, COLD.state(&machine, KEY), 0);
            let ran =
                (test.transactions * test.size_bytes) as f64 / run.run(test.transactions).0 as f64 * 1e6;
            let lines = recorded(&test);
            let played = rate(&lines, &play(&lines, endpoint()).unwrap());
            assert!((played / ran - 1.0).abs() < 0.01, "{operation:?} {size_bytes}: {ran} and {played}");
            let at_once: Vec<_> =
                lines.iter().map(|line| Line { ready: Picoseconds::ZERO, ..*line }).collect();
            let faster = rate(&lines, &play(&at_once, endpoint()).unwrap());
            assert!(faster > 1.05 * ran, "{operation:?} {size_bytes}: {ran} and {faster}");
        }
    }

    #[test]
    fn a_transfer_that_fits_a_tlp_is_one_at_any_offset() {
        let line = |offset, bytes| Line { ready: Picoseconds::ZERO, write: false, offset, bytes };
        let headers = |line| {
            let mut requester = Requester::new(endpoint());
            let before = requester.endpoint().occupancy().reads;
            let Line { ready, offset, bytes, .. } = line;
            requester.push(Kind::Read, offset, bytes, ready).unwrap();
            requester.advance(Picoseconds(1)).unwrap();
            requester.endpoint().occupancy().reads - before
        };
        assert_eq!((headers(line(400, 300)), headers(line(400, 700)), headers(line(4000, 200))), (1, 3, 2));
        // Whole double words count.
        assert_eq!((headers(line(401, 511)), headers(line(401, 512))), (1, 2));
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
