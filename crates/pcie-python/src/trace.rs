//! Traces of DMA on the host of a system: recorded, played, and made from captures.

use std::sync::Arc;

use pcie_port::capture::{Captured, Selection, read};
use pcie_port::{Endpoint, Port, Prepared, trace};
use pcie_sim::{Machine, TestKey};
use pcie_time::Stream;
use pcie_workload::{AddressList, Operation, Test};
use pyo3::prelude::*;

use crate::error::Result;
use crate::json::{parse, word};
use crate::system::machine;

/// A host with prepared caches.
pub(crate) struct Host {
    machine: Arc<Machine>,
    key: TestKey,
    prepared: Prepared,
}

impl Host {
    pub(crate) fn new(system: &str, cache: &str, window_bytes: u64, seed: u64) -> Result<Self> {
        let prepared = Prepared { cache: word("cache", cache)?, window_bytes };
        Ok(Self { machine: Arc::new(machine(system)?), key: TestKey { seed, test: 0 }, prepared })
    }

    /// The host before its first transfer.
    pub(crate) fn endpoint(&self) -> Endpoint {
        let state = self.prepared.state(&self.machine, self.key);
        Endpoint::new(Port::new(Arc::clone(&self.machine), self.key, state, Operation::BwRdwr))
    }
}

/// The TLPs of a test as a trace, each as soon as the device of the system can send it; `comment` goes below
/// the first line.
#[pyfunction]
pub(crate) fn trace_record(system: &str, test: &str, seed: u64, comment: &str) -> Result<String> {
    let test: Test = parse("test", test)?;
    let (machine, key) = (Arc::new(machine(system)?), TestKey { seed, test: 0 });
    let prepared = Prepared { cache: test.cache, window_bytes: test.window_bytes };
    let list = AddressList::new(&test, key.draws(Stream::Addresses));
    let lines = trace::record(&test, &list, Host { machine, key, prepared }.endpoint())?;
    Ok(trace::write(&lines, comment))
}

/// Lines of a trace: time, whether it writes, offset and bytes.
type Lines = Vec<(u64, bool, u64, u64)>;

/// Parses a trace: for each transfer its time, whether it writes, its offset and bytes.
#[pyfunction]
pub(crate) fn trace_read(text: &str) -> Result<Lines> {
    let lines = trace::read(text)?;
    Ok(lines.iter().map(|line| (line.ready.0, line.write, line.offset, line.bytes)).collect())
}

/// Plays a trace; for each transfer when its first TLP could leave, and when it was done, in picoseconds.
#[pyfunction]
pub(crate) fn trace_play(
    system: &str,
    text: &str,
    cache: &str,
    window_bytes: u64,
    seed: u64,
) -> Result<Vec<(u64, u64)>> {
    let done = trace::play(&trace::read(text)?, Host::new(system, cache, window_bytes, seed)?.endpoint())?;
    Ok(done.iter().map(|done| (done.sent.0, done.at.0)).collect())
}

/// A trace from a capture in pcap-ng, and the number of packets that are no transfers.
#[pyfunction]
pub(crate) fn trace_convert(
    capture: &[u8],
    skip_bytes: usize,
    requester: Option<u16>,
    link_type: Option<u32>,
    comment: &str,
) -> Result<(String, u64)> {
    let Captured { lines, others } = read(capture, Selection { skip_bytes, requester, link_type })?;
    Ok((trace::write(&lines, comment), others))
}
