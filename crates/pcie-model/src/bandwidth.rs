//! Effective bandwidth of DMA transfers: equations (1) to (3) of the 2018 paper, without the misprint in (2),
//! which adds the data to the read requests.

use pcie_refusal::Refusal;
use pcie_wire::{Accounting, CompletionPolicy, SplitAt};
use schemars::JsonSchema;
use serde::Serialize;

use crate::checks::unknown_to_sigcomm18;
use crate::{Answer, Bound, Load, Model, WholeDllps};

/// The largest transfer that the model splits: 1 GiB.
pub const MAX_TRANSFER_BYTES: u64 = 1 << 30;
const SIZES: &str = "give 1 byte to 1 GiB";
/// Relative error that a few multiplications leave, and more.
const ROUNDED: f64 = 1e-12;

/// A transfer, and how the host cuts the completions of a read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// Bytes, 1 to [`MAX_TRANSFER_BYTES`].
    pub size_bytes: u64,
    /// Start address modulo 4 KiB, 0 to 4095; 0 under `sigcomm18`, which splits by size alone.
    pub offset_bytes: u64,
    /// Boundary at which the host cuts completions: a power of two from RCB to MPS, by default MPS.
    pub completion_bytes: Option<u32>,
}

/// Link use of transfers at the rate of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct LinkUse {
    /// TLPs from the device to the host, for each transfer (for a read and a write together).
    pub upstream_tlps: f64,
    /// TLPs from the host to the device.
    pub downstream_tlps: f64,
    /// Bandwidth of those TLPs, headers and framing included, in Gb/s.
    pub upstream_gbps: f64,
    /// The same downstream.
    pub downstream_gbps: f64,
    /// Data bytes over all bytes of TLPs, both directions, 0 to 1.
    pub efficiency: f64,
    /// In flit mode, the share of the double words for TLPs that carry TLPs upstream, 0 to 1; the others are NOPs.
    pub upstream_flit_fill: Option<f64>,
    /// The same downstream.
    pub downstream_flit_fill: Option<f64>,
    /// In flit mode, bandwidth that NOPs take upstream, in Gb/s.
    pub upstream_nop_gbps: Option<f64>,
    /// The same downstream.
    pub downstream_nop_gbps: Option<f64>,
    /// Without flits, the share of the rate that is lost where ports send DLLPs in whole bytes with their TLPs, as
    /// simulated ones do, 0 to 1; `None` under `sigcomm18`, and where anything but the link binds.
    pub whole_dllps_share: Option<f64>,
    /// With IDE, the share of the bandwidth without it that its prefixes and MACs take, 0 to 1.
    pub ide_share: Option<f64>,
}

impl LinkUse {
    fn of(model: &Model, load: &Load, answer: &Answer, data_bytes: u64) -> Self {
        let gbps = |bytes: f64| bytes * answer.millions_per_s * 8.0 / 1_000.0;
        let (upstream_gbps, downstream_gbps) = (gbps(load.upstream_bytes), gbps(load.downstream_bytes));
        let tlp_gbps = Some(model.accounting.tlp_gbps(&model.link)).filter(|_| model.link.flit_mode());
        Self {
            upstream_tlps: load.read_requests + load.write_tlps,
            downstream_tlps: load.completions,
            upstream_gbps,
            downstream_gbps,
            upstream_flit_fill: tlp_gbps.map(|all| filled(upstream_gbps, all)),
            downstream_flit_fill: tlp_gbps.map(|all| filled(downstream_gbps, all)),
            upstream_nop_gbps: tlp_gbps.map(|all| all * (1.0 - filled(upstream_gbps, all))),
            downstream_nop_gbps: tlp_gbps.map(|all| all * (1.0 - filled(downstream_gbps, all))),
            whole_dllps_share: None,
            ide_share: None,
            efficiency: data_bytes as f64 / (load.upstream_bytes + load.downstream_bytes),
        }
    }

    /// The same with what DLLPs in whole bytes cost a link that binds, where it carries no more than `carried_gbps`.
    fn with_whole_dllps(self, model: &Model, answer: &Answer, carried_gbps: f64) -> Self {
        let wire = matches!(answer.bound, Bound::WireUpstream | Bound::WireDownstream);
        if !wire || model.link.flit_mode() || model.accounting != Accounting::Spec {
            return self;
        }
        Self { whole_dllps_share: Some((1.0 - carried_gbps / answer.gbps).max(0.0)), ..self }
    }
}

/// The share of flits that TLPs fill: exactly 1 where rounding alone keeps it from that.
fn filled(gbps: f64, all_gbps: f64) -> f64 {
    let share = gbps / all_gbps;
    if share > 1.0 - ROUNDED { 1.0 } else { share }
}

/// The highest bandwidth of transfers of one size.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Bandwidth {
    /// Bytes of one transfer.
    pub size_bytes: u64,
    /// The device reads host memory.
    pub read: Answer,
    /// The device writes host memory.
    pub write: Answer,
    /// As many reads as writes at once; the rate of one direction.
    pub rdwr: Answer,
    /// Link use of the reads.
    pub read_use: LinkUse,
    /// Link use of the writes.
    pub write_use: LinkUse,
    /// Link use of both at once.
    pub rdwr_use: LinkUse,
    /// Bandwidth of the link for TLPs in each direction, in Gb/s.
    pub tlp_gbps: f64,
    /// Read requests outstanding that fill the link, where the round trip is known; one fewer does not.
    pub tags_to_fill: Option<u64>,
}

