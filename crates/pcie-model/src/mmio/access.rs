//! Accesses and what they cost.

use indexmap::IndexMap;
use pcie_refusal::{Kind, Refusal, in_range};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Between, LINE_BYTES, Mmio, MmioValues};

/// What a core does with a BAR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Instruction {
    /// Stores to uncached memory, each a TLP of its own.
    UncachedStore,
    /// Stores to write-combining memory, which leave as whole buffers.
    CombinedStore,
    /// Stores of 64 B in one piece (MOVDIR64B, ST64B): posted.
    DirectStore,
    /// Stores of 64 B that the device accepts or not (ENQCMD, ST64BV): not posted, each a round trip.
    EnqueueStore,
    /// Loads one after the other, each a round trip.
    UncachedLoad,
    /// Streaming loads from write-combining memory (MOVNTDQA), which overlap.
    StreamingLoad,
    /// A load and an uncached store of its value, changed.
    ReadModifyWrite,
    /// One uncached store that the device waits for.
    Doorbell,
    /// A doorbell, and the device's store back that the core waits for.
    Exchange,
}

impl Instruction {
    /// Whether it is one instruction of at most 64 B.
    pub(super) const fn is_single(self) -> bool {
        matches!(self, Self::Doorbell | Self::Exchange)
    }
}

/// Accesses of one kind, by each of some cores.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// What the core does.
    pub instruction: Instruction,
    /// Bytes of one access: of a copy, a message or a register.
    #[schemars(range(min = 1, max = SIZE_BYTES_MOST))]
    pub size_bytes: u64,
    /// Bytes of one load or store: 1 to 64; null for the usual ones: at most 8 where it is uncached, else the widest.
    pub width_bytes: Option<u32>,
    /// Cores that do the same at once, each with its own part of the BAR.
    #[schemars(range(min = 1, max = 256))]
    pub cores: u32,
    /// Switches between the root port and the device.
    #[schemars(range(min = 0, max = 8))]
    pub switches: u32,
    /// Whether the device is at the other socket.
    pub remote: bool,
    /// Whether a call with a fence ends it, as a copy does.
    pub fenced: bool,
    /// Whether it touches a page of the BAR for the first time.
    pub first_touch: bool,
    /// Whether a register of the device is set and read back before, as for a window on its memory.
    pub window_set: bool,
}

/// The largest access.
pub(super) const SIZE_BYTES_MOST: u64 = 1 << 30;

impl Access {
    /// An access of one core to a device at its socket, without a fence.
    #[must_use]
    pub const fn of(instruction: Instruction, size_bytes: u64) -> Self {
        Self {
            instruction,
            size_bytes,
            width_bytes: None,
            cores: 1,
            switches: 0,
            remote: false,
            fenced: false,
            first_touch: false,
            window_set: false,
        }
    }

    /// Checks it for a core.
    ///
    /// # Errors
    /// Names the key.
    pub fn check(&self, mmio: &Mmio) -> Result<(), Refusal> {
        in_range("size_bytes", self.size_bytes, 1..=SIZE_BYTES_MOST, "give 1 byte to 1 GiB")?;
        in_range("cores", self.cores, 1..=256, "give 1 to 256")?;
        in_range("switches", self.switches, 0..=8, "give 0 to 8")?;
        if let Some(width) = self.width_bytes.filter(|width| !width.is_power_of_two() || *width > LINE_BYTES)
        {
            return Err(Refusal::of("width_bytes", width, "give 1, 2, 4, 8, 16, 32 or 64"));
        }
        if self.instruction.is_single() && self.size_bytes > u64::from(LINE_BYTES) {
            let remedy = "give 1 to 64: it is one store";
            return Err(Refusal::of("size_bytes", self.size_bytes, remedy).kind(Kind::OutOfRange));
        }
        let lacks = |what: &str| {
            Err(Refusal::new(format!("core {} has no {what}", mmio.core.name))
                .kind(Kind::Unsupported)
                .key("instruction")
                .remedy("give combined-store or another core"))
        };
        match self.instruction {
            Instruction::DirectStore if mmio.core.stores.direct_ns.is_none() => {
                lacks("store of 64 B in one piece")
            }
            Instruction::EnqueueStore if !mmio.core.loads.enqueues => {
                lacks("store that a device may decline")
            }
            _ => Ok(()),
        }
    }

