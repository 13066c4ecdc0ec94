//! One PCI function: what it is, how it may use its link, and the errors that it saw.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::{LinkEnd, UNNAMED_DOMAIN};

const TAGS_5_BIT: u32 = 32;
const TAGS_8_BIT: u32 = 256;
const TAGS_10_BIT: u32 = 768;
const TAGS_14_BIT: u32 = 15_360;

/// The type of a function in its PCI Express capability.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names are those of the specification")]
pub enum Kind {
    Endpoint,
    LegacyEndpoint,
    RootPort,
    UpstreamPort,
    DownstreamPort,
    PcieToPciBridge,
    PciToPcieBridge,
    IntegratedEndpoint,
    EventCollector,
}

impl Kind {
    /// Its word: `root-port`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Endpoint => "endpoint",
            Self::LegacyEndpoint => "legacy-endpoint",
            Self::RootPort => "root-port",
            Self::UpstreamPort => "upstream-port",
            Self::DownstreamPort => "downstream-port",
            Self::PcieToPciBridge => "pcie-to-pci-bridge",
            Self::PciToPcieBridge => "pci-to-pcie-bridge",
            Self::IntegratedEndpoint => "integrated-endpoint",
            Self::EventCollector => "event-collector",
        }
    }
}

/// How a function may use its link: DevCap, DevCtl, DevCap2, DevCtl2.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Control {
    /// Largest payload that it supports (DevCap).
    pub max_payload_bytes: Option<u32>,
    /// Maximum payload size that is set (DevCtl).
    pub mps_bytes: Option<u32>,
    /// Maximum read request size that is set (DevCtl).
    pub mrrs_bytes: Option<u32>,
    /// Whether it supports 8-bit tags (DevCap).
    pub extended_tags_possible: Option<bool>,
    /// Whether 8-bit tags are on (DevCtl).
    pub extended_tags: Option<bool>,
    /// Whether it answers requests with 10-bit tags (DevCap2).
    pub ten_bit_completer: Option<bool>,
    /// Whether it supports sending 10-bit tags (DevCap2).
    pub ten_bit_requester: Option<bool>,
    /// Whether 10-bit tags are on (DevCtl2).
    pub ten_bit_tags: Option<bool>,
    /// Whether 14-bit tags are on (DevCtl3).
    pub fourteen_bit_tags: Option<bool>,
    /// Whether it may mark requests as relaxed-ordered (DevCtl).
    pub relaxed_ordering: Option<bool>,
    /// Whether it waits for completions forever (DevCtl2).
    pub completion_timeout_off: Option<bool>,
    /// Of a port: whether it passes atomic operations on (DevCap2).
    pub atomics_routed: Option<bool>,
    /// Sizes of atomic operations that it completes (DevCap2): 32bit, 64bit, 128bitCAS.
    pub atomics_completed: Option<Vec<String>>,
    /// Whether it may send atomic operations (DevCtl2).
    pub atomics_requested: Option<bool>,
    /// Of a port: whether it refuses to send atomic operations down (DevCtl2).
    pub atomics_blocked: Option<bool>,
    /// Whether latency tolerance reporting is on (DevCtl2).
    pub ltr: Option<bool>,
}

impl Control {
    /// Read requests that it may have in flight; None if unknown.
    #[must_use]
    pub fn tags(&self) -> Option<u32> {
        if self.fourteen_bit_tags == Some(true) {
            return Some(TAGS_14_BIT);
        }
        if self.ten_bit_tags == Some(true) {
            return Some(TAGS_10_BIT);
        }
        self.extended_tags.map(|on| if on { TAGS_8_BIT } else { TAGS_5_BIT })
    }
}

/// Advanced error reporting: ECRC, and errors counted so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ErrorReporting {
    /// Whether it appends an ECRC to its TLPs.
    pub ecrc_generated: Option<bool>,
    /// Whether it checks the ECRC of TLPs that it receives.
    pub ecrc_checked: Option<bool>,
    /// Correctable errors since boot, by name, as the kernel counts them.
    pub correctable: Option<IndexMap<String, u64>>,
    /// Uncorrectable errors since boot, by name.
    pub fatal: Option<IndexMap<String, u64>>,
    /// Correctable errors seen since the bits were cleared (CESta): RxErr, BadTLP, BadDLLP, Rollover, Timeout...
    pub correctable_status: Option<Vec<String>>,
    /// Uncorrectable errors seen since the bits were cleared (UESta): DLP, SDES, TLP, CmpltTO, MalfTLP...
    pub uncorrectable_status: Option<Vec<String>>,
    /// Uncorrectable errors that it does not report (UEMsk).
    pub uncorrectable_masked: Option<Vec<String>>,
    /// Of a root port: error messages that it received (RootSta): CERcvd, UERcvd, FatalMsg...
    pub root_status: Option<Vec<String>>,
}

/// A BAR with a selectable size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResizableBar {
    /// Its number.
    pub bar: u32,
    /// Its present size.
    pub size_bytes: u64,
    /// The largest size that it may have.
    pub largest_bytes: u64,
}

