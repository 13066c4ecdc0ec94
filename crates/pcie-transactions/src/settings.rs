//! What a capture shows of the settings of its link and device.

use crate::pairing::Step;
use crate::transaction::Class;
use pcie_capture::{Direction, Kind, Tlp};
use pcie_wire::PayloadSize;
use serde::Serialize;

/// Tags without the 10-bit tags of PCIe 4.0.
const SHORT_TAGS: u16 = 256;
/// Bits of the attributes.
const NO_SNOOP: u8 = 1;
const RELAXED: u8 = 2;
const ID_BASED: u8 = 4;

/// Settings, as far as packets show them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Settings {
    /// The least MPS that the payloads allow.
    pub mps_bytes: u32,
    /// Whether a payload has exactly this size: else MPS may be anything.
    pub mps_is_used: bool,
    /// The largest payload.
    pub largest_payload_bytes: u32,
    /// The least MRRS that the reads allow.
    pub mrrs_bytes: u32,
    /// Whether a read has exactly this size.
    pub mrrs_is_used: bool,
    /// The largest read.
    pub largest_read_bytes: u32,
    /// The Read Completion Boundary, where completions end at it; `None` if all are cut at multiples of MPS, or none is.
    pub rcb_bytes: Option<u32>,
    /// The largest power of two, up to 4096, at multiples of which all completions are cut.
    pub completions_cut_at_bytes: Option<u32>,
    /// Most reads of the device in flight at a time.
    pub tags_in_flight: u32,
    /// Most reads of the host in flight at a time.
    pub host_reads_in_flight: u32,
    /// The highest tag of a request.
    pub highest_tag: Option<u16>,
    /// Whether tags have more than 8 bits.
    pub ten_bit_tags: bool,
    /// Share of the device's memory requests with relaxed ordering; `None` if the source does not show attributes.
    pub relaxed_share: Option<f64>,
    /// The same for No Snoop.
    pub no_snoop_share: Option<f64>,
    /// The same for ID-based ordering.
    pub id_ordering_share: Option<f64>,
    /// Whether TLPs have an end-to-end CRC; `None` if the source does not show it.
    pub ecrc: Option<bool>,
    /// Whether requests have addresses of 64 bits.
    pub wide_addresses: bool,
}

/// Collects them.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    largest_payload: u32,
    largest_read: u32,
    /// Alignment of the ends of completions with others after them.
    cuts: u64,
    has_cuts: bool,
    highest_tag: Option<u16>,
    requests: u64,
    attributed: u64,
    relaxed: u64,
    no_snoop: u64,
    id_ordering: u64,
    digests: Option<bool>,
    wide: u64,
}

impl Watch {
    /// Takes a TLP.
    pub fn take(&mut self, tlp: &Tlp, direction: Option<Direction>, step: &Step) {
        self.largest_payload = self.largest_payload.max(tlp.data_bytes);
        if let Some(digest) = tlp.digest {
            self.digests = Some(self.digests.unwrap_or(false) || digest);
        }
        if let Some(cut) = step.cut_at {
            self.cuts |= cut;
            self.has_cuts = true;
        }
        let Some(class) = Class::of(tlp.kind) else { return };
        if matches!(tlp.kind, Kind::MemoryRead) {
            self.largest_read = self.largest_read.max(4 * u32::from(tlp.length_dw));
            self.highest_tag = self.highest_tag.max(tlp.tag);
        }
        let memory = matches!(class, Class::Read | Class::Write);
        if !memory || direction == Some(Direction::Downstream) {
            return;
        }
        self.requests += 1;
        self.wide += u64::from(tlp.wide.unwrap_or_else(|| tlp.address.is_some_and(|at| at >> 32 != 0)));
        if let Some(attributes) = tlp.attributes {
            self.attributed += 1;
            self.relaxed += u64::from(attributes & RELAXED != 0);
            self.no_snoop += u64::from(attributes & NO_SNOOP != 0);
            self.id_ordering += u64::from(attributes & ID_BASED != 0);
        }
    }

    /// What was seen; reads in flight at most of the device and of the host.
    #[must_use]
    pub fn settings(&self, tags_in_flight: u32, host_reads_in_flight: u32) -> Settings {
        let (mps_bytes, mps_is_used) = least_size(self.largest_payload);
        let (mrrs_bytes, mrrs_is_used) = least_size(self.largest_read);
        let cut_at = self.has_cuts.then(|| 1_u32 << self.cuts.trailing_zeros().min(12));
        let share = |count: u64| (self.attributed > 0).then(|| count as f64 / self.attributed as f64);
        Settings {
            mps_bytes,
            mps_is_used,
            largest_payload_bytes: self.largest_payload,
            mrrs_bytes,
            mrrs_is_used,
            largest_read_bytes: self.largest_read,
            rcb_bytes: cut_at
                .filter(|cut| *cut < mps_bytes || *cut == 64)
                .map(|cut| if cut >= 128 { 128 } else { 64 }),
            completions_cut_at_bytes: cut_at,
            tags_in_flight,
            host_reads_in_flight,
            highest_tag: self.highest_tag,
            ten_bit_tags: self.highest_tag.is_some_and(|tag| tag >= SHORT_TAGS),
            relaxed_share: share(self.relaxed),
            no_snoop_share: share(self.no_snoop),
            id_ordering_share: share(self.id_ordering),
            ecrc: self.digests,
            wide_addresses: self.requests > 0 && 2 * self.wide > self.requests,
        }
    }
}

/// The least MPS or MRRS that allows a size, and whether the size is that.
fn least_size(bytes: u32) -> (u32, bool) {
    let sizes = PayloadSize::ALL.map(PayloadSize::bytes);
    let least = sizes.iter().copied().find(|size| *size >= bytes).unwrap_or(4096);
    (least, least == bytes)
}