    /// Bytes of one load or store.
    #[must_use]
    pub fn width(&self) -> u32 {
        let usual = match self.instruction {
            Instruction::UncachedStore | Instruction::UncachedLoad | Instruction::ReadModifyWrite => 8,
            _ => LINE_BYTES,
        };
        match self.instruction {
            Instruction::DirectStore | Instruction::EnqueueStore => LINE_BYTES,
            _ => self.width_bytes.unwrap_or(usual),
        }
    }

    /// Bytes of each TLP that carries data, but the last.
    #[must_use]
    pub fn piece_bytes(&self, values: &MmioValues) -> u32 {
        match self.instruction {
            Instruction::CombinedStore => values.merged_bytes,
            Instruction::DirectStore | Instruction::EnqueueStore | Instruction::StreamingLoad => LINE_BYTES,
            Instruction::Doorbell | Instruction::Exchange => self.size_bytes as u32,
            _ => self.width(),
        }
    }

    /// TLPs that carry its data.
    #[must_use]
    pub fn pieces(&self, values: &MmioValues) -> u64 {
        self.size_bytes.div_ceil(u64::from(self.piece_bytes(values)))
    }

    /// Bytes of the last TLP: loads of whole lines and stores in one piece are whole.
    #[must_use]
    pub fn last_bytes(&self, values: &MmioValues) -> u32 {
        let piece = self.piece_bytes(values);
        let whole = matches!(
            self.instruction,
            Instruction::DirectStore | Instruction::EnqueueStore | Instruction::StreamingLoad
        );
        let left = (self.size_bytes - (self.pieces(values) - 1) * u64::from(piece)) as u32;
        if whole { piece } else { left }
    }

    /// Time in which the core makes the stores of a TLP of `bytes`.
    #[must_use]
    pub fn issue_ns(&self, values: &MmioValues, widest_bytes: u32, bytes: u32) -> f64 {
        match self.instruction {
            Instruction::DirectStore => values.direct_ns.unwrap_or(values.fill_ns),
            Instruction::CombinedStore => {
                let width = self.width();
                let share = f64::from(bytes) / f64::from(LINE_BYTES);
                if width <= 8 {
                    f64::from(bytes.div_ceil(width)) * values.narrow_ns
                } else {
                    values.fill_ns * share * f64::from(widest_bytes.max(width) / width)
                }
            }
            _ => values.uncached_ns,
        }
    }

    /// One way from the root port to the device.
    #[must_use]
    pub fn flight_ns(&self, values: &MmioValues) -> f64 {
        values.link_ns + f64::from(self.switches) * values.switch_ns
    }

    /// From the core to the root port and back.
    #[must_use]
    pub fn host_ns(&self, values: &MmioValues) -> f64 {
        values.host_ns + if self.remote { values.remote_ns } else { 0.0 }
    }
}

/// What limits the rate of accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AccessBound {
    /// Stores that the core makes.
    CoreStores,
    /// Write-combining buffers that wait to be freed.
    FillBuffers,
    /// Uncached stores, which leave one at a time.
    UncachedStores,
    /// TLPs on the link, towards the device.
    WireDownstream,
    /// TLPs on the link, towards the host.
    WireUpstream,
    /// Room for stores at the device.
    PostedCredits,
    /// The device that takes stores.
    DeviceDrain,
    /// Round trips, one at a time.
    RoundTrip,
    /// Lines of streaming loads in flight.
    StreamingLines,
}

impl std::fmt::Display for AccessBound {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(to)
    }
}

/// What accesses of one kind cost. Every interval has its usual value from the usual values of the profiles.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct AccessTimes {
    /// What the core does.
    pub instruction: Instruction,
    /// Bytes of one access.
    pub size_bytes: u64,
    /// Bytes of one load or store.
    pub width_bytes: u32,
    /// Cores.
    pub cores: u32,
    /// TLPs that carry the data of one access.
    pub tlps: u64,
    /// Bytes of TLPs from host to device for one access.
    pub downstream_bytes: u64,
    /// Bytes of TLPs from device to host for one access.
    pub upstream_bytes: u64,
    /// Time of the core for one access that finds everything idle.
    pub core_ns: Between,
    /// From its start until the last byte is at the device, of a load in the core, and of an exchange back.
    pub done_ns: Between,
    /// Data of all cores together, if they go on, GB/s.
    pub gbytes_per_s: Between,
    /// What limits that rate.
    pub bound: AccessBound,
    /// The rate that each bound alone would allow, GB/s.
    pub ceilings: IndexMap<String, f64>,
}
