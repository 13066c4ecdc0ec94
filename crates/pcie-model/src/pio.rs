//! Messages from a core to a device: programmed I/O through write-combining buffers, against descriptor DMA.
//!
//! There are three ways. *Uncached stores* leave one by one, 8 B in a TLP. *Write-combined stores* leave as
//! full buffers of 64 B: end-of-packet signatures of 8 B, at least one, fill the last buffer of a message.
//! *Descriptor DMA* takes a doorbell, a read of the descriptor, a read of the payload, a write-back and an
//! interrupt. `pcie-wire` counts bytes; times come from a [`MessageProfile`]. `pcie-sim` simulates exhausted
//! buffers, full queues and queues that cores share.
//!
//! As in the source, times run from the first packet on the link to the start of the packet that completes
//! the reference message. A message of one buffer takes the interval after which the next could follow.
//!
//! Source: S. Larsen and B. Lee, "Reevaluation of Programmed I/O with Write-Combining Buffers to Improve I/O Performance on
//! Cluster Systems" (kPIO+WC), sections III and IV, figures 5 and 6, table 1.

mod crossing;
mod layout;
mod loopback;
mod profile;

pub use crossing::{Crossing, Crossings};
pub use layout::{BUFFER_BYTES, Layout, MAX_PAYLOAD_BYTES, WORD_BYTES};
pub use loopback::Loopback;
use pcie_refusal::Refusal;
use pcie_wire::{Accounting, TlpKind};
pub use profile::{
    Answers, Core, DescriptorPath, LoadTimes, LoopbackTimes, MachineTimes, MessageProfile, StoreTimes,
    TransmitQueue,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::checks::no_steps;
use crate::{Answer, Bound, Load, Model};

/// A message of one size, sent in each of the three ways.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Messages {
    /// Payload of a message.
    pub payload_bytes: u64,
    /// Payload and headers, rounded up to a whole word.
    pub message_bytes: u64,
    /// Write-combining buffers that it takes.
    pub buffers: u64,
    /// End-of-packet signatures in them.
    pub signatures: u64,
    /// By uncached stores.
    pub uncached: Sending,
    /// By write-combined stores.
    pub write_combined: Sending,
    /// By descriptor DMA.
    pub descriptors: Sending,
    /// When the descriptor's completion starts, after the doorbell.
    pub descriptor_ns: f64,
    /// When the payload is requested, after the doorbell; `None` if the descriptor carries it.
    pub payload_request_ns: Option<f64>,
    /// Share of descriptors, write-backs and doorbells in all bytes of TLPs of descriptor DMA, both
    /// directions.
    pub control_share: f64,
}

/// One way of sending a message.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Sending {
    /// TLPs from host to device.
    pub downstream_tlps: f64,
    /// Bytes of TLPs from host to device.
    pub downstream_bytes: f64,
    /// Bytes of TLPs from device to host.
    pub upstream_bytes: f64,
    /// Data bytes, signatures included, over all bytes of the TLPs from host to device.
    pub wire_efficiency: f64,
    /// Latency of one message alone.
    pub latency_ns: f64,
    /// Core time for one message that finds all buffers empty.
    pub cpu_ns: f64,
    /// Payload bandwidth of a stream of messages.
    pub bandwidth: Answer,
}

impl Model {
    /// A message of `payload_bytes` whose buffers are cut by `flushes` partial flushes.
    ///
    /// # Errors
    /// A size, a number of flushes or a value of the profile that is out of range.
    pub fn messages(
        &self,
        profile: &MessageProfile,
        payload_bytes: u64,
        flushes: u64,
    ) -> Result<Messages, Refusal> {
        let ask = Question::new(self, profile, payload_bytes)?;
        let (descriptors, control_share) = ask.descriptors()?;
        let steps = ask.descriptor_steps();
        Ok(Messages {
            payload_bytes,
            message_bytes: ask.layout.message_bytes,
            buffers: ask.layout.buffers,
            signatures: ask.layout.signatures(),
            uncached: ask.uncached()?,
            write_combined: ask.write_combined(flushes)?,
            descriptors,
            descriptor_ns: steps.descriptor_ns,
            payload_request_ns: (ask.inline_bytes() == 0).then_some(steps.payload_request_ns),
            control_share,
        })
    }
}

/// One message, with the model and profile that answer it.
struct Question<'a> {
    model: &'a Model,
    profile: &'a MessageProfile,
    times: MachineTimes,
    layout: Layout,
    payload_bytes: u64,
}

/// When the steps of descriptor DMA happen.
struct Steps {
    descriptor_ns: f64,
    payload_request_ns: f64,
    payload_ns: f64,
}

