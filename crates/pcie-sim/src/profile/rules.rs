//! Rules across the keys of a part, which apply to single files and to whole systems.
//!
//! Ranges of single keys are on their fields.

use super::{
    Card, DataEngine, Host, IdleStates, LastLevelCache, Link, Memory, Stalls, System, Timer, WakeCluster,
};
use pcie_refusal::Refusal;
use pcie_schema::{Fitting, Shape};
use pcie_workload::{LINE_BYTES, PAGE_BYTES};
use serde::Deserialize;
use std::sync::LazyLock;

/// A buffer of 1 GiB has 16 Mi lines, each of a few bytes in every copy of the machine's state.
const BUFFER_BYTES_MAX: u64 = 1 << 30;
/// The largest caches of a socket have 1.1 GiB.
const CACHE_BYTES_MAX: u64 = 2 << 30;
/// DDIO ways hold lines by number.
const DDIO_BYTES_MAX: u64 = 1 << 30;
const FLIT_GENERATION: u32 = 6;
/// Greatest overhead of a TLP without flits and IDE: framing, sequence number, a header for 64 bits, ECRC and LCRC.
const LONGEST_OVERHEAD_BYTES: u32 = 28;
/// IDE prefix and MAC of a TLP.
const IDE_BYTES: u32 = 16;
/// Longest stall over the time of service between two.
const STALLED_MAX: f64 = 1000.0;
/// Bytes that one posted data credit is for (PCI Express Base Specification, section 2.6.1).
const CREDIT_BYTES: u32 = 16;

type Checked = Result<(), Refusal>;

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
            return Err(Refusal::of("flit", false, remedy));
        }
        let of_ide = if self.ide == Some(true) { IDE_BYTES } else { 0 };
        let longest = self.mps_bytes + LONGEST_OVERHEAD_BYTES + of_ide;
        if let Some(bytes) = self.replay_buffer_bytes.filter(|bytes| *bytes < longest) {
            let remedy = format!("give {longest} or more: a TLP with mps_bytes of {}", self.mps_bytes);
            return Err(Refusal::of("replay_buffer_bytes", bytes, remedy));
        }
        Ok(())
    }
}

impl Ruled for LastLevelCache {
    fn check(&self) -> Checked {
        if self.ddio_ways > self.ways {
            let remedy = format!("give at most ways, which is {}", self.ways);
            return Err(Refusal::of("ddio_ways", self.ddio_ways, remedy));
        }
        let set_bytes = LINE_BYTES * u64::from(self.ways) * u64::from(self.slices);
        if !(set_bytes..=CACHE_BYTES_MAX).contains(&self.llc_bytes) {
            let remedy = format!("give {set_bytes} (a set for each slice) to {CACHE_BYTES_MAX}");
            return Err(Refusal::of("llc_bytes", self.llc_bytes, remedy));
        }
        let ddio_bytes = self.device_lines_bytes();
        if ddio_bytes > DDIO_BYTES_MAX {
            let remedy = format!("these ways hold {ddio_bytes} bytes: give fewer, for at most 1 GiB");
            return Err(Refusal::of("ddio_ways", self.ddio_ways, remedy));
        }
        Ok(())
    }
}

impl Ruled for Timer {
    fn check(&self) -> Checked {
        let tick_ns = self.numerator_ns as f64 / self.denominator as f64;
        if (1e-3..=1e9).contains(&tick_ns) {
            return Ok(());
        }
        let value = format!("{} (over {} ns)", self.denominator, self.numerator_ns);
        Err(Refusal::of("denominator", value, "give a tick of 1 ps to 1 s"))
    }
}

impl Ruled for DataEngine {
    fn check(&self) -> Checked {
        power_of_two("word_bytes", self.word_bytes, 1)?;
        power_of_two("write_part_bytes", self.write_part_bytes, 64)
    }
}

impl Ruled for Card {
    fn check(&self) -> Checked {
        power_of_two("uplink_data_quantum_bytes", self.uplink_data_quantum_bytes, 4)?;
        self.timer.check().map_err(|unfit| unfit.below("timer"))?;
        self.dma.engine.check().map_err(|unfit| unfit.below("dma.engine"))
    }
}

