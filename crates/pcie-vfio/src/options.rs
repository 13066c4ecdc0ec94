//! Options common to real devices: the host, and ranges in text form.

use crate::address::Address;
use crate::obstacle;
use pcie_host::{Cold, HostOptions, PageSize};
use pcie_refusal::Refusal;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Options of the host of a device behind an IOMMU.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct VfioHostOptions {
    /// Page size of the buffer, bytes.
    pub page_bytes: PageSize,
    /// Page size of the device's mappings, bytes: the reach of an IO-TLB entry.
    pub iommu_page_bytes: PageSize,
    /// Size of the buffer, bytes.
    pub buffer_bytes: u64,
    /// NUMA node of the buffer; null leaves it to the kernel.
    pub node: Option<u32>,
    /// Core that the program is pinned to; null is the first allowed one on the device's NUMA node.
    pub core: Option<u32>,
    /// How caches are made cold.
    pub cold: Cold,
}

impl Default for VfioHostOptions {
    fn default() -> Self {
        Self {
            page_bytes: PageSize::FourKib,
            iommu_page_bytes: PageSize::FourKib,
            buffer_bytes: 64 << 20,
            node: None,
            core: None,
            cold: Cold::Thrash,
        }
    }
}

impl VfioHostOptions {
    /// The options without the IOMMU's; an error if the IOMMU's pages are larger than the buffer's.
    pub fn host(&self) -> Result<HostOptions, Refusal> {
        let (asked, page) = (self.iommu_page_bytes.bytes(), self.page_bytes.bytes());
        if asked > page {
            let remedy = format!("give host.page_bytes={asked} too, or smaller ones");
            let problem = format!("the buffer's pages have {page} bytes");
            return Err(obstacle::page_size(asked, remedy).problem(problem));
        }
        Ok(HostOptions {
            page_bytes: self.page_bytes,
            buffer_bytes: self.buffer_bytes,
            node: self.node,
            core: self.core,
            cold: self.cold,
        })
    }
}

/// Options as the manifest stores them.
pub(crate) fn described(address: Address, device: Value, host: Value) -> Map<String, Value> {
    let address = address.to_string().into();
    Map::from_iter(
        [("address", address), ("device", device), ("host", host)]
            .map(|(key, value)| (key.to_owned(), value)),
    )
}

/// Parses a start and a length, `2048+64K`.
pub(crate) fn range(text: &str) -> Option<(u64, u64)> {
    let (start, length) = text.split_once('+')?;
    let (start, length) = (size(start)?, size(length)?);
    (length > 0 && start.checked_add(length).is_some()).then_some((start, length))
}

/// Parses a number, with a suffix K, M or G (powers of 1024) or none.
fn size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(['K', 'M', 'G']);
    let shift = match &text[digits.len()..] {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        _ => return None,
    };
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<u64>().ok().filter(|_| plain)?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_ranges() {
        assert_eq!(range("2048+64K"), Some((2048, 65536)));
        assert_eq!(range("1M+1"), Some((1 << 20, 1)));
        let large = ["18446744073709551615+1", "1+99999999999G"];
        for wrong in ["", "1", "+", "1+", "+1", "1+0", "1+1k", "1+1KK", "-1+1"].into_iter().chain(large) {
            assert_eq!(range(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn iommu_pages_must_not_exceed_the_buffers() {
        let options = VfioHostOptions { iommu_page_bytes: PageSize::TwoMib, ..VfioHostOptions::default() };
        let error = options.host().unwrap_err().to_string();
        assert!(error.contains("host.page_bytes=2097152"), "{error}");
        let both = VfioHostOptions { page_bytes: PageSize::TwoMib, ..options };
        assert!(both.host().is_ok());
    }
}
