//! The resolved profile of a core, a device and their link that send messages.

use pcie_refusal::Refusal;
use pcie_schema::quantity::{Duration, Nanoseconds};
use pcie_schema::{Fitting, Shape};
use pcie_wire::{Accounting, LinkConfiguration, LinkParameters, Piece, TlpKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

use super::WORD_BYTES;
use crate::Model;
use crate::mmio::{
    Bar, BarReads, BarStores, Between, CoreLoads, CoreProfile, CoreRoot, CoreStores, EvictedOrder, Mmio,
};

/// Least bytes of a read whose rate tells how long more descriptors take.
const LEAST_READ_BYTES: u64 = 64;

/// How messages go from a core to a device: by stores, and by descriptors.
///
/// Times are of one machine on one link. For another link, the model replaces the link's part of them; the
/// part of the core, the root complex and the device stays.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessageProfile {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// The link that the times were measured on.
    pub link: LinkParameters,
    /// Bytes of headers in front of the payload of every message, at least 8.
    #[schemars(range(min = WORD_BYTES, max = HEADER_BYTES_MAX))]
    pub header_bytes: u32,
    /// The core.
    pub core: Core,
    /// Stores on the link.
    pub stores: StoreTimes,
    /// The device's transmit queue.
    pub queue: TransmitQueue,
    /// The descriptor path.
    pub descriptors: DescriptorPath,
    /// Loads from the device, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loads: Option<LoadTimes>,
    /// A loopback through the device, where one was measured.
    pub loopback: Option<LoopbackTimes>,
    /// TLPs and acknowledgements back to the host, where traces show them: steps of simulated messages that
    /// delay nothing.
    pub answers: Option<Answers>,
}

/// A loopback through the device, measured at one size.
///
/// The parts of the link, the stores and the line grow with the size; the rest stays.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoopbackTimes {
    /// Size of the packet measured.
    #[schemars(range(min = 1, max = u32::MAX))]
    pub measured_packet_bytes: u32,
    /// From the first store until the packet is back in memory.
    #[schemars(with = "Nanoseconds")]
    pub total_ns: f64,
    /// PCIe's part of it.
    #[schemars(with = "Nanoseconds")]
    pub pcie_ns: f64,
    /// The line that the packet crosses.
    #[schemars(extend("exclusiveMinimum" = 0), range(max = 1e6))]
    pub line_gbps: f64,
}

/// A core and its write-combining buffers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Core {
    /// Write-combining buffers.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub write_combining_buffers: u32,
    /// Filling one buffer of 64 B with stores.
    #[schemars(with = "Duration")]
    pub fill_ns: f64,
    /// A fence: it flushes the buffers that are not full.
    #[schemars(with = "Duration")]
    pub fence_ns: f64,
    /// Taking a lock that another core held.
    #[schemars(with = "Duration")]
    pub lock_ns: f64,
}

/// Loads of the core from the device.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadTimes {
    /// A load of 8 B alone.
    #[schemars(with = "Duration")]
    pub round_trip_ns: f64,
    /// Lines that streaming loads from write-combining memory have in flight.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub streaming_lines: u32,
    /// Whether core and device have stores of 64 B that the device may decline.
    #[serde(default)]
    pub enqueues: bool,
}

/// When full buffers follow each other on the link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StoreTimes {
    /// From the first to the second buffer of a message sent alone.
    #[schemars(with = "Duration")]
    pub first_interval_ns: f64,
    /// From one buffer to the next in a stream.
    #[schemars(with = "Duration")]
    pub stream_interval_ns: f64,
    /// From one buffer to the next where no link limits: on another link, the slower of both sets the pace. Absent:
    /// what the measured interval lacks on its link follows every TLP on any link.
    #[schemars(with = "Option<Duration>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_interval_ns: Option<f64>,
    /// From one uncached store to the next where no link limits. Absent: as of buffers.
    #[schemars(with = "Option<Duration>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncached_interval_ns: Option<f64>,
}

