//! Traces of DMA on the host of a system: recorded, played, and made from captures.

use std::sync::Arc;

use pcie_port::capture::{Captured, Selection, read_unless};
use pcie_port::{Endpoint, Port, Prepared, trace};
use pcie_sim::{Machine, TestKey};
use pcie_time::Stream;
use pcie_workload::{AddressList, Operation, Test};
use pyo3::prelude::*;

use crate::describe::System;
use crate::error::Result;
use crate::json::{parse, word};
use crate::progress::{ITEMS_BETWEEN_LOOKS, Watched};
use crate::stop::Stop;

/// The host and the link of a system, with prepared caches.
pub(crate) struct Host {
    machine: Arc<Machine>,
    key: TestKey,
    prepared: Prepared,
}

impl Host {
    pub(crate) fn new(system: &System, cache: &str, window_bytes: u64, seed: u64) -> Result<Self> {
        let prepared = Prepared { cache: word("cache", cache)?, window_bytes };
        let machine = Arc::new(Machine::without_device(system.system().clone())?);
        Ok(Self { machine, key: TestKey { seed, test: 0 }, prepared })
    }

    /// The host before its first transfer.
    pub(crate) fn endpoint(&self) -> Endpoint {
        let state = self.prepared.state(&self.machine, self.key);
        Endpoint::new(Port::new(Arc::clone(&self.machine), self.key, state, Operation::BwRdwr))
    }
}

/// The TLPs of a test as a trace, each when the device of the system sends it; `comment` goes below
/// the first line. `progress` is called with the TLPs that are done.
#[pyfunction]
#[pyo3(signature = (system, test, seed, comment, progress = None))]
pub(crate) fn trace_record(
    py: Python<'_>,
    system: &System,
    test: &str,
    seed: u64,
    comment: &str,
    progress: Option<Py<PyAny>>,
) -> Result<String> {
    let test: Test = parse("test", test)?;
    let (machine, key) = (system.machine()?, TestKey { seed, test: 0 });
    let prepared = Prepared { cache: test.cache, window_bytes: test.window_bytes };
    let list = AddressList::new(&test, key.draws(Stream::Addresses));
    let mut watched = Watched::new();
    let lines = py.detach(|| {
        let mut stopped = |done: u64| watched.is_stopped(progress.as_ref(), (done,));
        trace::record_unless(&test, &list, &machine, key, prepared, &mut stopped)
    });
    let lines = watched.result(lines)?;
    Ok(py.detach(|| trace::write(&lines, comment)))
}

/// The columns of a trace in native byte order: times (64 bits), whether they write (8 bits), offsets and bytes
/// (64 bits).
type Columns = (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>);

/// Parses a trace.
#[pyfunction]
pub(crate) fn trace_read(py: Python<'_>, text: &str) -> Result<Columns> {
    let mut columns = Columns::default();
    for (number, line) in trace::lines(text)?.enumerate() {
        if number % ITEMS_BETWEEN_LOOKS == 0 {
            py.check_signals()?;
        }
        let line = line?;
        columns.0.extend(line.ready.0.to_ne_bytes());
        columns.1.push(u8::from(line.write));
        columns.2.extend(line.offset.to_ne_bytes());
        columns.3.extend(line.bytes.to_ne_bytes());
    }
    Ok(columns)
}

/// Plays a trace; for each transfer when its first TLP could leave, and when it was done, in picoseconds, as 64
/// bits in native byte order. `progress` is called with the transfers that are done; `limit`: TLPs that they may take.
/// After a request to `stop`, the result has the transfers before the first that is not done.
#[pyfunction]
#[pyo3(signature = (system, text, cache, window_bytes, seed, progress = None, limit = None, stop = None))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn trace_play(
    py: Python<'_>,
    system: &System,
    text: &str,
    cache: &str,
    window_bytes: u64,
    seed: u64,
    progress: Option<Py<PyAny>>,
    limit: Option<u64>,
    stop: Option<Bound<'_, Stop>>,
) -> Result<(Vec<u8>, Vec<u8>)> {
    let endpoint = Host::new(system, cache, window_bytes, seed)?.endpoint();
    let lines = trace::lines(text)?;
    let stop = stop.map(|stop| stop.get().inner.clone()).unwrap_or_default();
    let mut watched = Watched::new();
    let done = py.detach(|| {
        let mut stopped = |done: u64| watched.is_stopped(progress.as_ref(), (done,)) || stop.is_requested();
        trace::play_unless(lines, endpoint, limit.unwrap_or(trace::TLPS_MOST), &mut stopped)
    });
    let mut done = watched.result(done)?;
    let whole = done.iter().zip(0..).take_while(|(one, number)| one.transfer == *number).count();
    done.truncate(whole);
    Ok((
        done.iter().flat_map(|done| done.sent.0.to_ne_bytes()).collect(),
        done.iter().flat_map(|done| done.at.0.to_ne_bytes()).collect(),
    ))
}

/// A trace from a capture of any format, and the number of packets that are no transfers.
#[pyfunction]
pub(crate) fn trace_convert(
    py: Python<'_>,
    capture: &[u8],
    skip_bytes: usize,
    requester: Option<u16>,
    link_type: Option<u32>,
    comment: &str,
) -> Result<(String, u64)> {
    let (selection, mut watched) = (Selection { skip_bytes, requester, link_type }, Watched::new());
    let found = py.detach(|| read_unless(capture, selection, &mut || watched.is_signalled()));
    let Captured { lines, others } = watched.result(found)?;
    Ok((py.detach(|| trace::write(&lines, comment)), others))
}
