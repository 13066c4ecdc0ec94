//! The negotiated configuration of a link.

use pcie_refusal::Refusal;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{FLIT_BYTES, FLIT_TLP_BYTES, Generation, Lanes, PayloadSize, ReadCompletionBoundary};

/// Width of the addresses in memory requests, which sets the header length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AddressWidth {
    /// Below 4 GiB: a header of 3 DW.
    Bits32,
    /// At or above 4 GiB: a header of 4 DW.
    Bits64,
}

/// A negotiated link as profiles and the command line give it; [`LinkConfiguration`] is the validated form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LinkParameters {
    /// PCIe generation, 1 to 7.
    #[schemars(range(min = 1, max = 7))]
    pub generation: u32,
    /// Width: 1, 2, 4, 8, 12, 16 or 32.
    #[schemars(extend("enum" = [1, 2, 4, 8, 12, 16, 32]))]
    pub lanes: u32,
    /// Maximum Payload Size, 128 to 4096.
    #[schemars(extend("enum" = [128, 256, 512, 1024, 2048, 4096]))]
    pub mps_bytes: u32,
    /// Maximum Read Request Size, 128 to 4096.
    #[schemars(extend("enum" = [128, 256, 512, 1024, 2048, 4096]))]
    pub mrrs_bytes: u32,
    /// Read Completion Boundary, 64 (if left out) or 128.
    #[serde(default = "sixty_four")]
    #[schemars(extend("enum" = [64, 128]))]
    pub rcb_bytes: u32,
    /// Width of addresses: 32 or 64 (if left out).
    #[serde(default = "sixty_four")]
    #[schemars(extend("enum" = [32, 64]))]
    pub address_bits: u32,
    /// Whether requests carry an end-to-end CRC, and completions if nothing else is said of them; no, if left out.
    #[serde(default)]
    pub ecrc: bool,
    /// Whether completions carry one: the other end sends them. If left out, as requests do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub completion_ecrc: Option<bool>,
    /// Whether the link runs in flit mode; if left out, as the generation's own rate needs it.
    #[serde(default)]
    pub flit_mode: Option<bool>,
    /// With integrity and data encryption (IDE), TLPs that share a MAC: 1 to 8. If left out, TLPs are not encrypted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 8))]
    pub ide_tlps: Option<u32>,
}

/// The most TLPs that may share a MAC (PCI Express Base Specification 6.0, section 6.33).
const IDE_TLPS_MOST: u32 = 8;

const fn sixty_four() -> u32 {
    64
}

impl LinkParameters {
    /// A link with the default RCB, address width, ECRC and flit mode, without IDE.
    pub const fn new(generation: u32, lanes: u32, mps_bytes: u32, mrrs_bytes: u32) -> Self {
        let (rcb_bytes, address_bits) = (sixty_four(), sixty_four());
        Self {
            generation,
            lanes,
            mps_bytes,
            mrrs_bytes,
            rcb_bytes,
            address_bits,
            ecrc: false,
            completion_ecrc: None,
            flit_mode: None,
            ide_tlps: None,
        }
    }
}

/// A valid link. Made from [`LinkParameters`], also when deserialised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "LinkParameters", into = "LinkParameters")]
pub struct LinkConfiguration {
    /// Signalling rate and line code.
    pub generation: Generation,
    /// Width.
    pub lanes: Lanes,
    /// Maximum Payload Size: limits the data of a write or a completion.
    pub mps: PayloadSize,
    /// Maximum Read Request Size: limits the data of one read.
    pub mrrs: PayloadSize,
    /// Read Completion Boundary.
    pub rcb: ReadCompletionBoundary,
    /// Length of addresses in requests.
    pub address_width: AddressWidth,
    /// Whether requests carry an end-to-end CRC.
    pub ecrc: bool,
    /// Whether completions carry one.
    pub completion_ecrc: bool,
    flit_mode: bool,
    ide_tlps: Option<u32>,
}

impl LinkConfiguration {
    /// Whether TLPs travel in flits. Always so in generations 6 and 7, hence not a field to set.
    pub const fn flit_mode(&self) -> bool {
        self.flit_mode || self.generation.requires_flit_mode()
    }

    /// With IDE, TLPs that share a MAC, 1 to 8; `None` without.
    pub const fn ide_tlps(&self) -> Option<u32> {
        self.ide_tlps
    }

    /// The link without IDE.
    #[must_use]
    pub const fn without_ide(&self) -> Self {
        Self { ide_tlps: None, ..*self }
    }

