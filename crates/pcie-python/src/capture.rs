//! Captures of packets: explained, listed, played again with other cuts, and made of simulated accesses.

use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{Read, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use pcie_capture::{
    Direction, Event, Facts, Field, Format, Options as ReadOptions, Packet, WriteOptions, Writer,
};
use pcie_port::trace::{self, Line};
use pcie_refusal::{Kind, Refusal};
use pcie_time::Picoseconds;
use pcie_transactions::{Access, Accesses, Class, Filter, Options, Row, StatedLimits, explain, list, record};
use pcie_wire::PAGE_BYTES;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap};

use crate::describe::System;
use crate::error::{Error, Result};
use crate::json::{parse, text as to_json};
use crate::trace::Host;

/// Interval of looks for signals, and of calls of the progress function.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Rows that go to Python at once.
const ROWS_AT_ONCE: usize = 1000;
/// Accesses that are taken from a capture to be played.
const ACCESSES_MOST: usize = 1_000_000;
/// Packets after which what a file says of itself is known.
const FACTS_EVENTS: u64 = 1000;
/// Bytes of a piece of a file.
const PIECE_BYTES: usize = 1 << 20;

/// How to read a file.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Reading {
    /// Name of the format; found by the content if left out.
    format: Option<String>,
    /// Bytes of each packet before its TLP, of a packet capture.
    skip_bytes: Option<u32>,
    /// Columns of a table, by the name of the field.
    columns: BTreeMap<String, String>,
    /// Clock period of a logic analyser, ps.
    clock_ps: Option<u64>,
    /// Name of the clock in value changes.
    clock: Option<String>,
    /// Link type of the packets that hold TLPs, in a packet capture.
    link_type: Option<u32>,
    /// Unit of times without one.
    time_unit: Option<String>,
}

impl Reading {
    fn options(&self) -> std::result::Result<ReadOptions, Refusal> {
        let mut columns = Vec::new();
        for (word, column) in &self.columns {
            let field = Field::of_word(word).ok_or_else(|| {
                let words: Vec<_> = Field::words().collect();
                Refusal::of("columns", word, format!("give one of {}", words.join(", ")))
                    .kind(Kind::WrongValue)
            })?;
            columns.push((field, column.clone()));
        }
        Ok(ReadOptions {
            format: self.format.as_deref().map(Format::of_word).transpose()?,
            skip_bytes: self.skip_bytes.unwrap_or(0) as usize,
            link_type: self.link_type,
            columns,
            time_unit: self.time_unit.clone(),
            clock_ps: self.clock_ps,
            clock: self.clock.clone(),
            ..ReadOptions::default()
        })
    }
}

/// What the user knows of the link.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Stated {
    generation: Option<u32>,
    lanes: Option<u32>,
    flits: Option<bool>,
    mps_bytes: Option<u32>,
    mrrs_bytes: Option<u32>,
    rcb_bytes: Option<u32>,
}

/// Which transactions to list.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Selection {
    direction: Option<String>,
    kind: Option<String>,
    tag: Option<u16>,
    from_ps: Option<u64>,
    until_ps: Option<u64>,
}

/// Looks for signals, and calls the progress function with the bytes read and their total.
struct Look<'a> {
    progress: Option<&'a Py<PyAny>>,
    done: &'a Cell<u64>,
    total: u64,
    looked: Instant,
    raised: Option<PyErr>,
    interrupted: bool,
}

impl<'a> Look<'a> {
    fn new(progress: Option<&'a Py<PyAny>>, done: &'a Cell<u64>, total: u64) -> Self {
        Self { progress, done, total, looked: Instant::now(), raised: None, interrupted: false }
    }

    /// Whether to stop: Ctrl-C ends the reading, and what was read counts.
    fn stops(&mut self) -> bool {
        if self.interrupted || self.raised.is_some() {
            return true;
        }
        if self.looked.elapsed() < LOOK_EVERY {
            return false;
        }
        self.looked = Instant::now();
        let looked = Python::attach(|py| {
            py.check_signals()?;
            self.progress
                .map_or(Ok(()), |progress| progress.call1(py, (self.done.get(), self.total)).map(drop))
        });
        let Err(raised) = looked else { return false };
        if Python::attach(|py| raised.is_instance_of::<PyKeyboardInterrupt>(py)) {
            self.interrupted = true;
        } else {
            self.raised = Some(raised);
        }
        true
    }

