//! CXL.mem and CXL.cache on a link: the slots of their messages, and the time of a slot.
//!
//! Pure arithmetic; how messages wait for slots is in `pcie-model`. CXL.io travels as TLPs.
//!
//! Sources: public notes on the link layer of CXL 2.0 (a flit of 68 B has four slots of 16 B, 2 B of CRC and 2 B of
//! protocol ID; a write is a header and four slots of data) and of CXL 3 (256 B with fifteen slots). How many headers
//! share a slot is not in them: two for data from memory and four for completions were chosen, which match the published
//! peaks of a CXL 2.0 expander (see `Expander` in `pcie-model`).

use pcie_refusal::{Kind, Refusal};

use crate::{Generation, Lanes};

/// Bytes of a slot, the unit of a flit's content.
pub const SLOT_BYTES: u32 = 16;
/// Bytes of a cache line, which every read and write moves.
pub const LINE_BYTES: u32 = 64;

/// Slots that the data of a line take.
const DATA_SLOTS: u32 = LINE_BYTES / SLOT_BYTES;
/// Headers of the shortest message that share a slot.
pub const HEADERS_OF_SLOT: u32 = 4;

/// The flits of a CXL link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CxlFlit {
    /// 68 B, of CXL 1.1 and 2.0: four slots.
    Bytes68,
    /// 256 B, of CXL 3: fifteen slots; the rest is its header, CRC and FEC.
    Bytes256,
}

impl CxlFlit {
    /// Its size on the link.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Bytes68 => 68,
            Self::Bytes256 => 256,
        }
    }

    /// Its slots.
    pub const fn slots(self) -> u32 {
        match self {
            Self::Bytes68 => 4,
            Self::Bytes256 => 15,
        }
    }
}

impl TryFrom<u32> for CxlFlit {
    type Error = Refusal;

    fn try_from(bytes: u32) -> Result<Self, Self::Error> {
        match bytes {
            68 => Ok(Self::Bytes68),
            256 => Ok(Self::Bytes256),
            _ => Err(Refusal::of("flit_bytes", bytes, "give 68 or 256")),
        }
    }
}

/// A message of CXL.mem with a whole line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MemoryMessage {
    /// A request to memory without data (M2S Req).
    ReadRequest,
    /// A request to memory with data (M2S RwD).
    WriteRequest,
    /// A response with data (S2M DRS).
    ReadData,
    /// A response without data (S2M NDR).
    WriteCompletion,
}

impl MemoryMessage {
    /// Its header, in parts of a slot of which there are [`HEADERS_OF_SLOT`].
    pub const fn header_parts(self) -> u32 {
        match self {
            Self::ReadRequest | Self::WriteRequest => HEADERS_OF_SLOT,
            Self::ReadData => HEADERS_OF_SLOT / 2,
            Self::WriteCompletion => 1,
        }
    }

    /// Slots of its data, which follow its header.
    pub const fn data_slots(self) -> u32 {
        match self {
            Self::WriteRequest | Self::ReadData => DATA_SLOTS,
            Self::ReadRequest | Self::WriteCompletion => 0,
        }
    }

    /// Slots that it takes: those of its data, and its share of a slot of headers.
    pub const fn slots(self) -> f64 {
        self.header_parts() as f64 / HEADERS_OF_SLOT as f64 + self.data_slots() as f64
    }
}

/// A message of CXL.cache with a whole line: a device caches memory of the host.
///
/// Their slots are those of CXL.mem, so a link carries both in turn. Headers that share a slot are those of the
/// specification's slot formats with the most of a kind (general knowledge, not checked against published rates).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CacheMessage {
    /// A device's request for a line, or to write one (D2H Req).
    DeviceRequest,
    /// A device's answer to a snoop, without data (D2H Resp).
    DeviceResponse,
    /// A line from a device (D2H Data).
    DeviceData,
    /// A snoop of the host (H2D Req).
    HostRequest,
    /// The host's answer without data (H2D Resp).
    HostResponse,
    /// A line from the host (H2D Data).
    HostData,
}

impl CacheMessage {
    /// Its header, in parts of a slot of which there are [`HEADERS_OF_SLOT`].
    pub const fn header_parts(self) -> u32 {
        match self {
            Self::DeviceRequest | Self::HostRequest => HEADERS_OF_SLOT,
            Self::DeviceResponse | Self::HostResponse => HEADERS_OF_SLOT / 2,
            Self::DeviceData | Self::HostData => 1,
        }
    }

    /// Slots of its data, which follow its header.
    pub const fn data_slots(self) -> u32 {
        match self {
            Self::DeviceData | Self::HostData => DATA_SLOTS,
            _ => 0,
        }
    }

    /// Slots that it takes: those of its data, and its share of a slot of headers.
    pub const fn slots(self) -> f64 {
        self.header_parts() as f64 / HEADERS_OF_SLOT as f64 + self.data_slots() as f64
    }
}

/// A CXL link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CxlLink {
    generation: Generation,
    lanes: Lanes,
    flit: CxlFlit,
    has_sync_headers: bool,
    mac_flits: u32,
}

impl CxlLink {
    /// A link; without sync headers, which CXL can bypass, it moves its raw rate.
    ///
    /// # Errors
    /// CXL has no such link.
    pub fn new(
        generation: u32,
        lanes: u32,
        flit_bytes: u32,
        has_sync_headers: bool,
    ) -> Result<Self, Refusal> {
        let (generation, lanes) = (Generation::try_from(generation)?, Lanes::try_from(lanes)?);
        let flit = CxlFlit::try_from(flit_bytes)?;
        if generation < Generation::Gen3 {
            return Err(Refusal::of("generation", generation.number(), "give 3 to 7: CXL begins at 8 GT/s"));
        }
        if generation.requires_flit_mode() && flit == CxlFlit::Bytes68 {
            let problem = format!("generation {} has flits of 256 B only", generation.number());
            let refusal = Refusal::of("flit_bytes", flit_bytes, "give 256").problem(problem);
            return Err(refusal.kind(Kind::Conflict).beside("generation"));
        }
        Ok(Self { generation, lanes, flit, has_sync_headers, mac_flits: 0 })
    }

