//! What can be wrong with a link.

/// Why a set of link parameters describes no link. Messages start with the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// Not a generation.
    #[error("generation: {0} is not a PCIe generation: give 1 to 7")]
    Generation(u32),
    /// Not a link width.
    #[error("lanes: {0} is not a PCIe link width: give 1, 2, 4, 8, 12, 16 or 32")]
    Lanes(u32),
    /// Not a value of MPS or MRRS.
    #[error("{key}: {bytes} is not a size that PCIe has for it: give 128, 256, 512, 1024, 2048 or 4096")]
    PayloadSize {
        /// `mps_bytes` or `mrrs_bytes`.
        key: &'static str,
        /// The value given.
        bytes: u32,
    },
    /// Not a Read Completion Boundary.
    #[error(
        "rcb_bytes: {0} is not a read completion boundary: give 64 or 128 (256 and 512 are known to the accounting sigcomm18 alone)"
    )]
    ReadCompletionBoundary(u32),
    /// Not a width of addresses.
    #[error("address_bits: {0} is not an address width: give 32 or 64")]
    AddressBits(u32),
    /// Generations 6 and 7 without flits.
    #[error("flit_mode: false is impossible in generation {0}, which has flits only: leave it out")]
    FlitModeRequired(u32),
}