impl Ruled for Memory {
    fn check(&self) -> Checked {
        // Ranges are checked in JSON, where an optional NaN is an absent value.
        let (_, remote_ns, remote_dirty_ns) = self.busy_times();
        match [("busy_remote_ns", remote_ns), ("busy_remote_dirty_ns", remote_dirty_ns)]
            .into_iter()
            .find(|(_, ns)| !ns.is_finite())
        {
            Some((key, ns)) => Err(Refusal::of(key, ns, "give a number")),
            None => Ok(()),
        }
    }
}

impl Ruled for Stalls {
    fn check(&self) -> Checked {
        if self.duration_ns > STALLED_MAX * self.interval_ns {
            let remedy =
                format!("give at most {STALLED_MAX} times interval_ns, which is {}", self.interval_ns);
            return Err(Refusal::of("duration_ns", self.duration_ns, remedy));
        }
        Ok(())
    }
}

impl Ruled for WakeCluster {
    fn check(&self) -> Checked {
        if self.high_ns < self.low_ns {
            let remedy = format!("give at least low_ns, which is {}", self.low_ns);
            return Err(Refusal::of("high_ns", self.high_ns, remedy));
        }
        Ok(())
    }
}

impl Ruled for IdleStates {
    fn check(&self) -> Checked {
        let total: f64 = self.clusters.iter().map(|cluster| cluster.share).sum();
        if total > 1.0 {
            return Err(Refusal::of(
                "clusters",
                format!("{total} (their shares together)"),
                "give 1 at most",
            ));
        }
        for (index, cluster) in self.clusters.iter().enumerate() {
            cluster.check().map_err(|unfit| unfit.below(&format!("clusters.{index}")))?;
        }
        self.stalls.check().map_err(|unfit| unfit.below("stalls"))
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

macro_rules! fitting {
    ($($part:ident)*) => {
        $(impl Fitting for $part {
            fn shape() -> &'static Shape {
                static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<$part>);
                &SHAPE
            }
        })*
    };
}

fitting! { Link Host Card System }

impl Ruled for Host {
    fn check(&self) -> Checked {
        self.llc.check().map_err(|unfit| unfit.below("llc"))?;
        self.memory.check().map_err(|unfit| unfit.below("memory"))?;
        let Some(idle) = &self.idle else { return Ok(()) };
        idle.check().map_err(|unfit| unfit.below("idle"))
    }
}

impl Ruled for System {
    fn check(&self) -> Checked {
        // The rules rely on the ranges, for example on short lists.
        Self::shape().check(self)?;
        chunks(self.chunk_bytes, &self.chunk_addresses)?;
        sockets(self)?;
        data_credits(self)?;
        pools(self)?;
        core_load(self)?;
        completion_buffer(self)?;
        self.link.check().map_err(|unfit| unfit.below("link"))?;
        self.device.check().map_err(|unfit| unfit.below("device"))?;
        self.host.check().map_err(|unfit| unfit.below("host"))
    }
}

fn power_of_two(key: &str, bytes: u32, least: u32) -> Checked {
    if bytes.is_power_of_two() && bytes >= least && u64::from(bytes) <= PAGE_BYTES {
        return Ok(());
    }
    Err(Refusal::of(key, bytes, format!("give a power of two, {least} to {PAGE_BYTES}")))
}

/// A root port must advertise the credits of the largest TLP.
fn data_credits(system: &System) -> Checked {
    let credits = system.host.root_complex.posted_data_credits;
    let needed = system.link.mps_bytes.div_ceil(CREDIT_BYTES);
    if credits.at_most() >= needed {
        return Ok(());
    }
    let remedy = format!("give {needed} or more: the credits of a TLP of {} bytes", system.link.mps_bytes);
    Err(Refusal::of("host.root_complex.posted_data_credits", credits, remedy))
}

/// A pool must hold the lines of the largest TLP, which need not start with a line.
fn pools(system: &System) -> Checked {
    let (complex, link) = (&system.host.root_complex, &system.link);
    for (key, given, longest, what) in [
        ("write_pool_lines", complex.write_pool_lines, link.mps_bytes, "write of link.mps_bytes"),
        ("read_pool_lines", complex.read_pool_lines, link.mrrs_bytes, "read request of link.mrrs_bytes"),
    ] {
        let needed = longest / LINE_BYTES as u32 + 1;
        if let Some(given) = given
            && given < needed
        {
            let remedy = format!("give {needed} or more: the lines of a {what}, which is {longest}");
            return Err(Refusal::of(format!("host.root_complex.{key}"), given, remedy));
        }
    }
    Ok(())
}

