//! The simulated host for a device in Python.

use pcie_port::{Completion, Endpoint, Event, Kind, Outcome, Tlp, TlpError, Units};
use pcie_refusal::Refusal;
use pcie_time::Picoseconds;
use pyo3::prelude::*;

use crate::describe::System;
use crate::error::{Error, Result, refused};
use crate::trace::Host;

/// A host and its link, which takes TLPs one by one.
#[pyclass(module = "pcielab._core")]
pub(crate) struct HostPort {
    endpoint: Endpoint,
}

/// Kind, time, tag and address of an event; bytes, byte count, whether it is the last, and outcome of a completion.
type Taken = (&'static str, u64, u16, u64, u32, u32, bool, &'static str);

/// Words for the outcomes of a read.
const OUTCOMES: [(&str, Outcome); 5] = [
    ("data", Outcome::Data),
    ("poisoned", Outcome::Poisoned),
    ("unsupported", Outcome::Unsupported),
    ("aborted", Outcome::Aborted),
    ("lost", Outcome::Lost),
];

fn wrong(error: TlpError) -> Error {
    Refusal::new(error).into()
}

/// A TLP from its parts.
fn tlp(kind: &str, tag: u16, address: u64, length: u32) -> Result<Tlp> {
    let kind = match kind {
        "read" => Kind::Read,
        "write" => Kind::Write,
        "relaxed-write" => return Ok(Tlp { relaxed: true, ..tlp("write", tag, address, length)? }),
        "message" => Kind::Message,
        _ => return Err(refused(format!("kind is {kind}: give read, write, relaxed-write or message"))),
    };
    Ok(Tlp { kind, tag, address, length, relaxed: false })
}

/// The outcome with a word.
fn outcome(word: &str) -> Result<Outcome> {
    let known = OUTCOMES.iter().find(|(name, _)| *name == word);
    let words = OUTCOMES.map(|(name, _)| name).join(", ");
    known.map(|known| known.1).ok_or_else(|| refused(format!("outcome is {word}: give one of {words}")))
}

/// The word for an outcome.
fn word(outcome: Outcome) -> &'static str {
    OUTCOMES.iter().find(|known| known.1 == outcome).map_or("", |known| known.0)
}

#[pymethods]
impl HostPort {
    #[new]
    fn new(system: &System, cache: &str, window_bytes: u64, seed: u64) -> Result<Self> {
        Ok(Self { endpoint: Host::new(system, cache, window_bytes, seed)?.endpoint() })
    }

    /// Bus address of a buffer offset; None beyond the buffer.
    fn address(&self, offset: u64) -> Option<u64> {
        self.endpoint.port().buffer().address(offset)
    }

    /// Bytes of the host buffer.
    #[getter]
    fn buffer_bytes(&self) -> u64 {
        self.endpoint.port().buffer().bytes()
    }

    /// Time from one end of the link to the other, ps.
    #[getter]
    fn flight_ps(&self) -> u64 {
        self.endpoint.port().flight().0
    }

    /// Credits that the device has left: posted headers, posted data (16 bytes each), headers of reads.
    #[getter]
    fn credits(&self) -> (u32, u32, u32) {
        let Units { posted_headers, posted_data, non_posted_headers } = self.endpoint.occupancy().credits;
        (posted_headers, posted_data, non_posted_headers)
    }

    /// When the device's port can send the next TLP, ps.
    #[getter]
    fn uplink_free_ps(&self) -> u64 {
        self.endpoint.occupancy().uplink_free.0
    }

    /// Whether a tag and credits are free for a TLP.
    fn has_room(&self, kind: &str, tag: u16, address: u64, length: u32) -> Result<bool> {
        Ok(self.endpoint.has_room(&tlp(kind, tag, address, length)?))
    }

    /// Sends a TLP that is complete at a time; returns when it has left, when it has arrived, and when its credits are
    /// back. A read has an outcome: data, poisoned, unsupported, aborted or lost.
    #[pyo3(signature = (kind, tag, address, length, ready_ps, outcome = "data"))]
    fn submit(
        &mut self,
        kind: &str,
        tag: u16,
        address: u64,
        length: u32,
        ready_ps: u64,
        outcome: &str,
    ) -> Result<(u64, u64, u64)> {
        let (tlp, outcome) = (tlp(kind, tag, address, length)?, self::outcome(outcome)?);
        let sent = self.endpoint.submit_with(&tlp, Picoseconds(ready_ps), outcome);
        sent.map(|sent| (sent.left.0, sent.arrived.0, sent.credited.0)).map_err(wrong)
    }

    /// Gives up a read in flight: its tag is free when no more completions can come, and those that come are no events.
    fn give_up(&mut self, tag: u16) -> Result<()> {
        self.endpoint.give_up(tag).map_err(wrong)
    }

    /// Moves time on.
    fn advance(&mut self, to_ps: u64) -> Result<()> {
        self.endpoint.advance(Picoseconds(to_ps)).map_err(wrong)
    }

    /// The next event up to the present time.
    fn take(&mut self) -> Option<Taken> {
        Some(match self.endpoint.take()? {
            Event::Completion(Completion { at, tag, address, length, byte_count, last, outcome, .. }) => {
                ("completion", at.0, tag, address, length, byte_count, last, word(outcome))
            }
            Event::Credits { at, units: Units { posted_headers, .. } } => {
                let kind = if posted_headers > 0 { "posted-credits" } else { "non-posted-credits" };
                (kind, at.0, 0, 0, 0, 0, false, "")
            }
            Event::Message { at, address, tag } => ("message", at.0, tag, address, 0, 0, false, ""),
        })
    }

    /// Time before which there is no event without further TLPs; None if nothing is under way.
    #[getter]
    fn next_ps(&self) -> Option<u64> {
        self.endpoint.next_at().map(|at| at.0)
    }
}