/// Bytes and times of a train of writes.
struct Train {
    tlps: f64,
    bytes: f64,
    data_bytes: f64,
    /// From the first TLP until one more could follow the last.
    stream_ns: f64,
    /// From the first TLP until the last.
    last_ns: f64,
}

impl<'a> Question<'a> {
    fn new(model: &'a Model, profile: &'a MessageProfile, payload_bytes: u64) -> Result<Self, Refusal> {
        let layout = Layout::new(payload_bytes, profile.header_bytes)?;
        Ok(Self { model, profile, times: profile.machine_times()?, layout, payload_bytes })
    }

    fn tlp_bytes(&self, kind: TlpKind, bytes: u32) -> f64 {
        let piece = pcie_wire::Piece { address: 0, length: bytes };
        self.model.accounting.tlp_bytes(&self.model.link, kind, piece)
    }

    fn wire_ns(&self, bytes: f64) -> f64 {
        bytes * 8.0 / self.model.accounting.tlp_gbps(&self.model.link)
    }

    /// Writes one behind the other, at the pace of the link or of the core, or with the machine's gap.
    fn train(&self, pieces: impl Iterator<Item = u32>, combined: bool) -> Train {
        let mut train = Train { tlps: 0.0, bytes: 0.0, data_bytes: 0.0, stream_ns: 0.0, last_ns: 0.0 };
        for piece in pieces {
            let bytes = self.tlp_bytes(TlpKind::MemoryWrite, piece);
            train.last_ns = train.stream_ns;
            train.stream_ns += self.times.interval_ns(self.wire_ns(bytes), combined);
            train.tlps += 1.0;
            train.bytes += bytes;
            train.data_bytes += f64::from(piece);
        }
        train
    }

    fn uncached(&self) -> Result<Sending, Refusal> {
        let train = self.train((0..self.layout.stores()).map(|_| WORD_BYTES as u32), false);
        let latency_ns = train.last_ns.max(train.stream_ns / train.tlps);
        // Each store waits until the one before it has left.
        let cpu_ns = train.stream_ns;
        self.sending(&train, latency_ns, cpu_ns)
    }

    fn write_combined(&self, flushes: u64) -> Result<Sending, Refusal> {
        let train = self.train(self.layout.pieces(flushes)?, true);
        let interval_ns = train.stream_ns / train.tlps;
        let latency_ns =
            if train.tlps > 1.0 { train.last_ns + self.times.first_store_ns } else { interval_ns };
        let core = &self.profile.core;
        let fill_ns = core.fill_ns * self.layout.buffers as f64;
        let left_over = train.tlps - f64::from(core.write_combining_buffers);
        // The last buffer is free to fill once its previous contents have left.
        let idle_ns = match self.times.core_interval_ns {
            None => self.times.store_gap_ns,
            Some(_) => interval_ns - self.wire_ns(train.bytes) / train.tlps,
        };
        let drained_ns = left_over * interval_ns - idle_ns + 2.0 * core.fill_ns;
        let cpu_ns = if left_over > 0.0 { fill_ns.max(drained_ns) } else { fill_ns };
        self.sending(&train, latency_ns, cpu_ns)
    }

    fn sending(&self, train: &Train, latency_ns: f64, cpu_ns: f64) -> Result<Sending, Refusal> {
        let core_ns = self.profile.core.fill_ns * self.layout.buffers as f64;
        let costs_ns = [
            (Bound::WireDownstream, self.wire_ns(train.bytes)),
            (Bound::StoreInterval, train.stream_ns),
            (Bound::CoreStores, core_ns),
        ];
        Ok(Sending {
            downstream_tlps: train.tlps,
            downstream_bytes: train.bytes,
            upstream_bytes: 0.0,
            wire_efficiency: train.data_bytes / train.bytes,
            latency_ns,
            cpu_ns,
            bandwidth: Answer::from_costs(costs_ns, self.payload_bytes).ok_or_else(no_steps)?,
        })
    }

    /// Bytes of the message that its descriptor carries.
    fn inline_bytes(&self) -> u64 {
        self.profile.descriptors.inline_bytes_of(self.layout.frame_bytes)
    }