/// Cores that write cost a device nothing until memory is saturated: without that rate, they have no meaning.
fn core_load(system: &System) -> Checked {
    let Some(load) = &system.host.load else { return Ok(()) };
    if load.cores == 0 || system.host.memory.saturated_gbytes_per_s.is_some() {
        return Ok(());
    }
    let remedy = "give host.memory.saturated_gbytes_per_s, which they share with the device, or 0 cores";
    Err(Refusal::of("host.load.cores", load.cores, remedy))
}

/// A device with too little space for its longest request would never send it.
fn completion_buffer(system: &System) -> Checked {
    let (path, link) = (&system.device.dma, &system.link);
    for (key, given, needed, unit) in [
        ("completion_buffer_bytes", path.completion_buffer_bytes, link.mrrs_bytes, "bytes"),
        (
            "completion_buffer_headers",
            path.completion_buffer_headers,
            link.mrrs_bytes / link.rcb_bytes,
            "completions",
        ),
    ] {
        if let Some(given) = given
            && given < needed
        {
            let remedy = format!(
                "give {needed} or more, the {unit} of a read request of link.mrrs_bytes, which is {}, or lower that",
                link.mrrs_bytes
            );
            return Err(Refusal::of(format!("device.dma.{key}"), given, remedy));
        }
    }
    Ok(())
}

