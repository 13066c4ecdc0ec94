//! Possible causes of a bandwidth below its bounds: properties of the test on its machine, as phrases.
//!
//! Each costs time that no bound charges for; whether it did is not proved.

use crate::gains::word_of;
use pcie_refusal::numbers::byte_size;
use pcie_sim::profile::{CompletionOrder, IommuMode, System};
use pcie_workload::Test;
use serde::Deserialize;

const LINE_BYTES: u64 = 64;
const WORD_BYTES: u64 = 8;
/// Entries that the pcie-bench paper infers (section 6.5): the smallest IO-TLB measured.
const SMALLEST_IO_TLB: u64 = 64;

/// What is known of a machine.
#[derive(Clone, Copy, Debug)]
pub enum Ground<'a> {
    /// A complete system.
    System(&'a System),
    /// What a run without one recorded.
    Known(Known),
}

/// The facts about a machine without a complete system; none: unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// The IOMMU.
    pub iommu: Option<IommuMode>,
    /// Whether the host buffer is on the device's own socket.
    pub memory_is_local: Option<bool>,
}

/// The parameters of a test that its reasons rest on, as a store of any version has them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameters {
    /// The micro-benchmark.
    pub operation: String,
    /// State of the caches before it.
    pub cache: String,
    /// Transfer size.
    pub size_bytes: u64,
    /// Window.
    pub window_bytes: u64,
    /// Offset from a cache line on the host.
    pub host_offset_bytes: u64,
    /// Offset on the device.
    pub device_offset_bytes: u64,
}

impl Parameters {
    /// Those of a test.
    #[must_use]
    pub fn of(test: &Test) -> Self {
        Self {
            operation: word_of(&test.operation),
            cache: word_of(&test.cache),
            size_bytes: test.size_bytes,
            window_bytes: test.window_bytes,
            host_offset_bytes: test.host_offset_bytes,
            device_offset_bytes: test.device_offset_bytes,
        }
    }

    fn reads(&self) -> bool {
        self.operation != "bw-wr"
    }
}

impl Ground<'_> {
    fn iommu(&self) -> Option<IommuMode> {
        match self {
            Self::System(system) => Some(system.iommu),
            Self::Known(known) => known.iommu,
        }
    }

    fn is_remote(&self) -> bool {
        match self {
            Self::System(system) => system.memory_socket != system.device_socket,
            Self::Known(known) => known.memory_is_local == Some(false),
        }
    }

    fn system(&self) -> Option<&System> {
        match self {
            Self::System(system) => Some(system),
            Self::Known(_) => None,
        }
    }
}

/// Phrases for a test, the costliest causes first; `tags_charged`: whether tags are among its bounds.
#[must_use]
pub fn reasons(ground: Ground<'_>, test: &Parameters, tags_charged: bool) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    found.extend(translation(ground, test));
    found.extend(memory(ground, test));
    found.extend(alignment(test));
    let reads = test.reads();
    if reads && !tags_charged {
        found.push("tags: no latency row to charge them with".to_owned());
    }
    let Some(system) = ground.system() else {
        let unknown =
            if reads { "latency under load: not known" } else { "the device's own rate: not known" };
        found.push(unknown.to_owned());
        return found;
    };
    found.extend(stalls(system, test));
    // Completion order costs a few percent: mentioned only if nothing costs more.
    if found.is_empty() && reads && system.host.root_complex.completion_order != CompletionOrder::Fifo {
        found.push("tags are used in order, completions come out of order".to_owned());
    }
    found
}

/// Whether a change of a key, dotted and with `test.` before those of the test, can take a reason away.
pub(crate) fn is_of_reason(reason: &str, key: &str) -> bool {
    let own: &[&str] = match reason.split([' ', ':']).next() {
        Some("IO-TLB") => &["iommu", "host.iommu.tlb.entries"],
        Some("remote") => &["memory_socket"],
        Some("cold" | "memory") => &["test.cache"],
        _ => &[],
    };
    own.contains(&key)
}

/// The window reaches over more pages than the IO-TLB holds.
fn translation(ground: Ground<'_>, test: &Parameters) -> Option<String> {
    let page_bytes = ground.iommu()?.page_bytes()?;
    let (pages, size) = (test.window_bytes.div_ceil(page_bytes), byte_size(page_bytes));
    let Some(system) = ground.system() else {
        return (pages > SMALLEST_IO_TLB)
            .then(|| format!("IO-TLB: {pages} pages of {size}, its size is not known"));
    };
    let entries = u64::from(system.host.iommu.tlb.entries);
    (pages > entries).then(|| format!("IO-TLB: {pages} pages of {size} over {entries} entries"))
}

/// Lines outside the last-level cache of the device's socket.
fn memory(ground: Ground<'_>, test: &Parameters) -> Vec<String> {
    let mut found = Vec::new();
    if ground.is_remote() {
        found.push("remote memory".to_owned());
    }
    if !test.reads() {
        return found;
    }
    let state = test.cache.as_str();
    if ["cold", "device-thrash"].contains(&state) {
        found.push(format!("cold memory ({state})"));
    } else if let Some(system) = ground.system() {
        let kept = system.capacities();
        let kept_bytes = if state == "host-warm" { kept.host_lines_bytes } else { kept.device_lines_bytes };
        if test.window_bytes > kept_bytes {
            found.push(format!("memory: the window exceeds the cache that {state} fills"));
        }
    }
    found
}

/// Transfers that start or end within a cache line of the host or a word of the device.
fn alignment(test: &Parameters) -> Vec<String> {
    let mut found = Vec::new();
    if !test.host_offset_bytes.is_multiple_of(LINE_BYTES) {
        found.push(format!("unaligned on the host (offset {})", test.host_offset_bytes));
    }
    if !test.device_offset_bytes.is_multiple_of(WORD_BYTES) {
        found.push(format!("unaligned on the device (offset {})", test.device_offset_bytes));
    }
    if !test.size_bytes.is_multiple_of(LINE_BYTES) && test.reads() {
        found.push("ends inside a cache line".to_owned());
    }
    found
}

/// A machine that no read keeps awake.
fn stalls(system: &System, test: &Parameters) -> Option<String> {
    let idle = system.host.idle.as_ref().filter(|_| !test.reads())?;
    let milliseconds = idle.stalls.duration_ns / 1e6;
    Some(format!("idle states: stalls of {milliseconds:.1} ms that only reads in flight prevent"))
}