/// The transmit queue of the device, which buffers are written to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransmitQueue {
    /// Its space, in whole buffers of 64 B.
    #[schemars(range(min = super::BUFFER_BYTES, max = QUEUE_BYTES_MAX), extend("multipleOf" = super::BUFFER_BYTES))]
    pub capacity_bytes: u32,
    /// The device takes 64 B out of it in this time.
    #[schemars(with = "Duration")]
    pub drain_ns: f64,
    /// From the space being free on the device to the core knowing it.
    #[schemars(with = "Duration")]
    pub credit_return_ns: f64,
}

/// Descriptor DMA: what crosses the link for a message, and when.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DescriptorPath {
    /// The doorbell's store.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub doorbell_bytes: u32,
    /// A descriptor.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub descriptor_bytes: u32,
    /// The device's write-back for a descriptor.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub write_back_bytes: u32,
    /// An interrupt's write.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub interrupt_bytes: u32,
    /// Messages that share one doorbell, one descriptor read and one write-back.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub messages_per_doorbell: u32,
    /// Messages that share one interrupt.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub messages_per_interrupt: u32,
    /// Messages in flight at once, from doorbell to payload.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub messages_in_flight: u32,
    /// Messages of at most this many bytes, headers included, are part of their descriptor (inline sends): the
    /// device reads both at once; absent: none.
    #[schemars(range(min = 1, max = INLINE_BYTES_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inline_bytes: Option<u32>,
    /// From the doorbell to the descriptor's completion, packet start to packet start.
    #[schemars(with = "Duration")]
    pub descriptor_ns: f64,
    /// From the doorbell to the request of the payload.
    #[schemars(with = "Duration")]
    pub payload_request_ns: f64,
    /// From the doorbell to the payload's completion.
    #[schemars(with = "Duration")]
    pub payload_ns: f64,
    /// Payload of the message measured.
    #[schemars(range(min = 1, max = COUNT_MAX))]
    pub measured_payload_bytes: u32,
    /// Core time for a message: the descriptor, the fence behind it, the doorbell.
    #[schemars(with = "Duration")]
    pub cpu_ns: f64,
}

impl DescriptorPath {
    /// Bytes of a message that its descriptor carries: whole words of a frame that is sent inline, else 0.
    #[must_use]
    pub fn inline_bytes_of(&self, frame_bytes: u64) -> u64 {
        let is_inline = self.inline_bytes.is_some_and(|most| frame_bytes <= u64::from(most));
        if is_inline { frame_bytes.next_multiple_of(WORD_BYTES) } else { 0 }
    }
}

/// Traffic back to the host: acknowledgements, and messages by stores that the device loops back.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answers {
    /// From the end of a store at the device that takes stores to its acknowledgement.
    #[schemars(with = "Nanoseconds")]
    pub store_acknowledged_ns: f64,
    /// The same for a packet at the device that takes descriptors.
    #[schemars(with = "Nanoseconds")]
    pub descriptor_acknowledged_ns: f64,
    /// The same for a request at the root complex.
    #[schemars(with = "Nanoseconds")]
    pub request_acknowledged_ns: f64,
    /// From a message leaving the filter to the first write of its buffers to host memory.
    #[schemars(with = "Nanoseconds")]
    pub loop_back_ns: f64,
    /// Gap between these writes, without their time on the link.
    #[schemars(with = "Nanoseconds")]
    pub loop_back_gap_ns: f64,
}

/// The machine's part of the measured times, without the link's.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineTimes {
    /// Gap between two full buffers in a stream, without the first one's time on the link.
    pub store_gap_ns: f64,
    /// From one full buffer to the next where no link limits, if known.
    pub core_interval_ns: Option<f64>,
    /// From one uncached store to the next where no link limits, if known.
    pub uncached_interval_ns: Option<f64>,
    /// Additional gap between the first two buffers of a message sent alone.
    pub first_store_ns: f64,
    /// From the doorbell's arrival to the descriptor's request.
    pub doorbell_ns: f64,
    /// From a read request's arrival to the start of its completion.
    pub read_ns: f64,
    /// From the descriptor's arrival to the payload's request.
    pub parse_ns: f64,
}