fn chunks(chunk_bytes: u64, addresses: &[u64]) -> Checked {
    if !chunk_bytes.is_power_of_two() || !(PAGE_BYTES..=BUFFER_BYTES_MAX).contains(&chunk_bytes) {
        return Err(Refusal::of("chunk_bytes", chunk_bytes, "give a power of two, 4096 to 2^30"));
    }
    let count = addresses.len() as u64;
    if count == 0 || count.saturating_mul(chunk_bytes) > BUFFER_BYTES_MAX {
        let remedy = "give at least one, at most 1 GiB together";
        return Err(Refusal::of("chunk_addresses", format!("{count} chunks"), remedy));
    }
    if let Some(address) = addresses.iter().find(|address| *address % chunk_bytes != 0) {
        let remedy = format!("give multiples of chunk_bytes, which is {chunk_bytes}");
        return Err(Refusal::of("chunk_addresses", format!("{address:#x}"), remedy));
    }
    let mut sorted = addresses.to_vec();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let value = format!("{:#x} twice", pair[0]);
            Err(Refusal::of("chunk_addresses", value, "give each chunk an address of its own"))
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
            Err(Refusal::of(key, socket, format!("{} has sockets 0 to {most}", system.host.name)))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use crate::Machine;
    use crate::profile::{CoreLoad, LoadKind, System};
    use crate::test_systems::snb;
    use pcie_schema::Fitting as _;
    use serde_json::json;

    fn refused(change: impl Fn(&mut System)) -> String {
        let mut system = snb().system().clone();
        change(&mut system);
        Machine::new(system).unwrap_err().to_string()
    }

    #[test]
    fn refusals_name_key_value_and_remedy() {
        for (key, value, expected) in [
            ("/link/mps_bytes", json!(300), "link.mps_bytes is 300: give 128, 256, 512, 1024, 2048 or 4096"),
            ("/link/tags", json!(0), "link.tags is 0: give 1 to 16384"),
            ("/memory_socket", json!(1), "memory_socket is 1: snb-e5-2630 has sockets 0 to 0"),
            ("/chunk_bytes", json!(4097), "chunk_bytes is 4097: give a power of two"),
            ("/host/llc/ddio_ways", json!(21), "ddio_ways is 21: give at most ways, which is 20"),
            ("/host/llc/slices", json!(4095), "host.llc.slices is 4095: give 1 to 1024"),
            ("/host/llc/llc_bytes", json!(64), "host.llc.llc_bytes is 64"),
            (
                "/host/root_complex/posted_data_credits",
                json!(3),
                "posted_data_credits is 3: give 16 or more: the credits of a TLP of 256 bytes",
            ),
            (
                "/host/root_complex/posted_header_credits",
                json!(u32::MAX),
                "posted_header_credits is 4294967295: give 1 to 65536 or \"infinite\"",
            ),
            (
                "/device/dma/completion_buffer_bytes",
                json!(256),
                "completion_buffer_bytes is 256: give 512 or more, the bytes of a read request of link.mrrs_bytes, which is 512",
            ),
            (
                "/device/dma/completion_buffer_headers",
                json!(7),
                "completion_buffer_headers is 7: give 8 or more, the completions of a read request",
            ),
            ("/device/uplink_gap_bytes", json!(u32::MAX), "uplink_gap_bytes is 4294967295"),
            (
                "/host/root_complex/request_interval_ns",
                json!(1e8),
                "request_interval_ns is 100000000: give 0 to 100000",
            ),
            ("/host/root_complex/conflict_share", json!(1.5), "conflict_share is 1.5: give 0 to 1"),
            ("/host/memory/refresh/caught_ns", json!(-1.0), "caught_ns is -1: give 0 to 100000"),
            ("/device/dma/loop_ns", json!(-1.0), "loop_ns is -1: give 0 to 1000000000"),
            (
                "/device/timer/denominator",
                json!(u32::MAX),
                "device.timer.denominator is 4294967295 (over 40 ns): give a tick of 1 ps",
            ),
        ] {
            let message = refused(|system| {
                let mut changed = serde_json::to_value(&*system).unwrap();
                *changed.pointer_mut(key).unwrap() = value.clone();
                *system = serde_json::from_value(changed).unwrap();
            });
            assert!(message.contains(expected), "{message}");
        }
        for (message, expected) in [
            (refused(|system| system.chunk_addresses[2] += 4096), "give multiples of chunk_bytes"),
            (
                refused(|system| system.chunk_addresses = (0..1 << 20).map(|chunk| chunk << 22).collect()),
                "chunk_addresses is 1048576 chunks: give at least one, at most 1 GiB together",
            ),
            (
                refused(|system| system.host.root_complex.uplink_stretch = f64::NAN),
                "uplink_stretch is not a number: give 1 to 2",
            ),
            (refused(|system| system.device.dma.engine.segment_ns = f64::NAN), "segment_ns is not a number"),
            (
                refused(|system| {
                    system.link.mps_bytes = 4096;
                    system.host.root_complex.write_pool_lines = Some(64);
                }),
                "host.root_complex.write_pool_lines is 64: give 65 or more: the lines of a write of link.mps_bytes",
            ),
            (
                refused(|system| {
                    let kind = LoadKind::ReadWrite;
                    system.host.load = Some(CoreLoad { cores: 2, kind, core_share: 0.5 });
                }),
                "host.load.cores is 2: give host.memory.saturated_gbytes_per_s, which they share with the device",
            ),
        ] {
            assert!(message.contains(expected), "{message}");
        }
    }

    /// Sets each number of a system in turn, and collects the keys of those that the system is accepted with.
    fn accepted_with(wrong: &serde_json::Value) -> Vec<String> {
        fn numbers(value: &serde_json::Value, path: &str, found: &mut Vec<String>) {
            match value {
                serde_json::Value::Object(table) => {
                    table.iter().for_each(|(key, value)| numbers(value, &format!("{path}/{key}"), found));
                }
                serde_json::Value::Array(list) => {
                    list.iter()
                        .enumerate()
                        .for_each(|(at, value)| numbers(value, &format!("{path}/{at}"), found));
                }
                serde_json::Value::Number(_) => found.push(path.to_owned()),
                _ => {}
            }
        }
        let system = serde_json::to_value(snb().system()).unwrap();
        let mut keys = Vec::new();
        numbers(&system, "", &mut keys);
        assert!(keys.len() > 100, "{}", keys.len());
        keys.retain(|key| {
            let mut changed = system.clone();
            *changed.pointer_mut(key).unwrap() = wrong.clone();
            match System::shape().check_json(&changed) {
                Ok(()) => true,
                Err(unfit) => {
                    assert_eq!(unfit.key, Some(key[1..].replace('/', ".")));
                    false
                }
            }
        });
        keys
    }

    #[test]
    fn refuses_negative_and_huge_numbers() {
        assert_eq!(accepted_with(&json!(-1)), Vec::<String>::new());
        assert_eq!(accepted_with(&json!(1e300)), Vec::<String>::new());
    }
}