impl Model {
    /// Bandwidth of transfers of `size_bytes` that each start `offset_bytes` above a 4 KiB boundary.
    ///
    /// # Errors
    /// As [`Model::bandwidth_of`].
    pub fn bandwidth(&self, size_bytes: u64, offset_bytes: u64) -> Result<Bandwidth, Refusal> {
        self.bandwidth_of(Transfer { size_bytes, offset_bytes, completion_bytes: None })
    }

    /// Bandwidth of a stream of equal transfers.
    ///
    /// # Errors
    /// [`Refusal`], naming the key: a number out of the range that [`Transfer`] gives.
    pub fn bandwidth_of(&self, transfer: Transfer) -> Result<Bandwidth, Refusal> {
        self.check_transfer(transfer)?;
        let Transfer { size_bytes, offset_bytes, .. } = transfer;
        let bad_size = || Refusal::of("size_bytes", size_bytes, SIZES);
        let reads = self.reads(transfer);
        let write = Load::dma_write(&self.link, self.accounting, offset_bytes, size_bytes);
        // A ceiling must hold however the device cuts its reads.
        let best_with = |other: Load| {
            reads
                .into_iter()
                .filter_map(|read| Some((read + other, self.answer(&(read + other), size_bytes)?)))
                .max_by(|(_, one), (_, other)| one.gbps.total_cmp(&other.gbps))
                .ok_or_else(bad_size)
        };
        let (read_load, read) = best_with(Load::default())?;
        let (rdwr_load, rdwr) = best_with(write)?;
        let write_answer = self.answer(&write, size_bytes).ok_or_else(bad_size)?;
        let carried_gbps = |reads: bool, writes: bool| {
            let directions = f64::from(u8::from(reads) + u8::from(writes));
            let of_split = |split_at| {
                let mut bytes = WholeDllps::default();
                if reads {
                    bytes.read(&self.link, transfer, split_at);
                }
                if writes {
                    bytes.write(&self.link, transfer);
                }
                bytes.gbps(&self.link) / directions
            };
            [SplitAt::TransferSize, SplitAt::AlignedAddress].map(of_split).into_iter().fold(0.0, f64::max)
        };
        let link_use = |load: &Load, answer: &Answer, data_bytes, carried_gbps| {
            LinkUse::of(self, load, answer, data_bytes).with_whole_dllps(self, answer, carried_gbps)
        };
        let mut uses = [
            link_use(&read_load, &read, size_bytes, carried_gbps(true, false)),
            link_use(&write, &write_answer, size_bytes, carried_gbps(false, true)),
            link_use(&rdwr_load, &rdwr, 2 * size_bytes, carried_gbps(true, true)),
        ];
        if self.link.ide_tlps().is_some() {
            let plain = Self { link: self.link.without_ide(), ..self.clone() }.bandwidth_of(transfer)?;
            let answers = [(&read, &plain.read), (&write_answer, &plain.write), (&rdwr, &plain.rdwr)];
            for (link_use, (with, without)) in uses.iter_mut().zip(answers) {
                link_use.ide_share = Some((1.0 - with.gbps / without.gbps).max(0.0));
            }
        }
        let [read_use, write_use, rdwr_use] = uses;
        Ok(Bandwidth {
            size_bytes,
            read_use,
            write_use,
            rdwr_use,
            read,
            write: write_answer,
            rdwr,
            tlp_gbps: self.accounting.tlp_gbps(&self.link),
            tags_to_fill: self
                .limits
                .round_trip_ns
                .map(|round_trip_ns| self.tags_to_fill(reads, round_trip_ns)),
        })
    }

    pub(crate) fn check_transfer(&self, transfer: Transfer) -> Result<(), Refusal> {
        let Transfer { size_bytes, offset_bytes, completion_bytes } = transfer;
        if offset_bytes > 4095 {
            return Err(Refusal::of("offset_bytes", offset_bytes, "give 0 to 4095"));
        }
        if offset_bytes != 0 && self.accounting == Accounting::Sigcomm18 {
            return Err(unknown_to_sigcomm18("offset_bytes"));
        }
        if size_bytes == 0 || size_bytes > MAX_TRANSFER_BYTES {
            return Err(Refusal::of("size_bytes", size_bytes, SIZES));
        }
        let allowed = self.link.rcb.bytes()..=self.link.mps.bytes();
        match completion_bytes {
            Some(bytes) if !bytes.is_power_of_two() || !allowed.contains(&bytes) => {
                Err(Refusal::of("completion_bytes", bytes, "give a power of two from RCB to MPS"))
            }
            _ => Ok(()),
        }
    }

    /// A read in both ways in which a device may cut it.
    pub(crate) fn reads(&self, transfer: Transfer) -> [Load; 2] {
        let Transfer { size_bytes, offset_bytes, completion_bytes } = transfer;
        let policy = completion_bytes.map_or(CompletionPolicy::AsLargeAsMps, CompletionPolicy::Every);
        [SplitAt::TransferSize, SplitAt::AlignedAddress].map(|split_at| {
            Load::dma_read_split(&self.link, self.accounting, offset_bytes, size_bytes, split_at, policy)
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