    /// The link with integrity and data encryption (CXL IDE): each `mac_flits` flits share a MAC of 96 bits, which
    /// takes a slot; 0: without.
    #[must_use]
    pub const fn with_ide(self, mac_flits: u32) -> Self {
        Self { mac_flits, ..self }
    }

    /// Its flits.
    pub const fn flit(&self) -> CxlFlit {
        self.flit
    }

    /// Slots from one MAC to the next, that of the MAC included; `None` without IDE.
    pub const fn slots_of_mac(&self) -> Option<u32> {
        match self.mac_flits {
            0 => None,
            flits => Some(flits * self.flit.slots()),
        }
    }

    /// Time of a flit in one direction.
    pub fn flit_ns(&self) -> f64 {
        let (data_bits, line_bits) = self.generation.encoding();
        let raw_gbps = self.generation.raw_gbps(self.lanes);
        let gbps =
            if self.has_sync_headers { raw_gbps } else { raw_gbps * line_bits as f64 / data_bits as f64 };
        8.0 * f64::from(self.flit.bytes()) / gbps
    }

    /// Time of one slot in one direction, with its share of the rest of the flit and of a MAC.
    pub fn slot_ns(&self) -> f64 {
        let of_mac = self.slots_of_mac().map_or(1.0, |slots| f64::from(slots) / f64::from(slots - 1));
        self.flit_ns() / f64::from(self.flit.slots()) * of_mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slot_is_a_quarter_of_68_bytes_or_a_fifteenth_of_256() {
        let slot_ns = |generation, lanes, flit_bytes, has_sync_headers| {
            CxlLink::new(generation, lanes, flit_bytes, has_sync_headers).unwrap().slot_ns()
        };
        // 17 B at 32 GB/s; sync headers take 2 of 130 bits.
        assert_eq!(slot_ns(5, 8, 68, false), 17.0 / 32.0);
        assert!((slot_ns(5, 8, 68, true) - 17.0 / 32.0 * 130.0 / 128.0).abs() < 1e-12);
        assert!((slot_ns(5, 16, 68, false) - 17.0 / 64.0).abs() < 1e-12);
        assert!((slot_ns(6, 8, 256, false) - 256.0 / 15.0 / 64.0).abs() < 1e-12);
        assert_eq!(slot_ns(6, 8, 256, true), slot_ns(6, 8, 256, false));
    }

    #[test]
    fn a_cached_read_and_write_back_take_the_slots_of_a_line_once_each_way() {
        use CacheMessage::{DeviceData, DeviceRequest, HostData, HostResponse};
        let slots = |messages: [CacheMessage; 2]| messages.map(CacheMessage::slots).iter().sum::<f64>();
        // A read is a request one way, and a response with its line the other; a write back the line and its request.
        assert_eq!((DeviceRequest.slots(), slots([HostResponse, HostData])), (1.0, 4.75));
        assert_eq!((slots([DeviceRequest, DeviceData]), HostResponse.slots()), (5.25, 0.5));
        for message in [DeviceRequest, DeviceData, HostData, HostResponse] {
            assert_eq!(message.data_slots() > 0, matches!(message, DeviceData | HostData));
        }
    }

    #[test]
    fn a_mac_takes_one_slot_of_its_flits() {
        let plain = CxlLink::new(5, 8, 68, false).unwrap();
        // Five flits of four slots carry nineteen slots of messages.
        assert!((plain.with_ide(5).slot_ns() / plain.slot_ns() - 20.0 / 19.0).abs() < 1e-12);
        assert_eq!((plain.slots_of_mac(), plain.with_ide(5).slots_of_mac()), (None, Some(20)));
        assert_eq!(plain.flit_ns(), 68.0 / 32.0);
    }

    #[test]
    fn slots_that_no_payload_needs_are_headers() {
        let all = [
            (MemoryMessage::ReadRequest, 0, 1.0),
            (MemoryMessage::WriteRequest, 64, 1.0),
            (MemoryMessage::ReadData, 64, 0.5),
            (MemoryMessage::WriteCompletion, 0, 0.25),
        ];
        for (message, payload_bytes, header_slots) in all {
            let payload_slots = f64::from(payload_bytes) / f64::from(SLOT_BYTES);
            assert_eq!(message.slots() - payload_slots, header_slots, "{message:?}");
        }
        assert!(CxlFlit::Bytes68.slots() * SLOT_BYTES <= CxlFlit::Bytes68.bytes());
        assert!(CxlFlit::Bytes256.slots() * SLOT_BYTES <= CxlFlit::Bytes256.bytes());
    }

    #[test]
    fn links_that_cxl_lacks_are_refused_by_key() {
        let refused = |generation, lanes, flit_bytes| {
            CxlLink::new(generation, lanes, flit_bytes, false).unwrap_err().to_string()
        };
        assert_eq!(refused(2, 8, 68), "generation is 2: give 3 to 7: CXL begins at 8 GT/s");
        assert_eq!(refused(6, 8, 68), "flit_bytes is 68: generation 6 has flits of 256 B only: give 256");
        assert_eq!(refused(5, 8, 64), "flit_bytes is 64: give 68 or 256");
        assert!(refused(5, 3, 68).starts_with("lanes is 3"));
    }
}
