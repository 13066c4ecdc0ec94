//! The resolved description of a machine: the simulator's input, as JSON.
//!
//! A key's range, default and meaning are documented only here, on its field: Python's models, the reference
//! and the JSON Schemas are generated from these types. Units are key suffixes. Files, their provenance and
//! their prose belong to Python (`pcielab.library.profiles`).

mod capacities;
mod card;
mod credits;
mod error_rate;
mod host;
mod link;
mod rules;

pub use capacities::Capacities;
pub use card::{BarWindow, Card, CardKind, CommandPath, DataEngine, DmaPath, TagOrder, Timer};
pub use credits::Credits;
pub use error_rate::ErrorRate;
pub use host::{
    CompletionOrder, CompletionSplit, CoreLoad, Host, IdleStates, Invalidation, IoTlb, Iommu, LastLevelCache,
    LoadKind, Memory, OrderedReads, PageLife, Refresh, RootComplex, Stalls, WakeCluster,
};
pub use link::{FlitReplay, Link};
pub use rules::{Placement, Ruled};

use pcie_schema::quantity::{Address, Size, Socket};
use pcie_schema::relief::{Who, better, like, more};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A resolved system: the simulator's JSON input has exactly these keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct System {
    /// Short name, for example `ib-011-nosp`.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// One line for people.
    #[schemars(length(min = 1, max = 1000))]
    pub title: String,
    /// Whether the parameters were estimated from measurements of this machine.
    #[schemars(extend("x-fact" = "where the values come from"))]
    pub calibrated: bool,
    /// The negotiated link.
    pub link: Link,
    /// The host.
    pub host: Host,
    /// The device.
    pub device: Card,
    /// Socket that the device is attached to.
    #[serde(default)]
    #[schemars(with = "Socket")]
    #[schemars(extend("x-fact" = "where the slot is"))]
    pub device_socket: u32,
    /// Socket whose memory holds the host buffer.
    #[serde(default)]
    #[schemars(with = "Socket")]
    #[schemars(extend("x-relief" = like(Who::Setting, "device_socket")))]
    pub memory_socket: u32,
    /// Socket that the control program runs on: the one whose caches it thrashes and warms.
    #[serde(default)]
    #[schemars(with = "Socket")]
    #[schemars(extend("x-relief" = like(Who::Setting, "device_socket")))]
    pub program_socket: u32,
    /// How the IOMMU translates: not at all, with the largest pages that fit, or with 4 KiB pages only.
    #[serde(default)]
    #[schemars(extend("x-relief" = better(Who::Setting, ["four-kib-pages", "super-pages", "off"])))]
    pub iommu: IommuMode,
    /// Size of one physically contiguous piece of the host buffer: a power of two, at least one page.
    #[schemars(with = "Size")]
    #[schemars(extend("x-relief" = more(Who::Driver)))]
    pub chunk_bytes: u64,
    /// Bus address of each piece, in buffer order; their number times `chunk_bytes` is the size of
    /// the buffer.
    #[schemars(with = "Vec<Address>", length(min = 1))]
    #[schemars(extend("x-fact" = "where the buffer lies"))]
    pub chunk_addresses: Vec<u64>,
}

impl System {
    /// The same link and host for a device that is simulated elsewhere: nothing of the system's own device
    /// limits it.
    #[must_use]
    pub fn without_device(self) -> Self {
        Self { device: Card::elsewhere(), ..self }
    }

    /// Size of the host buffer.
    #[must_use]
    pub fn buffer_bytes(&self) -> u64 {
        self.chunk_bytes * self.chunk_addresses.len() as u64
    }
}

/// Whether and how the IOMMU translates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IommuMode {
    /// No translation.
    #[default]
    Off,
    /// Translation with the largest pages that fit: one IO-TLB entry per chunk or more.
    SuperPages,
    /// Translation with 4 KiB pages only.
    FourKibPages,
}