    /// The result of work that Ctrl-C must not cut short.
    fn finished<T>(self, result: std::result::Result<T, Refusal>) -> Result<T> {
        if self.interrupted {
            return Err(Error::Raised(PyKeyboardInterrupt::new_err(())));
        }
        self.result(result)
    }

    fn result<T>(self, result: std::result::Result<T, Refusal>) -> Result<T> {
        match self.raised {
            Some(raised) => Err(Error::Raised(raised)),
            None => result.map_err(Into::into),
        }
    }
}

/// Counts what is read.
struct Counted<'a> {
    file: File,
    done: &'a Cell<u64>,
}

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let read = self.file.read(into)?;
        self.done.set(self.done.get() + read as u64);
        Ok(read)
    }
}

fn open(path: &Path) -> std::result::Result<File, Refusal> {
    File::open(path).map_err(|error| {
        let missing = error.kind() == std::io::ErrorKind::NotFound;
        let kind = if missing { Kind::NotFound } else { Kind::NotAllowed };
        Refusal::new(error)
            .kind(kind)
            .remedy("give a capture that can be read")
            .about(path.display().to_string())
    })
}

/// Reads a capture from its start.
fn read_capture(
    path: &Path,
    reading: &Reading,
    done: &Cell<u64>,
    take: &mut dyn FnMut(Event) -> ControlFlow<()>,
) -> std::result::Result<Facts, Refusal> {
    done.set(0);
    let options = reading.options()?;
    let mut source = Counted { file: open(path)?, done };
    pcie_capture::read(&mut source, &options, take)
        .map_err(|refusal| refusal.about(path.display().to_string()))
}

fn size_of(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |facts| facts.len())
}

/// The report of a capture as JSON. `progress` is called with the bytes that are read, and their total; Ctrl-C gives
/// the report of what was read.
#[pyfunction]
#[pyo3(signature = (path, reading, stated, progress = None))]
pub(crate) fn capture_explain(
    py: Python<'_>,
    path: PathBuf,
    reading: &str,
    stated: &str,
    progress: Option<Py<PyAny>>,
) -> Result<String> {
    let reading: Reading = parse("reading", reading)?;
    let stated: Stated = parse("stated", stated)?;
    let limits = StatedLimits {
        mps_bytes: stated.mps_bytes,
        mrrs_bytes: stated.mrrs_bytes,
        rcb_bytes: stated.rcb_bytes,
    };
    let options = Options { generation: stated.generation, lanes: stated.lanes, flits: stated.flits, limits };
    py.detach(|| {
        let done = Cell::new(0);
        let mut look = Look::new(progress.as_ref(), &done, size_of(&path));
        let mut read =
            |take: &mut dyn FnMut(Event) -> ControlFlow<()>| read_capture(&path, &reading, &done, take);
        let report = explain(&mut read, &options, &mut |_| look.stops());
        to_json(&look.result(report)?)
    })
}

fn filter(selection: &Selection) -> std::result::Result<Filter, Refusal> {
    let direction = match selection.direction.as_deref() {
        None => None,
        Some("upstream") => Some(Direction::Upstream),
        Some("downstream") => Some(Direction::Downstream),
        Some(other) => return Err(Refusal::of("direction", other, "give upstream or downstream")),
    };
    let classes = [Class::Read, Class::Write, Class::Io, Class::Configuration, Class::Atomic, Class::Message];
    let class = match selection.kind.as_deref() {
        None => None,
        Some(word) => Some(classes.into_iter().find(|class| class.word() == word).ok_or_else(|| {
            let words = classes.map(Class::word);
            Refusal::of("kind", word, format!("give {}", pcie_refusal::alike::either(&words)))
        })?),
    };
    let Selection { tag, from_ps, until_ps, .. } = *selection;
    Ok(Filter { direction, class, tag, from_ps, until_ps })
}

