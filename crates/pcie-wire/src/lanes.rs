//! Link widths.

use pcie_refusal::Refusal;

/// The width of a link: 1, 2, 4, 8, 12, 16 or 32 lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lanes(u32);

impl Lanes {
    /// Every width of the specification (later revisions drop x12 and x32).
    pub const ALL: [Self; 7] = [Self(1), Self(2), Self(4), Self(8), Self(12), Self(16), Self(32)];

    /// How many lanes.
    pub const fn count(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for Lanes {
    type Error = Refusal;

    fn try_from(count: u32) -> Result<Self, Self::Error> {
        let lanes = Self(count);
        let known = Self::ALL.contains(&lanes);
        known.then_some(lanes).ok_or_else(|| Refusal::of("lanes", count, "give 1, 2, 4, 8, 12, 16 or 32"))
    }
}