/// One PCI function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Domain, bus, device and function: `0000:41:00.0`.
    pub slot: String,
    /// Class and name, for people.
    pub title: String,
    /// Vendor ID.
    pub vendor_id: Option<u32>,
    /// Device ID.
    pub device_id: Option<u32>,
    /// Class and subclass: 0x0200 is Ethernet. None if the text has an unknown name.
    pub class_code: Option<u32>,
    /// Its type in the PCI Express capability; None for conventional PCI, or if it could not be read.
    pub kind: Option<Kind>,
    /// Of a bridge: the bus below it.
    pub secondary_bus: Option<u8>,
    /// Of a bridge: the highest bus below it.
    pub subordinate_bus: Option<u8>,
    /// Whether it is an SR-IOV virtual function: most of its control bits are reserved, and its PF's count.
    #[serde(default)]
    pub is_virtual_function: bool,
    /// Of a port: whether it leads to a slot (Slot Implemented).
    pub has_slot: Option<bool>,
    /// Of a port with a slot: whether something is in it (Presence Detect State).
    pub card_present: Option<bool>,
    /// Of a port with a slot: whether the power of the slot is switched off (Power Controller Control).
    pub slot_off: Option<bool>,
    /// False if its configuration space reads as all ones: it is off, or off the bus.
    pub answers: Option<bool>,
    /// The driver that is bound to it.
    pub driver: Option<String>,
    /// Whether it may issue requests of its own.
    pub bus_master: Option<bool>,
    /// D0, D1, D2, D3hot or D3cold.
    pub power_state: Option<String>,
    /// The node that it is attached to; -1 if the firmware does not say.
    pub numa_node: Option<i64>,
    /// The nodes whose processors serve its interrupts.
    pub interrupt_nodes: Option<Vec<i64>>,
    /// Number of its IOMMU group.
    pub iommu_group: Option<i64>,
    /// Type of its group: `identity`, `DMA` (strict), `DMA-FQ` (lazy)...
    pub iommu_type: Option<String>,
    /// Its end of its link.
    pub link: Option<LinkEnd>,
    /// How it may use its link.
    pub control: Option<Control>,
    /// ECRC and errors.
    pub errors: Option<ErrorReporting>,
    /// Of a port: why downstream port containment took its link down (DpcSta); None if it did not.
    pub contained: Option<String>,
    /// BARs to which neither the firmware nor the kernel gave addresses.
    #[serde(default)]
    pub unassigned_bars: Vec<u32>,
    /// Access control services that are on: SrcValid, ReqRedir, CmpltRedir, UpstreamFwd...
    pub acs_enabled: Option<Vec<String>>,
    /// Whether it may ask the IOMMU for translations itself (ATS Control).
    pub ats_enabled: Option<bool>,
    /// BARs with selectable sizes.
    #[serde(default)]
    pub resizable_bars: Vec<ResizableBar>,
    /// CXL protocols that are on: Cache, IO, Mem; empty for anything else.
    #[serde(default)]
    pub cxl_protocols: Vec<String>,
    /// The function above, from a source that nests functions and has no bus numbers of bridges.
    pub above_slot: Option<String>,
    /// Its name in another program: `gpu0`, `mlx5_0`.
    pub label: Option<String>,
}

impl Function {
    /// Its segment group, from the slot; empty if the slot has none.
    #[must_use]
    pub fn domain(&self) -> &str {
        let bus = self.slot.rsplit_once(':').map_or("", |(bus, _)| bus);
        bus.rsplit_once(':').map_or("", |(domain, _)| domain)
    }

    /// Its bus number.
    #[must_use]
    pub fn bus(&self) -> u8 {
        let digits = self.slot.rsplit(':').nth(1).unwrap_or_default();
        u8::from_str_radix(digits, 16).unwrap_or_default()
    }

    /// The slot of its device, without the number of the function: `0000:41:00`.
    #[must_use]
    pub fn device_slot(&self) -> &str {
        self.slot.rsplit_once('.').map_or("", |(device, _)| device)
    }

    /// Whether its source shows registers without a slot: then the slot is made up.
    #[must_use]
    pub fn is_unnamed(&self) -> bool {
        self.slot.starts_with(UNNAMED_DOMAIN)
    }

    /// Whether it is a device behind a link: neither a port, nor integrated in the root complex.
    #[must_use]
    pub fn is_endpoint(&self) -> bool {
        matches!(self.kind, Some(Kind::Endpoint | Kind::LegacyEndpoint))
    }

    /// Whether a link may lead down from it.
    #[must_use]
    pub fn is_port(&self) -> bool {
        matches!(self.kind, Some(Kind::RootPort | Kind::DownstreamPort))
    }

    /// The first byte of the class: 0x01 storage, 0x02 network, 0x03 display, 0x12 accelerator.
    #[must_use]
    pub fn base_class(&self) -> Option<u32> {
        self.class_code.map(|code| code >> 8)
    }

    /// The title without the class.
    #[must_use]
    pub fn name(&self) -> &str {
        match self.title.split_once(": ") {
            Some((_, name)) if !name.is_empty() => name,
            _ => &self.title,
        }
    }

    /// Its slot as people read it: without the domain 0000, the only one of most machines.
    #[must_use]
    pub fn short_slot(&self) -> String {
        short_slot(&self.slot)
    }
}

/// A slot without the domain 0000; a number where the source shows no slot.
#[must_use]
pub fn short_slot(slot: &str) -> String {
    unnamed_number(slot).map_or_else(
        || slot.strip_prefix("0000:").unwrap_or(slot).to_owned(),
        |number| format!("unnamed {number}"),
    )
}

fn unnamed_number(slot: &str) -> Option<u32> {
    let (_, device) = slot.strip_prefix(UNNAMED_DOMAIN)?.rsplit_once(':')?;
    let (device, function) = device.split_once('.')?;
    Some(u32::from_str_radix(device, 16).ok()? + 32 * function.parse::<u32>().ok()? + 1)
}
