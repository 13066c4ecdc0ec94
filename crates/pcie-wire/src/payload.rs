//! The sizes that limit TLPs: MPS, MRRS and RCB.

use pcie_refusal::Refusal;

/// A value of MPS or MRRS: 128, 256, 512, 1024, 2048 or 4096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadSize(u32);

impl PayloadSize {
    /// Every value, smallest first.
    pub const ALL: [Self; 6] = [Self(128), Self(256), Self(512), Self(1024), Self(2048), Self(4096)];

    /// The size in bytes.
    pub const fn bytes(self) -> u32 {
        self.0
    }

    /// Validates the size under `key`.
    pub(crate) fn named(key: &'static str, bytes: u32) -> Result<Self, Refusal> {
        let size = Self(bytes);
        let remedy = "give 128, 256, 512, 1024, 2048 or 4096";
        Self::ALL.contains(&size).then_some(size).ok_or_else(|| Refusal::of(key, bytes, remedy))
    }
}

/// The Read Completion Boundary, at which a completer may cut the data of a read: 64 bytes in many root
/// complexes, 128 in all other completers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ReadCompletionBoundary {
    /// 64 bytes.
    Bytes64,
    /// 128 bytes.
    Bytes128,
}

impl ReadCompletionBoundary {
    /// The boundary in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Self::Bytes64 => 64,
            Self::Bytes128 => 128,
        }
    }
}

impl TryFrom<u32> for ReadCompletionBoundary {
    type Error = Refusal;

    fn try_from(bytes: u32) -> Result<Self, Self::Error> {
        match bytes {
            64 => Ok(Self::Bytes64),
            128 => Ok(Self::Bytes128),
            _ => {
                let remedy = "give 64 or 128 (256 and 512 with the accounting sigcomm18 only)";
                Err(Refusal::of("rcb_bytes", bytes, remedy))
            }
        }
    }
}
