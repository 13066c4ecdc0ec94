//! What a full link without flits carries where its ports send DLLPs with their TLPs, in whole bytes.
//!
//! A bound charges the share of an Ack and an UpdateFC that each byte needs. A simulated port sends whole bytes: with
//! each read request those for its completions, with the last completion those for its request, and for each write
//! those of the longest one. Reads of a few bytes so lose up to 3.6 % of a link's rate.

use pcie_wire::{Accounting, CompletionPolicy, DllpIntervals, LinkConfiguration, SplitAt, TlpKind};

use crate::bandwidth::Transfer;

/// Header, framing, ECRC and LCRC of the longest write; IDE adds its own.
const LONGEST_OVERHEAD_BYTES: u32 = 28;

/// Bytes in each direction of transfers that follow one another without a pause.
///
/// Device and root port send TLPs in units of bytes, without gaps, and no more DLLPs than the specification asks for.
/// In flit mode, DLLPs have bytes of their own.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct WholeDllps {
    upstream_bytes: f64,
    downstream_bytes: f64,
    data_bytes: u64,
}

impl WholeDllps {
    /// The device reads host memory; `split_at` cuts its requests.
    pub fn read(&mut self, link: &LinkConfiguration, transfer: Transfer, split_at: SplitAt) {
        let Transfer { size_bytes, offset_bytes, completion_bytes } = transfer;
        let policy = completion_bytes.map_or(CompletionPolicy::AsLargeAsMps, CompletionPolicy::Every);
        let share = share(link);
        for request in link.read_requests(offset_bytes, size_bytes, split_at) {
            let request_bytes = link.mean_tlp_bytes(TlpKind::MemoryRead, request);
            let completions = link.completions(request, policy);
            let completion_bytes: f64 =
                completions.map(|piece| link.mean_tlp_bytes(TlpKind::CompletionWithData, piece)).sum();
            self.upstream_bytes += request_bytes + (share * completion_bytes).ceil();
            self.downstream_bytes += completion_bytes + (share * request_bytes).ceil();
        }
        self.data_bytes += size_bytes;
    }

    /// The device writes host memory.
    pub fn write(&mut self, link: &LinkConfiguration, transfer: Transfer) {
        let longest_bytes = f64::from(link.mps.bytes() + LONGEST_OVERHEAD_BYTES + link.ide_bytes());
        for write in link.writes(transfer.offset_bytes, transfer.size_bytes, SplitAt::TransferSize) {
            self.upstream_bytes += link.mean_tlp_bytes(TlpKind::MemoryWrite, write);
            self.downstream_bytes += (share(link) * longest_bytes).ceil();
        }
        self.data_bytes += transfer.size_bytes;
    }

    /// Bandwidth of all data in these transfers, both directions together, in Gb/s.
    pub fn gbps(&self, link: &LinkConfiguration) -> f64 {
        let bytes = self.upstream_bytes.max(self.downstream_bytes);
        Accounting::Spec.tlp_gbps(link) * self.data_bytes as f64 / bytes
    }
}

/// Bytes of DLLPs for each byte that arrives.
fn share(link: &LinkConfiguration) -> f64 {
    DllpIntervals::limits(link).bytes_per_received_byte(link)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_wire::LinkParameters;

    fn of_a_small_read(generation: u32) -> (f64, f64) {
        let link = LinkConfiguration::try_from(LinkParameters::new(generation, 8, 256, 512)).unwrap();
        let mut bytes = WholeDllps::default();
        let transfer = Transfer { size_bytes: 64, offset_bytes: 0, completion_bytes: None };
        bytes.read(&link, transfer, SplitAt::TransferSize);
        (bytes.gbps(&link), Accounting::Spec.tlp_gbps(&link))
    }

    #[test]
    fn a_small_read_sends_whole_bytes_of_dllps() {
        // A DLLP of each kind in 203 symbol times of 8 bytes: 0.0099 bytes for each byte. A completion of 84 B with one
        // byte for its request; the request of 24 B with one for its completion is far from binding.
        let (found, rate) = of_a_small_read(3);
        assert!((found - rate * 64.0 / 85.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn flits_have_bytes_of_their_own_for_dllps() {
        let (found, rate) = of_a_small_read(6);
        assert!((found - rate * 64.0 / 76.0).abs() < 1e-9, "{found}");
    }
}