/// Calls `take` with lists of transactions as JSON; returns whether Ctrl-C stopped it.
#[pyfunction]
#[pyo3(signature = (path, reading, selection, take, progress = None))]
pub(crate) fn capture_list(
    py: Python<'_>,
    path: PathBuf,
    reading: &str,
    selection: &str,
    take: Py<PyAny>,
    progress: Option<Py<PyAny>>,
) -> Result<bool> {
    let reading: Reading = parse("reading", reading)?;
    let filter = filter(&parse("selection", selection)?)?;
    py.detach(|| {
        let done = Cell::new(0);
        let look = RefCell::new(Look::new(progress.as_ref(), &done, size_of(&path)));
        let mut rows: Vec<Row> = Vec::new();
        let mut events = 0_u64;
        let mut read = |take: &mut dyn FnMut(Event) -> ControlFlow<()>| {
            read_capture(&path, &reading, &done, &mut |event| {
                events += 1;
                if events.is_multiple_of(1024) && look.borrow_mut().stops() {
                    return ControlFlow::Break(());
                }
                take(event)
            })
        };
        let give = |rows: &mut Vec<Row>| -> ControlFlow<()> {
            let given = to_json(&rows).and_then(|text| {
                Python::attach(|py| take.call1(py, (text,)).map(drop)).map_err(Error::Raised)
            });
            rows.clear();
            match given {
                Ok(()) => ControlFlow::Continue(()),
                Err(Error::Raised(raised)) => {
                    look.borrow_mut().raised.get_or_insert(raised);
                    ControlFlow::Break(())
                }
                Err(_) => ControlFlow::Break(()),
            }
        };
        let listed = list(&mut read, &filter, &mut |row| {
            rows.push(row);
            if rows.len() < ROWS_AT_ONCE { ControlFlow::Continue(()) } else { give(&mut rows) }
        });
        if !rows.is_empty() {
            let _ = give(&mut rows);
        }
        let look = look.into_inner();
        let interrupted = look.interrupted;
        look.result(listed)?;
        Ok(interrupted)
    })
}

