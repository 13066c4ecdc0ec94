//! PCI Express generations: the signalling rate of a lane and the line code.

use pcie_refusal::Refusal;

use crate::Lanes;

/// Share of the symbols that are SKP ordered sets: 4 in 1538.
pub(crate) const SKP_SHARE: f64 = 4.0 / 1538.0;

/// A generation of PCI Express, 1 to 7.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Generation {
    /// 2.5 GT/s, 8b/10b.
    Gen1,
    /// 5 GT/s, 8b/10b.
    Gen2,
    /// 8 GT/s, 128b/130b.
    Gen3,
    /// 16 GT/s, 128b/130b.
    Gen4,
    /// 32 GT/s, 128b/130b.
    Gen5,
    /// 64 GT/s, PAM4, 1b/1b, flits only.
    Gen6,
    /// 128 GT/s, PAM4, 1b/1b, flits only.
    Gen7,
}

impl Generation {
    /// Every generation, oldest first.
    pub const ALL: [Self; 7] =
        [Self::Gen1, Self::Gen2, Self::Gen3, Self::Gen4, Self::Gen5, Self::Gen6, Self::Gen7];

    /// Number, 1 to 7.
    pub const fn number(self) -> u32 {
        self as u32 + 1
    }

    /// Signalling rate of one lane, MT/s.
    pub const fn megatransfers_per_second(self) -> u64 {
        match self {
            Self::Gen1 => 2_500,
            Self::Gen2 => 5_000,
            Self::Gen3 => 8_000,
            Self::Gen4 => 16_000,
            Self::Gen5 => 32_000,
            Self::Gen6 => 64_000,
            Self::Gen7 => 128_000,
        }
    }

    /// The generation with a signalling rate, MT/s.
    pub fn of_megatransfers(per_second: u64) -> Option<Self> {
        Self::ALL.into_iter().find(|generation| generation.megatransfers_per_second() == per_second)
    }

    /// Rate of one direction of a link after the line code, before all other overhead, Gb/s.
    pub fn raw_gbps(self, lanes: Lanes) -> f64 {
        let (data_bits, line_bits) = self.encoding();
        let lane_gbps = self.megatransfers_per_second() as f64 / 1_000.0;
        lane_gbps * data_bits as f64 / line_bits as f64 * f64::from(lanes.count())
    }

    /// The line code as (data bits, bits on the line).
    pub const fn encoding(self) -> (u64, u64) {
        match self {
            Self::Gen1 | Self::Gen2 => (8, 10),
            Self::Gen3 | Self::Gen4 | Self::Gen5 => (128, 130),
            Self::Gen6 | Self::Gen7 => (1, 1),
        }
    }

    /// Whether the generation's own rate exists in flit mode only.
    pub const fn requires_flit_mode(self) -> bool {
        matches!(self, Self::Gen6 | Self::Gen7)
    }
}

impl TryFrom<u32> for Generation {
    type Error = Refusal;

    fn try_from(number: u32) -> Result<Self, Self::Error> {
        Self::ALL
            .into_iter()
            .find(|generation| generation.number() == number)
            .ok_or_else(|| Refusal::of("generation", number, "give 1 to 7"))
    }
}
