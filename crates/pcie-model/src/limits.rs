//! The limits of a device besides the wire.

use pcie_refusal::{Kind, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::above_zero;

/// Limits of a device and of the receiver at the other end. A limit that is left out does not bind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// From a read request's departure to its data's arrival, in ns.
    pub round_trip_ns: Option<f64>,
    /// Read requests that may be outstanding: 32 with 5-bit tags, 256 with 8, 768 with 10, up to 16384 with the 14 of
    /// flit mode.
    pub tags: Option<u32>,
    /// DMAs that the device keeps in flight, reads and writes together.
    pub dmas_in_flight: Option<u32>,
    /// Time that one of them is in flight, in ns; by default the round trip.
    pub dma_ns: Option<f64>,
    /// Posted header credits (PH): write TLPs that the receiver holds.
    pub posted_header_credits: Option<u32>,
    /// Posted data credits (PD): units of 16 B of write data that the receiver holds.
    pub posted_data_credits: Option<u32>,
    /// Non-posted header credits (NPH): read requests that the receiver holds.
    pub non_posted_header_credits: Option<u32>,
    /// From a TLP's departure to its credit's return, in ns.
    pub credit_return_ns: Option<f64>,
    /// DMAs that the device can start, in millions a second.
    pub device_mdmas_per_s: Option<f64>,
    /// Time that the device's port needs to send the TLPs of a DMA, in ns: whole units of the port and the
    /// gaps behind them, which the bound of the wire does not charge.
    pub device_port_ns: Option<f64>,
    /// The same of the root port.
    pub root_port_ns: Option<f64>,
    /// Time that a port's replay buffer needs for the TLPs of a DMA, in ns: it holds each until its Ack is back. The
    /// longer time of the two directions.
    pub replay_buffer_ns: Option<f64>,
    /// Least time between two read requests that the root complex accepts, in ns.
    pub request_interval_ns: Option<f64>,
    /// Least time between two write TLPs that the root complex accepts, in ns.
    pub write_interval_ns: Option<f64>,
    /// Additional time for each cache line that they touch, in ns.
    pub write_line_ns: Option<f64>,
    /// Read requests whose data the device can buffer until it has processed them.
    pub receive_buffers: Option<u32>,
    /// From the departure of a request's first completion until the device has processed its data, in ns.
    pub receive_ns: Option<f64>,
    /// Headers of completions that the device can buffer: each read request reserves as many as RCB allows.
    pub completion_buffer_headers: Option<u32>,
    /// Data of completions that the device can buffer, in bytes: each read request reserves room for its data,
    /// in whole credits of 16 B.
    pub completion_buffer_bytes: Option<u32>,
    /// Page walks that an average DMA needs.
    pub walks_per_dma: Option<f64>,
    /// Least time between two page walks, all walkers together, in ns.
    pub walk_interval_ns: Option<f64>,
    /// Pages of an average DMA that the IO-TLB misses because a driver gives them anew.
    pub misses_per_dma: Option<f64>,
    /// Least time between two of these misses, all walkers together, in ns.
    pub miss_interval_ns: Option<f64>,
    /// Cache lines of writes that the root complex holds.
    pub write_pool_lines: Option<u32>,
    /// Least time for which it holds one, in ns.
    pub write_hold_ns: Option<f64>,
    /// Cache lines of read requests that the root complex holds.
    pub read_pool_lines: Option<u32>,
    /// Least time for which it holds one, in ns.
    pub read_hold_ns: Option<f64>,
    /// Least time between two lines that memory takes from devices, in ns.
    pub memory_line_ns: Option<f64>,
    /// Symbol times between Acks while TLPs arrive; the specification's limit, if left out.
    pub ack_interval_symbols: Option<u32>,
    /// Symbol times between UpdateFCs while TLPs arrive; the specification's guideline, if left out.
    pub update_fc_interval_symbols: Option<u32>,
}