    /// Descriptor DMA, and the share of descriptors, write-backs and doorbells in its bytes.
    fn descriptors(&self) -> Result<(Sending, f64), Refusal> {
        let (link, accounting) = (&self.model.link, self.model.accounting);
        let path = &self.profile.descriptors;
        let (batch, inline_bytes) = (u64::from(path.messages_per_doorbell), self.inline_bytes());
        let once_a_batch = 1.0 / batch as f64;
        let descriptors_bytes = (u64::from(path.descriptor_bytes) + inline_bytes) * batch;
        let payload_bytes = if inline_bytes > 0 { 0 } else { self.layout.frame_bytes };
        let control = (Load::mmio_write(link, accounting, 0, u64::from(path.doorbell_bytes))
            + Load::dma_read(link, accounting, 0, descriptors_bytes)
            + Load::dma_write(link, accounting, 0, u64::from(path.write_back_bytes) * batch))
            * once_a_batch;
        // A batch that is written back at once has one interrupt at most.
        let interrupt = Load::message(link, accounting, 0, u64::from(path.interrupt_bytes))
            * once_a_batch.min(1.0 / f64::from(path.messages_per_interrupt));
        let payload = match payload_bytes {
            0 => Load::default(),
            bytes => Load::dma_read(link, accounting, 0, bytes),
        };
        let all = control + interrupt + payload;
        let latency_ns = self.descriptor_steps().payload_ns;
        let in_flight = f64::from(path.messages_in_flight);
        let costs_ns =
            self.model.costs_ns(&all).into_iter().chain([(Bound::Latency, latency_ns / in_flight)]);
        let both_ways = |load: &Load| load.upstream_bytes + load.downstream_bytes;
        let data_bytes = f64::from(path.doorbell_bytes) * once_a_batch
            + f64::from(path.descriptor_bytes)
            + (inline_bytes + payload_bytes) as f64;
        let sending = Sending {
            downstream_tlps: once_a_batch
                + self.completions(descriptors_bytes) * once_a_batch
                + self.completions(payload_bytes),
            downstream_bytes: all.downstream_bytes,
            upstream_bytes: all.upstream_bytes,
            wire_efficiency: data_bytes / all.downstream_bytes,
            latency_ns,
            // The core copies an inline message into its descriptor.
            cpu_ns: path.cpu_ns + self.profile.core.fill_ns * inline_bytes.div_ceil(BUFFER_BYTES) as f64,
            bandwidth: Answer::from_costs(costs_ns, self.payload_bytes).ok_or_else(no_steps)?,
        };
        // The message itself is no control, even inside its descriptor.
        Ok((sending, (both_ways(&control) - inline_bytes as f64) / both_ways(&all)))
    }

    /// TLPs that answer a read of `bytes`.
    fn completions(&self, bytes: u64) -> f64 {
        use pcie_wire::{CompletionPolicy, SplitAt};
        let link = &self.model.link;
        link.read_requests(0, bytes, SplitAt::TransferSize)
            .map(|request| link.completions(request, CompletionPolicy::AsLargeAsMps).count() as f64)
            .sum()
    }

    fn descriptor_steps(&self) -> Steps {
        let path = &self.profile.descriptors;
        let batch = path.descriptor_bytes * path.messages_per_doorbell;
        let wire_ns = |kind, bytes| self.wire_ns(self.tlp_bytes(kind, bytes));
        let request_ns = wire_ns(TlpKind::MemoryRead, batch);
        let descriptor_ns = wire_ns(TlpKind::MemoryWrite, path.doorbell_bytes)
            + self.times.doorbell_ns
            + request_ns
            + self.times.read_ns;
        let payload_request_ns =
            descriptor_ns + wire_ns(TlpKind::CompletionWithData, batch) + self.times.parse_ns;
        let read_bytes =
            |bytes| Load::dma_read(&self.model.link, self.model.accounting, 0, bytes).downstream_bytes;
        let inline_bytes = self.inline_bytes();
        let payload_ns = if inline_bytes > 0 {
            let longer = u64::from(batch) + inline_bytes * u64::from(path.messages_per_doorbell);
            descriptor_ns + self.wire_ns(read_bytes(longer) - read_bytes(u64::from(batch)))
        } else {
            let measured_bytes = u64::from(path.measured_payload_bytes + self.profile.header_bytes);
            let longer_bytes = read_bytes(self.layout.frame_bytes) - read_bytes(measured_bytes);
            payload_request_ns + request_ns + self.times.read_ns + self.wire_ns(longer_bytes)
        };
        Steps { descriptor_ns, payload_request_ns, payload_ns }
    }
}

impl Model {
    /// The model of the link that a profile's times were measured on.
    ///
    /// # Errors
    /// The profile's link is not valid.
    pub fn of_measured_link(profile: &MessageProfile) -> Result<Self, Refusal> {
        Self::new(profile.measured_link()?, Accounting::Spec, crate::Limits::default())
    }
}

#[cfg(test)]
mod tests;
