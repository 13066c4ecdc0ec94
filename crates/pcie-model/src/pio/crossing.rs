//! The message sizes at which descriptor DMA beats stores.

use pcie_refusal::Refusal;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Layout, MAX_PAYLOAD_BYTES, MessageProfile, Question, Sending};
use crate::Model;

/// Where descriptor DMA beats write-combined stores.
///
/// Stores cost steps of 64 B, so the first size at which DMA wins can lie below the size from which it always
/// wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Crossing {
    /// The smallest payload at which DMA is better.
    pub first_bytes: Option<u64>,
    /// The smallest payload from which DMA is better at every size up to 64 KiB.
    pub from_bytes: Option<u64>,
}

/// The crossing points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Crossings {
    /// By the latency of a message.
    pub latency: Crossing,
    /// By bandwidth, message after message.
    pub bandwidth: Crossing,
    /// By the core's time for a message.
    pub cpu: Crossing,
}

impl Model {
    /// Where descriptor DMA beats write-combined stores without partial flushes.
    ///
    /// # Errors
    /// A value of the profile that is out of range.
    pub fn crossings(&self, profile: &MessageProfile) -> Result<Crossings, Refusal> {
        let mut seen = [Seen::default(); 3];
        let times = profile.machine_times()?;
        let mut stores: Option<(u64, [f64; 3])> = None;
        for payload_bytes in 1..=MAX_PAYLOAD_BYTES {
            let layout = Layout::new(payload_bytes, profile.header_bytes)?;
            let ask = Question { model: self, profile, times, layout, payload_bytes };
            // Stores leave in whole buffers: their cost changes only when a message needs one more buffer.
            let stores_ns = match stores {
                Some((buffers, stores_ns)) if buffers == layout.buffers => stores_ns,
                _ => costs_ns(&ask.write_combined(0)?),
            };
            stores = Some((layout.buffers, stores_ns));
            let (descriptors, _) = ask.descriptors()?;
            for ((seen, dma_ns), stores_ns) in seen.iter_mut().zip(costs_ns(&descriptors)).zip(stores_ns) {
                seen.add(payload_bytes, dma_ns < stores_ns);
            }
        }
        let [latency, bandwidth, cpu] = seen.map(Seen::crossing);
        Ok(Crossings { latency, bandwidth, cpu })
    }
}

/// The cost of a message: alone, in a stream, and to the core.
fn costs_ns(sending: &Sending) -> [f64; 3] {
    [sending.latency_ns, 1_000.0 / sending.bandwidth.millions_per_s, sending.cpu_ns]
}

#[derive(Clone, Copy, Default)]
struct Seen {
    first: Option<u64>,
    /// The first of the current consecutive sizes at which DMA wins.
    run: Option<u64>,
}

impl Seen {
    fn add(&mut self, payload_bytes: u64, dma_wins: bool) {
        if dma_wins {
            self.first.get_or_insert(payload_bytes);
            self.run.get_or_insert(payload_bytes);
        } else {
            self.run = None;
        }
    }

    fn crossing(self) -> Crossing {
        Crossing { first_bytes: self.first, from_bytes: self.run }
    }
}