impl Limits {
    /// Check each number, and that numbers that depend on each other are given together.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        for (key, count) in [
            ("tags", self.tags),
            ("dmas_in_flight", self.dmas_in_flight),
            ("posted_header_credits", self.posted_header_credits),
            ("posted_data_credits", self.posted_data_credits),
            ("non_posted_header_credits", self.non_posted_header_credits),
            ("receive_buffers", self.receive_buffers),
            ("completion_buffer_headers", self.completion_buffer_headers),
            ("completion_buffer_bytes", self.completion_buffer_bytes),
            ("write_pool_lines", self.write_pool_lines),
            ("read_pool_lines", self.read_pool_lines),
            ("ack_interval_symbols", self.ack_interval_symbols),
            ("update_fc_interval_symbols", self.update_fc_interval_symbols),
        ] {
            count.map_or(Ok(()), |count| above_zero(key, f64::from(count)))?;
        }
        for (key, value) in [
            ("round_trip_ns", self.round_trip_ns),
            ("credit_return_ns", self.credit_return_ns),
            ("device_mdmas_per_s", self.device_mdmas_per_s),
            ("dma_ns", self.dma_ns),
            ("device_port_ns", self.device_port_ns),
            ("root_port_ns", self.root_port_ns),
            ("replay_buffer_ns", self.replay_buffer_ns),
            ("request_interval_ns", self.request_interval_ns),
            ("write_interval_ns", self.write_interval_ns),
            ("write_line_ns", self.write_line_ns),
            ("receive_ns", self.receive_ns),
            ("walks_per_dma", self.walks_per_dma),
            ("walk_interval_ns", self.walk_interval_ns),
            ("misses_per_dma", self.misses_per_dma),
            ("miss_interval_ns", self.miss_interval_ns),
            ("write_hold_ns", self.write_hold_ns),
            ("read_hold_ns", self.read_hold_ns),
            ("memory_line_ns", self.memory_line_ns),
        ] {
            value.map_or(Ok(()), |value| above_zero(key, value))?;
        }
        for (key, given, needed, time) in [
            ("tags", self.tags, "round_trip_ns", self.round_trip_ns),
            (
                "completion_buffer_headers",
                self.completion_buffer_headers,
                "round_trip_ns",
                self.round_trip_ns,
            ),
            ("completion_buffer_bytes", self.completion_buffer_bytes, "round_trip_ns", self.round_trip_ns),
            ("dmas_in_flight", self.dmas_in_flight, "round_trip_ns", self.dma_ns.or(self.round_trip_ns)),
            ("receive_buffers", self.receive_buffers, "receive_ns", self.receive_ns),
            ("posted_header_credits", self.posted_header_credits, "credit_return_ns", self.credit_return_ns),
            ("posted_data_credits", self.posted_data_credits, "credit_return_ns", self.credit_return_ns),
            (
                "non_posted_header_credits",
                self.non_posted_header_credits,
                "credit_return_ns",
                self.credit_return_ns,
            ),
            ("write_pool_lines", self.write_pool_lines, "write_hold_ns", self.write_hold_ns),
            ("read_pool_lines", self.read_pool_lines, "read_hold_ns", self.read_hold_ns),
        ] {
            if given.is_some() && time.is_none() {
                return Err(needs(key, needed));
            }
        }
        if self.walks_per_dma.is_some() && self.walk_interval_ns.is_none() {
            return Err(needs("walks_per_dma", "walk_interval_ns"));
        }
        if self.misses_per_dma.is_some() && self.miss_interval_ns.is_none() {
            return Err(needs("misses_per_dma", "miss_interval_ns"));
        }
        Ok(())
    }
}

/// A number that means nothing without another.
fn needs(key: &str, needed: &str) -> Refusal {
    let refusal =
        Refusal::new(format!("needs {needed} beside it")).kind(Kind::Missing).key(key).beside(needed);
    refusal.remedy(format!("give {needed}, or leave {key} out"))
}