impl MachineTimes {
    /// From the start of a TLP that is on the link for `wire_ns` to that of the core's next.
    #[must_use]
    pub fn interval_ns(&self, wire_ns: f64, combined: bool) -> f64 {
        let own = if combined { self.core_interval_ns } else { self.uncached_interval_ns };
        own.map_or(wire_ns + self.store_gap_ns, |own_ns| own_ns.max(wire_ns))
    }
}

impl Fitting for MessageProfile {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<MessageProfile>);
        &SHAPE
    }
}

impl MessageProfile {
    /// The link that the times were measured on.
    ///
    /// # Errors
    /// The link is not valid.
    pub fn measured_link(&self) -> Result<LinkConfiguration, Refusal> {
        LinkConfiguration::try_from(self.link)
    }

    /// How much longer the read of descriptors takes with more messages for each doorbell, ns: the time of the bytes
    /// beyond the profile's own, at the rate of reads on its link. 0 for fewer messages.
    ///
    /// # Errors
    /// The link is not valid.
    pub fn longer_descriptors_ns(&self, messages_per_doorbell: u32) -> Result<f64, Refusal> {
        let path = &self.descriptors;
        let more = messages_per_doorbell.saturating_sub(path.messages_per_doorbell);
        let more_bytes = u64::from(more) * u64::from(path.descriptor_bytes);
        let read = Model::of_measured_link(self)?.bandwidth(more_bytes.max(LEAST_READ_BYTES), 0)?.read;
        Ok(more_bytes as f64 * 8.0 / read.gbps)
    }

    /// The machine's part of the measured times.
    ///
    /// # Errors
    /// Names the key of a number out of range, or of a time shorter than the link needs.
    pub fn machine_times(&self) -> Result<MachineTimes, Refusal> {
        self.check()?;
        let link = self.measured_link()?;
        let wire_ns = |kind, bytes| tlp_ns(&link, Accounting::Spec, kind, bytes);
        let path = &self.descriptors;
        let batch = path.descriptor_bytes * path.messages_per_doorbell;
        let request_ns = wire_ns(TlpKind::MemoryRead, batch);
        let read_ns = path.payload_ns - path.payload_request_ns - request_ns;
        let times = MachineTimes {
            store_gap_ns: self.stores.stream_interval_ns
                - wire_ns(TlpKind::MemoryWrite, super::BUFFER_BYTES as u32),
            core_interval_ns: self.stores.core_interval_ns,
            uncached_interval_ns: self.stores.uncached_interval_ns.or(self.stores.core_interval_ns),
            first_store_ns: self.stores.first_interval_ns - self.stores.stream_interval_ns,
            read_ns,
            doorbell_ns: path.descriptor_ns
                - wire_ns(TlpKind::MemoryWrite, path.doorbell_bytes)
                - request_ns
                - read_ns,
            parse_ns: path.payload_request_ns
                - path.descriptor_ns
                - wire_ns(TlpKind::CompletionWithData, batch),
        };
        for (key, value, left_ns, remedy) in [
            (
                "stores.stream_interval_ns",
                self.stores.stream_interval_ns,
                times.store_gap_ns,
                "give at least what 64 B take on the measured link",
            ),
            (
                "stores.first_interval_ns",
                self.stores.first_interval_ns,
                times.first_store_ns,
                "give at least stores.stream_interval_ns",
            ),
            (
                "descriptors.payload_ns",
                path.payload_ns,
                times.read_ns,
                "give more than payload_request_ns and the request on the link",
            ),
            (
                "descriptors.descriptor_ns",
                path.descriptor_ns,
                times.doorbell_ns,
                "give at least the doorbell, the request and a read as long as the payload's",
            ),
            (
                "descriptors.payload_request_ns",
                path.payload_request_ns,
                times.parse_ns,
                "give at least descriptor_ns and the descriptor on the link",
            ),
        ] {
            if left_ns < 0.0 {
                return Err(Refusal::of(key, value, remedy));
            }
        }
        Ok(times)
    }

