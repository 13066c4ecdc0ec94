//! The sizes that limit TLPs: MPS, MRRS and RCB.

use crate::ConfigurationError;

/// A value that MPS and MRRS can have: 128, 256, 512, 1024, 2048 or 4096 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PayloadSize(u32);

impl PayloadSize {
    /// Every value, smallest first.
    pub const ALL: [Self; 6] = [Self(128), Self(256), Self(512), Self(1024), Self(2048), Self(4096)];

    /// The size in bytes.
    pub const fn bytes(self) -> u32 {
        self.0
    }

    /// Read a size that the configuration calls `key`.
    pub(crate) fn named(key: &'static str, bytes: u32) -> Result<Self, ConfigurationError> {
        let size = Self(bytes);
        if Self::ALL.contains(&size) { Ok(size) } else { Err(ConfigurationError::PayloadSize { key, bytes }) }
    }
}

/// The Read Completion Boundary: where a completer may cut the data of a read. 64 bytes in many root complexes, 128
/// in the others and in every other completer.
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
    type Error = ConfigurationError;

    fn try_from(bytes: u32) -> Result<Self, Self::Error> {
        match bytes {
            64 => Ok(Self::Bytes64),
            128 => Ok(Self::Bytes128),
            _ => Err(ConfigurationError::ReadCompletionBoundary(bytes)),
        }
    }
}