/// Writes the packets of a capture in another format: calls `take` with pieces of the file. Returns what the format
/// cannot hold, each with its count, and whether Ctrl-C stopped it.
#[pyfunction]
#[pyo3(signature = (path, reading, form, take, progress = None))]
pub(crate) fn capture_convert(
    py: Python<'_>,
    path: PathBuf,
    reading: &str,
    form: &str,
    take: Py<PyAny>,
    progress: Option<Py<PyAny>>,
) -> Result<(Vec<(String, u64)>, bool)> {
    let reading: Reading = parse("reading", reading)?;
    let format = Format::of_word(form)?;
    py.detach(|| {
        let done = Cell::new(0);
        let mut look = Look::new(progress.as_ref(), &done, size_of(&path));
        let failed = |error| Refusal::new(format!("cannot write: {error}"));
        // What the file says of itself comes with its last packet, and leads the other file: its start is enough.
        let mut events = 0_u64;
        let facts = read_capture(&path, &reading, &done, &mut |_| {
            events += 1;
            if events < FACTS_EVENTS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let mut writer =
            Writer::new(format, &facts, &WriteOptions::default(), Pieces { take: &take, bytes: Vec::new() })?;
        let mut problem = None;
        let read = read_capture(&path, &reading, &done, &mut |event| {
            problem = writer.event(&event).err();
            if problem.is_some() || look.stops() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let interrupted = look.interrupted;
        look.result(read)?;
        if let Some(problem) = problem {
            return Err(failed(problem).into());
        }
        let (written, mut pieces) = writer.finish().map_err(failed)?;
        pieces.give().map_err(failed)?;
        Ok((
            written.left_out.into_iter().map(|(what, count)| (what.to_owned(), count)).collect(),
            interrupted,
        ))
    })
}

/// A file that goes to Python piece by piece.
struct Pieces<'a> {
    take: &'a Py<PyAny>,
    bytes: Vec<u8>,
}

impl Pieces<'_> {
    fn give(&mut self) -> std::io::Result<()> {
        let bytes = std::mem::take(&mut self.bytes);
        Python::attach(|py| self.take.call1(py, (PyBytes::new(py, &bytes),)).map(drop))
            .map_err(|raised| std::io::Error::other(raised.to_string()))
    }
}

impl Write for Pieces<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() >= PIECE_BYTES {
            self.give()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The device's accesses of a capture as a trace, all as early as possible or at their times: the requests as captured, or
/// with adjacent ones merged. Pages become pages of the buffer in the order of first use, again from its start where it
/// ends.
#[pyfunction]
#[pyo3(signature = (path, reading, merged, timed, buffer_bytes))]
pub(crate) fn capture_trace(
    py: Python<'_>,
    path: PathBuf,
    reading: &str,
    merged: bool,
    timed: bool,
    buffer_bytes: u64,
) -> Result<String> {
    let reading: Reading = parse("reading", reading)?;
    py.detach(|| {
        let done = Cell::new(0);
        let mut look = Look::new(None, &done, 0);
        let (mut accesses, mut found) = (Accesses::default(), Vec::<Access>::new());
        let read = read_capture(&path, &reading, &done, &mut |event| {
            if found.len() >= ACCESSES_MOST || (event.record.is_multiple_of(1024) && look.stops()) {
                return ControlFlow::Break(());
            }
            let Packet::Tlp(tlp) = &event.packet else { return ControlFlow::Continue(()) };
            let class = Class::of(tlp.kind).filter(|class| matches!(class, Class::Read | Class::Write));
            let range = pcie_transactions::range_of(tlp).filter(|range| range.bytes > 0);
            let (Some(class), Some(range), Some(Direction::Upstream) | None) =
                (class, range, event.direction)
            else {
                return ControlFlow::Continue(());
            };
            let write = class == Class::Write;
            if merged {
                found.extend(accesses.take(write, event.direction, range, event.time_ps));
            } else {
                found.push(Access {
                    write,
                    from_device: true,
                    address: range.address,
                    bytes: range.bytes.into(),
                    requests: 1,
                    start_ps: event.time_ps,
                });
            }
            ControlFlow::Continue(())
        });
        look.finished(read)?;
        found.extend(accesses.into_open());
        found.sort_by_key(|access| access.start_ps);
        let lines = in_buffer(&found, timed, buffer_bytes);
        Ok(trace::write(&lines, "the device's accesses of a capture"))
    })
}

/// The accesses as transfers in the host buffer.
fn in_buffer(accesses: &[Access], timed: bool, buffer_bytes: u64) -> Vec<Line> {
    let page = u64::from(PAGE_BYTES);
    let pages = (buffer_bytes / page).max(1);
    let mut used: HashMap<u64, u64> = HashMap::new();
    let mut next = 0_u64;
    let zero = accesses.iter().filter_map(|access| access.start_ps).min().unwrap_or(0);
    let mut lines = Vec::with_capacity(accesses.len());
    for access in accesses {
        let first = access.address / page;
        let span = (access.address % page + access.bytes).div_ceil(page).min(pages);
        // Pages that belong together stay so, unless one of them was used before.
        let start = *used.entry(first).or_insert_with(|| {
            let start = if next % pages + span > pages { next.div_ceil(pages) * pages } else { next };
            next = start + span;
            start
        });
        let offset = start % pages * page + access.address % page;
        let bytes = access.bytes.min(buffer_bytes.saturating_sub(offset));
        let ready = if timed { access.start_ps.unwrap_or(zero) - zero } else { 0 };
        if bytes > 0 {
            lines.push(Line { ready: Picoseconds(ready), write: access.write, offset, bytes });
        }
    }
    lines
}

/// Plays a trace on a system's host, and writes what an analyser at the device would capture, into a file of a
/// format; returns its packets.
#[pyfunction]
#[pyo3(signature = (system, text, form, with_credits, cache, window_bytes, seed))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn capture_record(
    py: Python<'_>,
    system: &System,
    text: &str,
    form: &str,
    with_credits: bool,
    cache: &str,
    window_bytes: u64,
    seed: u64,
) -> Result<Vec<u8>> {
    let endpoint = Host::new(system, cache, window_bytes, seed)?.endpoint();
    let lines = trace::read(text)?;
    py.detach(|| {
        let done = Cell::new(0);
        let mut look = Look::new(None, &done, 0);
        let recorded = record::record(&lines, endpoint, with_credits, &mut || look.stops());
        let (events, facts) = look.finished(recorded)?;
        let failed = |error| Refusal::new(format!("cannot write: {error}"));
        let mut writer = Writer::new(Format::of_word(form)?, &facts, &WriteOptions::default(), Vec::new())?;
        for event in &events {
            writer.event(event).map_err(failed)?;
        }
        let (_, content) = writer.finish().map_err(failed)?;
        Ok(content)
    })
}
