//! What has to hold across the keys of a part: each rule once, for a file by itself and for a system as a whole.
//!
//! A part that is wrong by itself is refused where it is read; what needs more than one part, `machine::check` refuses.

use super::{IdleStates, LastLevelCache, Link, System, WakeCluster};
use pcie_workload::{LINE_BYTES, PAGE_BYTES};
use serde::Deserialize;
use thiserror::Error;

/// A gibibyte of host buffer is 16 Mi lines, of which each takes a few bytes in every copy of the machine's state.
const BUFFER_BYTES_MAX: u64 = 1 << 30;
/// The largest caches of a socket today have 1.1 GiB.
const CACHE_BYTES_MAX: u64 = 2 << 30;
/// DDIO ways hold lines by number.
const DDIO_BYTES_MAX: u64 = 1 << 30;
const FLIT_GENERATION: u32 = 6;

/// A value that does not go with others of its part.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{key} is {value}: {remedy}")]
pub struct BrokenRule {
    /// The key, dotted where it is in a table of the part.
    pub key: String,
    /// The value, as text.
    pub value: String,
    /// What would be right.
    pub remedy: String,
}

impl BrokenRule {
    pub(crate) fn new(key: &str, value: impl std::fmt::Display, remedy: impl Into<String>) -> Self {
        Self { key: key.to_owned(), value: value.to_string(), remedy: remedy.into() }
    }

    /// The same rule with its key seen from a part that holds this one.
    pub(crate) fn below(self, part: &str) -> Self {
        Self { key: format!("{part}.{}", self.key), ..self }
    }
}

type Checked = Result<(), BrokenRule>;

/// A part whose keys have rules between them.
pub trait Ruled {
    /// # Errors
    /// The first rule that is broken.
    fn check(&self) -> Checked;
}

impl Ruled for Link {
    fn check(&self) -> Checked {
        if self.generation >= FLIT_GENERATION && !self.flit {
            let remedy = format!("generation {} runs in flit mode: set flit = true", self.generation);
            return Err(BrokenRule::new("flit", false, remedy));
        }
        Ok(())
    }
}

impl Ruled for LastLevelCache {
    fn check(&self) -> Checked {
        if self.ddio_ways > self.ways {
            let remedy = format!("give at most ways, which is {}", self.ways);
            return Err(BrokenRule::new("ddio_ways", self.ddio_ways, remedy));
        }
        let set_bytes = LINE_BYTES * u64::from(self.ways) * u64::from(self.slices);
        if !(set_bytes..=CACHE_BYTES_MAX).contains(&self.llc_bytes) {
            let remedy = format!("give {set_bytes} (a set for each slice) to {CACHE_BYTES_MAX}");
            return Err(BrokenRule::new("llc_bytes", self.llc_bytes, remedy));
        }
        let ddio_bytes = self.llc_bytes / u64::from(self.ways) * u64::from(self.ddio_ways);
        if ddio_bytes > DDIO_BYTES_MAX {
            let remedy = format!("these ways hold {ddio_bytes} bytes: give as many as hold 1 GiB at most");
            return Err(BrokenRule::new("ddio_ways", self.ddio_ways, remedy));
        }
        Ok(())
    }
}

impl Ruled for WakeCluster {
    fn check(&self) -> Checked {
        if self.high_ns < self.low_ns {
            let remedy = format!("give at least low_ns, which is {}", self.low_ns);
            return Err(BrokenRule::new("high_ns", self.high_ns, remedy));
        }
        Ok(())
    }
}

impl Ruled for IdleStates {
    fn check(&self) -> Checked {
        let total: f64 = self.clusters.iter().map(|cluster| cluster.share).sum();
        if total > 1.0 {
            return Err(BrokenRule::new(
                "clusters",
                format!("{total} (their shares together)"),
                "give 1 at most",
            ));
        }
        Ok(())
    }
}

/// Where the pieces of the host buffer are.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Placement {
    /// Size of one piece.
    pub chunk_bytes: u64,
    /// Bus address of each piece.
    pub chunk_addresses: Vec<u64>,
}

impl Ruled for Placement {
    fn check(&self) -> Checked {
        chunks(self.chunk_bytes, &self.chunk_addresses)
    }
}

impl Ruled for System {
    fn check(&self) -> Checked {
        chunks(self.chunk_bytes, &self.chunk_addresses)?;
        sockets(self)?;
        self.link.check().map_err(|broken| broken.below("link"))?;
        self.host.llc.check().map_err(|broken| broken.below("host.llc"))?;
        let Some(idle) = &self.host.idle else { return Ok(()) };
        idle.check().map_err(|broken| broken.below("host.idle"))?;
        for (index, cluster) in idle.clusters.iter().enumerate() {
            cluster.check().map_err(|broken| broken.below(&format!("host.idle.clusters.{index}")))?;
        }
        Ok(())
    }
}

fn chunks(chunk_bytes: u64, addresses: &[u64]) -> Checked {
    if !chunk_bytes.is_power_of_two() || !(PAGE_BYTES..=BUFFER_BYTES_MAX).contains(&chunk_bytes) {
        return Err(BrokenRule::new("chunk_bytes", chunk_bytes, "give a power of two, 4096 to 2^30"));
    }
    let count = addresses.len() as u64;
    if count == 0 || count.saturating_mul(chunk_bytes) > BUFFER_BYTES_MAX {
        let remedy = "give at least one, at most 1 GiB together";
        return Err(BrokenRule::new("chunk_addresses", format!("{count} chunks"), remedy));
    }
    if let Some(address) = addresses.iter().find(|address| *address % chunk_bytes != 0) {
        let remedy = format!("give multiples of chunk_bytes, which is {chunk_bytes}");
        return Err(BrokenRule::new("chunk_addresses", format!("{address:#x}"), remedy));
    }
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let value = format!("{:#x} twice", pair[0]);
            Err(BrokenRule::new("chunk_addresses", value, "give each chunk an address of its own"))
        }
        None => Ok(()),
    }
}

fn sockets(system: &System) -> Checked {
    let sockets = [
        ("device_socket", system.device_socket),
        ("memory_socket", system.memory_socket),
        ("program_socket", system.program_socket),
    ];
    match sockets.into_iter().find(|(_, socket)| *socket >= system.host.sockets) {
        Some((key, socket)) => {
            let most = system.host.sockets.saturating_sub(1);
            Err(BrokenRule::new(key, socket, format!("{} has sockets 0 to {most}", system.host.name)))
        }
        None => Ok(()),
    }
}