    /// Core and device as [`Mmio`] on a link, for accesses that are no messages; none without [`LoadTimes`].
    ///
    /// # Errors
    /// The round trip is shorter than its TLPs on the measured link.
    pub fn mmio(&self, link: LinkConfiguration) -> Result<Option<Mmio>, Refusal> {
        let Some(loads) = self.loads else { return Ok(None) };
        let (times, measured) = (self.machine_times()?, self.measured_link()?);
        let wire_ns = |kind, bytes| tlp_ns(&measured, Accounting::Spec, kind, bytes);
        let host_ns = loads.round_trip_ns
            - wire_ns(TlpKind::MemoryRead, 0)
            - wire_ns(TlpKind::CompletionWithData, WORD_BYTES as u32);
        if host_ns < 0.0 {
            let remedy = "give at least its TLPs on the measured link";
            return Err(Refusal::of("loads.round_trip_ns", loads.round_trip_ns, remedy));
        }
        let core = self.core;
        let buffers = f64::from(core.write_combining_buffers);
        let combined_ns = times.interval_ns(wire_ns(TlpKind::MemoryWrite, super::BUFFER_BYTES as u32), true);
        let uncached_ns = times.interval_ns(wire_ns(TlpKind::MemoryWrite, WORD_BYTES as u32), false);
        let none = Between::of(0.0);
        let core = CoreProfile {
            name: self.name.clone(),
            year: 2000,
            generation: self.link.generation,
            processors: Vec::new(),
            stores: CoreStores {
                buffers: Between::of(buffers),
                merged_bytes: super::BUFFER_BYTES as u32,
                release_ns: Between::of((buffers * combined_ns - core.fill_ns).max(0.0)),
                fill_ns: Between::of(core.fill_ns),
                narrow_ns: Between::of(core.fill_ns / 8.0),
                uncached_ns: Between::of(uncached_ns),
                fence_ns: Between::of(core.fence_ns),
                direct_ns: None,
                page_fault_ns: none,
                evicted: EvictedOrder::Any,
            },
            loads: CoreLoads {
                host_ns: Between::of(host_ns),
                streaming_lines: Between::of(f64::from(loads.streaming_lines)),
                widest_bytes: super::BUFFER_BYTES as u32,
                enqueues: loads.enqueues,
            },
            root: CoreRoot {
                queue_bytes: Between::of(512.0),
                quantum_bytes: 4,
                link_ns: none,
                switch_ns: none,
                remote_ns: none,
            },
        };
        let bar = Bar {
            name: self.name.clone(),
            devices: Vec::new(),
            stores: BarStores {
                drain_gbytes_per_s: Between::of(super::BUFFER_BYTES as f64 / self.queue.drain_ns),
                posted_bytes: Between::of(f64::from(self.queue.capacity_bytes)),
                poll_ns: none,
            },
            reads: BarReads { answer_ns: none },
        };
        Mmio::new(core, bar, link).map(Some)
    }

    fn check(&self) -> Result<(), Refusal> {
        Self::shape().check(self)?;
        let path = &self.descriptors;
        let batch_bytes = u64::from(path.descriptor_bytes) * u64::from(path.messages_per_doorbell);
        if batch_bytes > BATCH_BYTES_MAX {
            let (key, value) = ("descriptors.messages_per_doorbell", path.messages_per_doorbell);
            return Err(Refusal::of(key, value, "give fewer: their descriptors have 16 KiB at most"));
        }
        Ok(())
    }
}

const COUNT_MAX: u32 = 4096;
/// Drivers put up to some hundred bytes into a descriptor; the longest descriptors have 1 KiB.
const INLINE_BYTES_MAX: u32 = 1024;
const HEADER_BYTES_MAX: u64 = 1024;
const BATCH_BYTES_MAX: u64 = 16 << 10;
const QUEUE_BYTES_MAX: u64 = 64 << 20;

/// Time of a TLP about `bytes` from an aligned address on the link, in ns.
pub(super) fn tlp_ns(link: &LinkConfiguration, accounting: Accounting, kind: TlpKind, bytes: u32) -> f64 {
    let wire_bytes = accounting.tlp_bytes(link, kind, Piece { address: 0, length: bytes });
    wire_bytes * 8.0 / accounting.tlp_gbps(link)
}
