//! Facts about devices and hosts: *identity*, which a resumed run must match, and *conditions*, which change
//! during a run.
//!
//! Profiles describe simulated devices and hosts in full; [`DeviceHardware`] and [`HostHardware`] describe
//! real ones. An unknown value is null, never a guess.

use pcie_store::{Scalar, Series};
use pcie_time::TickLength;
use serde::{Deserialize, Serialize};

/// Identity of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeviceFacts {
    /// Its name.
    pub name: String,
    /// Its timer: length of a tick as a fraction, and clock cycles in it.
    pub timer: TimerFacts,
    /// Longest transfer of the DMA path, bytes; null without one.
    pub dma_transfer_bytes_most: Option<u64>,
    /// Longest transfer of the command path, bytes; null without one.
    pub command_transfer_bytes_most: Option<u64>,
    /// Most transactions in flight; null where unknown.
    pub outstanding: Option<u32>,
    /// Facts of real or emulated hardware.
    #[serde(flatten)]
    pub hardware: Option<DeviceHardware>,
}

/// Facts of a real or emulated device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceHardware {
    /// Where it is: `0000:3b:00.0`, or a core, `cpu2`.
    pub address: Option<String>,
    /// PCI vendor.
    pub vendor_id: Option<u16>,
    /// PCI device.
    pub device_id: Option<u16>,
    /// Version of its firmware.
    pub firmware: Option<String>,
    /// Version of its driver.
    pub driver: Option<String>,
    /// Highest speed and width that its link supports.
    pub link: Option<LinkFacts>,
    /// Tests that it can carry out, by path and operation: `command lat-rd`.
    pub operations: Vec<String>,
    /// Parts of a latency beside the transfer: `doorbell`, `descriptor`, `medium`, `controller`, `loopback`,
    /// `poll`, `interrupt`, `processor`, `timer`.
    pub latency_includes: Vec<String>,
    /// Longest silence before the device is given up, ms.
    pub deadline_ms: Option<u64>,
    /// Memory types of the mappings of its BAR; none without stores into a BAR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_types: Option<MemoryTypes>,
}

/// Memory types that the kernel granted to mappings of a BAR, in its words: `uncached-minus`,
/// `write-combining`. None where the kernel does not show it, or where there is no mapping of the kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct MemoryTypes {
    /// Of the mapping for uncached stores.
    pub uncached: Option<String>,
    /// Of the mapping for write-combined stores.
    pub write_combined: Option<String>,
}

/// A PCIe link, in the form that importers write, too.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkFacts {
    /// Rate of a lane, GT/s.
    pub rate_gtps: Option<f64>,
    /// Lanes.
    pub lanes: Option<u32>,
    /// Largest payload of a TLP.
    pub mps_bytes: Option<u32>,
    /// Largest read request.
    pub mrrs_bytes: Option<u32>,
}

/// The timer of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimerFacts {
    /// Length of a tick, ns: numerator.
    pub numerator_ns: u64,
    /// Length of a tick, ns: denominator.
    pub denominator: u64,
    /// Clock cycles in a tick.
    pub cycles: u64,
}

impl TimerFacts {
    /// The length of a tick.
    #[must_use]
    pub fn tick(self) -> TickLength {
        TickLength { numerator_ns: self.numerator_ns, denominator: self.denominator }
    }

    /// The length of a tick in the store's format, for example `40/3`.
    #[must_use]
    pub fn as_fraction(self) -> String {
        format!("{}/{}", self.numerator_ns, self.denominator)
    }
}

/// A device's remarks on the last test, beside its numbers.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Remarks {
    /// Tick of this test; null for that of the device's facts. Processor clocks change between tests.
    pub timer: Option<TimerFacts>,
    /// A caveat about the numbers, on one line.
    pub message: Option<String>,
    /// Numbers about parts of the timed interval, each with the part as its subject.
    #[serde(default)]
    pub parts: Vec<Scalar>,
    /// Numbers in order, one for each slice of the test.
    #[serde(default)]
    pub series: Vec<Series>,
    /// Factors by which the time of this bandwidth test may be shorter and longer in other runs, at 95 %,
    /// where the device knows that runs differ more than parts of one run do.
    #[serde(default)]
    pub between_runs: Option<(f64, f64)>,
}

/// Identity of a host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostFacts {
    /// Its name.
    pub name: String,
    /// Sockets.
    pub sockets: Option<u32>,
    /// Last-level cache of a socket, bytes.
    pub llc_bytes: Option<u64>,
    /// Size of the buffer, bytes.
    pub buffer_bytes: u64,
    /// Socket of the device.
    pub device_socket: Option<u32>,
    /// Socket of the buffer.
    pub memory_socket: Option<u32>,
    /// Socket of the control program.
    pub program_socket: Option<u32>,
    /// Facts of real or emulated hardware.
    #[serde(flatten)]
    pub hardware: Option<HostHardware>,
}

/// Facts of a real or emulated host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostHardware {
    /// Model of the processor.
    pub processor: Option<String>,
    /// Caches that the control program's core can reach.
    pub caches: Vec<CacheFacts>,
    /// Name and release of the kernel.
    pub kernel: Option<String>,
    /// Command line of the kernel.
    pub command_line: Option<String>,
    /// Page size of the buffer.
    pub page_bytes: Option<u64>,
    /// NUMA node of the buffer.
    pub node: Option<u32>,
    /// Core that the control program is pinned to.
    pub core: Option<u32>,
    /// `off`, `super-pages` or `four-kib-pages`, for the device; null where unknown.
    pub iommu: Option<String>,
    /// Method that makes caches cold: `thrash` or `flush`.
    pub cold: Option<String>,
    /// Ways of the last-level cache that writes of devices may fill (DDIO), as a mask; null where unreadable.
    pub ddio_way_mask: Option<u64>,
    /// Ways of the last-level cache that devices share with the cores, as resctrl's mask.
    pub shared_way_mask: Option<u64>,
    /// resctrl's `io_alloc`, for example `disabled`.
    pub io_alloc: Option<String>,
    /// Prefetchers of the core that are off; null where unreadable.
    pub prefetchers_off: Option<Vec<String>>,
    /// The program's governor of the core's clock: `performance`; null where the kernel does not set the clock.
    pub governor: Option<String>,
    /// Whether cores may exceed their nominal clock; null where the kernel does not report it.
    pub turbo: Option<bool>,
}

/// A cache.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheFacts {
    /// Level, from 1.
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub holds: String,
    /// Size, bytes.
    pub bytes: u64,
    /// Processors that share it, as the kernel lists them: `0-7`.
    pub shared_by: String,
}

/// A changing value of a device or host: link state, clocks, temperature, throttling, load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Condition {
    /// Name, for example `temperature`.
    pub metric: String,
    /// Unit, for example `C`; `1` for a count or a yes-or-no.
    pub unit: String,
    /// Value; null where it cannot be read now.
    pub value: Option<f64>,
}

impl Condition {
    /// A condition; a value that is not finite counts as unreadable.
    #[must_use]
    pub fn new(metric: &str, unit: &str, value: Option<f64>) -> Self {
        Self { metric: metric.into(), unit: unit.into(), value: value.filter(|value| value.is_finite()) }
    }
}