    /// The link as the other end uses it: its requests and its completions.
    #[must_use]
    pub const fn from_other_end(&self) -> Self {
        Self { ecrc: self.completion_ecrc, completion_ecrc: self.ecrc, ..*self }
    }

    /// Rate of one direction after the line code, before all other overhead, Gb/s.
    pub fn raw_gbps(&self) -> f64 {
        self.generation.raw_gbps(self.lanes)
    }

    /// Exact time of one byte of a TLP or DLLP. In flit mode it includes a share of the flit's other bytes.
    pub const fn byte_time(&self) -> ByteTime {
        let (data_bits, line_bits) = self.generation.encoding();
        let (flit_bytes, carried) = if self.flit_mode() { (FLIT_BYTES, FLIT_TLP_BYTES) } else { (1, 1) };
        let bits_per_microsecond = self.generation.megatransfers_per_second() * self.lanes.count() as u64;
        ByteTime::reduced(8 * 1_000_000 * line_bits * flit_bytes, bits_per_microsecond * data_bits * carried)
    }
}

/// Picoseconds a byte, in lowest terms: n bytes take `n * numerator / denominator` ps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ByteTime {
    /// Picoseconds for `denominator` bytes.
    pub numerator: u64,
    /// Bytes.
    pub denominator: u64,
}

impl ByteTime {
    const fn reduced(numerator: u64, denominator: u64) -> Self {
        let (mut divisor, mut rest) = (numerator, denominator);
        while rest != 0 {
            (divisor, rest) = (rest, divisor % rest);
        }
        Self { numerator: numerator / divisor, denominator: denominator / divisor }
    }
}

impl TryFrom<LinkParameters> for LinkConfiguration {
    type Error = Refusal;

    fn try_from(given: LinkParameters) -> Result<Self, Self::Error> {
        let generation = Generation::try_from(given.generation)?;
        let flit_mode = given.flit_mode.unwrap_or(generation.requires_flit_mode());
        if generation.requires_flit_mode() && !flit_mode {
            let problem = format!("generation {} has flits only", given.generation);
            return Err(Refusal::of("flit_mode", false, "leave it out").problem(problem));
        }
        if let Some(tlps) = given.ide_tlps.filter(|tlps| !(1..=IDE_TLPS_MOST).contains(tlps)) {
            return Err(Refusal::of("ide_tlps", tlps, format!("give 1 to {IDE_TLPS_MOST}")));
        }
        Ok(Self {
            generation,
            lanes: Lanes::try_from(given.lanes)?,
            mps: PayloadSize::named("mps_bytes", given.mps_bytes)?,
            mrrs: PayloadSize::named("mrrs_bytes", given.mrrs_bytes)?,
            rcb: ReadCompletionBoundary::try_from(given.rcb_bytes)?,
            address_width: match given.address_bits {
                32 => AddressWidth::Bits32,
                64 => AddressWidth::Bits64,
                other => return Err(Refusal::of("address_bits", other, "give 32 or 64")),
            },
            ecrc: given.ecrc,
            completion_ecrc: given.completion_ecrc.unwrap_or(given.ecrc),
            flit_mode,
            ide_tlps: given.ide_tlps,
        })
    }
}

