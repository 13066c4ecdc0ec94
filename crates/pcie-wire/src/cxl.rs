//! CXL.mem on a link: the slots of its messages, and the time of a slot.
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
const DATA_SLOTS: f64 = (LINE_BYTES / SLOT_BYTES) as f64;

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
    /// Slots that it takes: those of its data, and its share of a slot of headers.
    pub const fn slots(self) -> f64 {
        match self {
            Self::ReadRequest => 1.0,
            Self::WriteRequest => 1.0 + DATA_SLOTS,
            Self::ReadData => 0.5 + DATA_SLOTS,
            Self::WriteCompletion => 0.25,
        }
    }
}

/// A CXL link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CxlLink {
    generation: Generation,
    lanes: Lanes,
    flit: CxlFlit,
    has_sync_headers: bool,
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
        Ok(Self { generation, lanes, flit, has_sync_headers })
    }

    /// Time of one slot in one direction, with its share of the rest of the flit.
    pub fn slot_ns(&self) -> f64 {
        let (data_bits, line_bits) = self.generation.encoding();
        let raw_gbps = self.generation.raw_gbps(self.lanes);
        let gbps =
            if self.has_sync_headers { raw_gbps } else { raw_gbps * line_bits as f64 / data_bits as f64 };
        8.0 * f64::from(self.flit.bytes()) / f64::from(self.flit.slots()) / gbps
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
