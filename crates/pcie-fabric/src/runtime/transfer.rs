//! What a request is made of, and for how long one may be waited for.

/// The latest time that may be waited for: a quarter of an hour.
pub const LONGEST_NS: f64 = 1e12;

/// One transfer of a request. Device memory has bus addresses: those of its BAR, where it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// In the memory of the device that the request is for.
    pub device_address: u64,
    /// In the memory of the host, or of the other device.
    pub other_address: u64,
    /// Bytes.
    pub size_bytes: u64,
}