impl From<LinkConfiguration> for LinkParameters {
    fn from(link: LinkConfiguration) -> Self {
        Self {
            generation: link.generation.number(),
            lanes: link.lanes.count(),
            mps_bytes: link.mps.bytes(),
            mrrs_bytes: link.mrrs.bytes(),
            rcb_bytes: link.rcb.bytes(),
            address_bits: match link.address_width {
                AddressWidth::Bits32 => 32,
                AddressWidth::Bits64 => 64,
            },
            ecrc: link.ecrc,
            completion_ecrc: (link.completion_ecrc != link.ecrc).then_some(link.completion_ecrc),
            flit_mode: Some(link.flit_mode()),
            ide_tlps: link.ide_tlps,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Piece, TlpKind};

    fn parse(text: &str) -> Result<LinkConfiguration, String> {
        serde_json::from_str(text).map_err(|error| error.to_string())
    }

    #[test]
    fn missing_keys_have_defaults() {
        let link = parse(r#"{"generation":3,"lanes":8,"mps_bytes":256,"mrrs_bytes":512}"#).unwrap();
        assert_eq!(link.rcb.bytes(), 64);
        assert_eq!(link.address_width, AddressWidth::Bits64);
        assert!(!link.ecrc && !link.flit_mode());
        let text = serde_json::to_string(&link).unwrap();
        assert_eq!(parse(&text).unwrap(), link);
    }

    #[test]
    fn each_end_appends_an_ecrc_or_none() {
        let ends = |keys: &str| {
            let link =
                parse(&format!(r#"{{"generation":3,"lanes":8,"mps_bytes":256,"mrrs_bytes":512,{keys}}}"#))
                    .unwrap();
            assert_eq!(parse(&serde_json::to_string(&link).unwrap()).unwrap(), link);
            let bytes = |link: &LinkConfiguration| {
                [TlpKind::MemoryRead, TlpKind::CompletionWithData]
                    .map(|kind| link.tlp_bytes(kind, Piece { address: 0, length: 64 }))
            };
            (bytes(&link), bytes(&link.from_other_end()))
        };
        assert_eq!(ends(r#""ecrc":true"#), ([28, 88], [28, 88]));
        assert_eq!(ends(r#""ecrc":true,"completion_ecrc":false"#), ([28, 84], [24, 88]));
        assert_eq!(ends(r#""completion_ecrc":true"#), ([24, 88], [28, 84]));
    }

    #[test]
    fn ide_adds_a_prefix_to_each_tlp_and_a_mac_to_some() {
        for (generation, [request, completion]) in [(5, [24, 84]), (6, [16, 76])] {
            for (tlps, mac_bytes) in [(1, 12.0), (2, 6.0), (8, 1.5)] {
                let keys = r#""lanes":8,"mps_bytes":256,"mrrs_bytes":512"#;
                let link =
                    parse(&format!(r#"{{"generation":{generation},{keys},"ide_tlps":{tlps}}}"#)).unwrap();
                assert_eq!(parse(&serde_json::to_string(&link).unwrap()).unwrap(), link);
                let piece = Piece { address: 0, length: 64 };
                let kinds = [(TlpKind::MemoryRead, request), (TlpKind::CompletionWithData, completion)];
                for (kind, plain) in kinds {
                    assert_eq!(link.without_ide().tlp_bytes(kind, piece), plain);
                    assert_eq!(link.tlp_bytes(kind, piece), plain + 4 + 12);
                    assert_eq!(link.mean_tlp_bytes(kind, piece), f64::from(plain) + 4.0 + mac_bytes);
                }
            }
        }
    }

    #[test]
    fn messages_name_key_value_and_remedy() {
        for (keys, expected) in [
            (r#""generation":8,"lanes":8,"mps_bytes":256,"mrrs_bytes":512"#, "generation is 8: give"),
            (r#""generation":3,"lanes":6,"mps_bytes":256,"mrrs_bytes":512"#, "lanes is 6: give"),
            (r#""generation":3,"lanes":8,"mps_bytes":300,"mrrs_bytes":512"#, "mps_bytes is 300: give"),
            (r#""generation":3,"lanes":8,"mps_bytes":256,"mrrs_bytes":64"#, "mrrs_bytes is 64: give"),
            (
                r#""rcb_bytes":96,"generation":3,"lanes":8,"mps_bytes":256,"mrrs_bytes":512"#,
                "rcb_bytes is 96: give",
            ),
            (
                r#""address_bits":48,"generation":3,"lanes":8,"mps_bytes":256,"mrrs_bytes":512"#,
                "give 32 or 64",
            ),
            (
                r#""flit_mode":false,"generation":6,"lanes":8,"mps_bytes":256,"mrrs_bytes":512"#,
                "leave it out",
            ),
            (
                r#""ide_tlps":9,"generation":5,"lanes":8,"mps_bytes":256,"mrrs_bytes":512"#,
                "ide_tlps is 9: give 1 to 8",
            ),
            (r#""mps":1,"generation":3,"lanes":8,"mps_bytes":256,"mrrs_bytes":512"#, "unknown field `mps`"),
            (r#""generation":3,"lanes":8,"mps_bytes":256"#, "missing field `mrrs_bytes`"),
        ] {
            let message = parse(&format!("{{{keys}}}")).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }

    #[test]
    fn byte_times_are_exact() {
        let link = parse(r#"{"generation":3,"lanes":8,"mps_bytes":256,"mrrs_bytes":512}"#).unwrap();
        // 130/128 of 125 ps: 126.953125 ps, 7.877 GB/s.
        assert_eq!(link.byte_time(), ByteTime { numerator: 8_125, denominator: 64 });
        let link = parse(r#"{"generation":6,"lanes":16,"mps_bytes":256,"mrrs_bytes":512}"#).unwrap();
        // 7.8125 ps at 128 GB/s, times 256/236.
        assert_eq!(link.byte_time(), ByteTime { numerator: 500, denominator: 59 });
    }
}
