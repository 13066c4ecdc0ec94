//! Transfers of a request, and the limit on waits.

/// Longest wait, ns: a quarter of an hour.
pub const LONGEST_NS: f64 = 1e12;

/// One transfer of a request. Device memory has the bus addresses of its BAR, if there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Address in the memory of the request's device.
    pub device_address: u64,
    /// Address in the memory of the host or the other device.
    pub other_address: u64,
    /// Bytes.
    pub size_bytes: u64,
}
