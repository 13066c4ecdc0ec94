//! The device: timer, command path, DMA path and its data engine.

use pcie_schema::quantity::{Count, Nanoseconds, Padding, Quantum, Size, Size32, StepTime};
use pcie_schema::relief::{Who, better, either, less, more};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A TLP is a number of these.
const DOUBLE_WORD_BYTES: u32 = 4;
/// Requests in flight of a device without a limit.
const IN_FLIGHT_MOST: u32 = 65_536;

/// A device that can run the micro-benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// Short name.
    #[schemars(length(min = 1, max = 200))]
    pub name: String,
    /// How it issues DMAs: workers enqueue descriptors and wait for their completion (`queued`;
    /// pcie-bench paper, section 5.1), or a state machine hands one request per clock to the core
    /// (`direct`; section 5.2).
    #[schemars(extend("x-fact" = "another device"))]
    pub kind: CardKind,
    /// Its timer.
    pub timer: Timer,
    /// Most samples that one latency test can journal; absent without a limit.
    #[schemars(with = "Option<Count>")]
    #[schemars(extend("x-fact" = "how long a test may be"))]
    pub latency_samples_most: Option<u64>,
    /// Most transactions of one bandwidth test; absent without a limit.
    #[schemars(with = "Option<Count>")]
    #[schemars(extend("x-fact" = "how long a test may be"))]
    pub transactions_most: Option<u64>,
    /// The port sends TLPs upstream in units of this many bytes.
    #[schemars(with = "Quantum")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub uplink_quantum_bytes: u32,
    /// The data of a write TLP occupy whole units of this many bytes, a power of two of 4 to 4096.
    #[schemars(with = "Size32")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub uplink_data_quantum_bytes: u32,
    /// Bytes that the port leaves free behind each TLP.
    #[schemars(with = "Padding")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub uplink_gap_bytes: u32,
    /// Bytes of DLLPs that the port sends upstream for each completion that arrives.
    #[schemars(with = "Padding")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub uplink_dllp_bytes: u32,
    /// The DMA path.
    pub dma: DmaPath,
    /// The command path, if the device has one.
    pub command: Option<CommandPath>,
}

impl Card {
    /// A device that is simulated elsewhere: its TLPs occupy whole double words of the link, without gaps, and
    /// each leaves as soon as it is ready. Nothing but the link and the host limits it.
    #[must_use]
    pub fn elsewhere() -> Self {
        Self {
            name: "elsewhere".to_owned(),
            kind: CardKind::Direct,
            timer: Timer { numerator_ns: 1, denominator: 1, cycles: 1 },
            latency_samples_most: None,
            transactions_most: None,
            uplink_quantum_bytes: DOUBLE_WORD_BYTES,
            uplink_data_quantum_bytes: DOUBLE_WORD_BYTES,
            uplink_gap_bytes: 0,
            uplink_dllp_bytes: 0,
            dma: DmaPath::elsewhere(),
            command: None,
        }
    }
}

impl DmaPath {
    /// See [`Card::elsewhere`].
    fn elsewhere() -> Self {
        Self {
            outstanding: IN_FLIGHT_MOST,
            transfer_bytes_most: 4096,
            transfer_multiple_bytes: one(),
            tags: None,
            tag_order: TagOrder::AnyFree,
            tag_return_ns: 0.0,
            cut_through: true,
            read_overhead_ns: 0.0,
            write_overhead_ns: 0.0,
            write_byte_ns: 0.0,
            write_to_read_ns: 0.0,
            write_acknowledged_ns: 0.0,
            loop_ns: 0.0,
            request_interval_ns: 0.0,
            busy_request_interval_ns: 0.0,
            partial_word_ns: 0.0,
            unaligned_card_ns: 0.0,
            unaligned_host_ns: 0.0,
            receive_buffers: IN_FLIGHT_MOST,
            completion_buffer_bytes: None,
            completion_buffer_headers: None,
            relaxed_ordering: None,
            engine: DataEngine::elsewhere(),
        }
    }
}

impl DataEngine {
    /// See [`Card::elsewhere`].
    fn elsewhere() -> Self {
        Self {
            read_fixed_ns: 0.0,
            write_fixed_ns: 0.0,
            segment_bytes: 64,
            segment_ns: 0.0,
            word_bytes: 64,
            word_ns: 0.0,
            short_tail_ns: 0.0,
            shifted_flush_ns: 0.0,
            boundary_ns: 0.0,
            write_gap_bytes: 0,
            write_part_bytes: 4096,
            both_ways_byte_ns: None,
            both_ways_bytes: None,
        }
    }
}

/// How a device issues DMAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CardKind {
    /// Workers enqueue descriptors and wait for their completion (NFP-6000; pcie-bench paper, section 5.1).
    Queued,
    /// A state machine hands one request per clock to the core (NetFPGA; section 5.2).
    Direct,
}

/// Which tag the next read request gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TagOrder {
    /// The next in turn: it is waited for while it is in use, even if others are free.
    #[default]
    InTurn,
    /// Any that is free.
    AnyFree,
}

/// The timer that latencies are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timer {
    /// Length of a tick in ns: numerator.
    #[schemars(with = "Count")]
    #[schemars(extend("x-fact" = "the clock that latencies are read from"))]
    pub numerator_ns: u64,
    /// Length of a tick in ns: denominator.
    #[schemars(with = "Count")]
    #[schemars(extend("x-fact" = "the clock that latencies are read from"))]
    pub denominator: u64,
    /// Clock cycles in a tick: the unit of the published columns.
    #[schemars(with = "Count")]
    #[schemars(extend("x-fact" = "the clock that latencies are read from"))]
    pub cycles: u64,
}

/// The DMA path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DmaPath {
    /// DMAs that can be waiting or going on at once: workers, or the depth of the request pipeline.
    #[schemars(range(min = 1, max = 65536))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub outstanding: u32,
    /// Longest transfer.
    #[schemars(with = "Size32")]
    #[schemars(extend("x-fact" = "what a test may ask for"))]
    pub transfer_bytes_most: u32,
    /// Every transfer is a multiple of this many bytes.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 4096))]
    #[schemars(extend("x-fact" = "what a test may ask for"))]
    pub transfer_multiple_bytes: u32,
    /// Tags that the device uses, of those that the link provides; absent: all.
    #[schemars(range(min = 1, max = 16384))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub tags: Option<u32>,
    /// Which tag the next read request gets: the next in turn, which is waited for while it is in use
    /// even if others are free (`in-turn`), or any that is free (`any-free`).
    #[serde(default)]
    #[schemars(extend("x-relief" = better(Who::Device, ["in-turn", "any-free"])))]
    pub tag_order: TagOrder,
    /// From the arrival of a read request's last completion until its tag, and its room in the buffer for
    /// completions, are free for another request.
    #[serde(default)]
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub tag_return_ns: f64,
    /// Whether data are forwarded while they arrive, and not after the whole transfer.
    #[serde(default)]
    #[schemars(extend("x-relief" = better(Who::Device, [false, true])))]
    pub cut_through: bool,
    /// From the start of a latency measurement until the first TLP is handed to the port, and from
    /// the last byte received until the end of the measurement, together, for a read.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub read_overhead_ns: f64,
    /// Extra start time of the write of a write-then-read pair, over that of a read.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_overhead_ns: f64,
    /// Time for each byte of a pair's write before it leaves, up to MPS: a device that hands over whole TLPs.
    #[serde(default)]
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_byte_ns: f64,
    /// From the end of reading a pair's write data from device memory to the start of the read behind it.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_to_read_ns: f64,
    /// The same from the departure of the write's last TLP: for the device, a write is done once the root
    /// port has acknowledged it.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_acknowledged_ns: f64,
    /// Loop time between two latency measurements.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub loop_ns: f64,
    /// From one read request of a DMA to the next.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub request_interval_ns: f64,
    /// Least time between any two read requests when many DMAs are going on.
    #[serde(default)]
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub busy_request_interval_ns: f64,
    /// Extra latency of a read that ends on a part of a word of device memory.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub partial_word_ns: f64,
    /// Extra latency of a read that starts off a word of device memory.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub unaligned_card_ns: f64,
    /// The same off a word on the host: the data are shifted.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub unaligned_host_ns: f64,
    /// Read requests whose data the device can hold until the data engine has moved them; with all buffers in
    /// use, the root complex holds back further completions.
    #[schemars(range(min = 1, max = 65536))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub receive_buffers: u32,
    /// Data that the buffer for completions holds. A read request reserves room for its data, in whole credits
    /// of 16 bytes, and gives it back with its tag; absent: never too small.
    #[schemars(range(min = 128, max = 1_073_741_824))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub completion_buffer_bytes: Option<u32>,
    /// Headers that the same buffer holds: a read request reserves one for each completion that the read
    /// completion boundary (`link.rcb_bytes`) allows; absent: never too few.
    #[schemars(range(min = 1, max = 65536))]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub completion_buffer_headers: Option<u32>,
    /// Whether writes carry the relaxed-ordering attribute: one may pass earlier writes in a root complex that
    /// has a pool for them (`host.root_complex.write_pool_lines`). Reads never pass writes (PCI Express Base
    /// Specification, section 2.4.1); absent: no.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = better(Who::Driver, [false, true]).absent(false)))]
    pub relaxed_ordering: Option<bool>,
    /// The engine that moves data between the port and device memory.
    pub engine: DataEngine,
}

/// A device transfers any number of bytes, unless its profile states a multiple.
fn one() -> u32 {
    1
}

/// The engine that moves data between port and device memory, in segments of device addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataEngine {
    /// Time per DMA, reads.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub read_fixed_ns: f64,
    /// Time per DMA, writes.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_fixed_ns: f64,
    /// Segment of device addresses.
    #[schemars(with = "Size32")]
    #[schemars(extend("x-relief" = either(Who::Device)))]
    pub segment_bytes: u32,
    /// Time for a whole segment.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub segment_ns: f64,
    /// Width of the device's memory bus.
    #[schemars(with = "Size32")]
    #[schemars(extend("x-relief" = either(Who::Device)))]
    pub word_bytes: u32,
    /// Time per word of a last, partial segment.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub word_ns: f64,
    /// Time for a last segment that holds no more than one word.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub short_tail_ns: f64,
    /// Time to empty the shifter behind a read both of whose ends lie inside words of the device's memory.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub shifted_flush_ns: f64,
    /// Extra for a request boundary inside a segment, if the read is not shifted.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub boundary_ns: f64,
    /// Behind a part of a write that is a single TLP, the uplink pads to a multiple of this and idles for as
    /// much again, because nothing hides the device's switch to the next part; 0: no gap.
    #[schemars(with = "Padding")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_gap_bytes: u32,
    /// Writes are first split at host addresses that are multiples of this, a power of two of 64 to 4096;
    /// each part is then split into TLPs of at most MPS, counted from its start.
    #[schemars(with = "Size32")]
    #[schemars(extend("x-relief" = either(Who::Device)))]
    pub write_part_bytes: u32,
    /// Time per byte of a write in a test that also reads, where it is longer than the engine's own: data that
    /// land in the device's memory and data that leave it take turns. Absent: they never wait for each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<StepTime>", extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub both_ways_byte_ns: Option<f64>,
    /// Bytes at the start of a write that take turns with reads; those behind them do not. Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Size32>", extend("x-left-out" = true))]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub both_ways_bytes: Option<u32>,
}

/// The command path: small reads and writes straight from the device's registers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandPath {
    /// Longest transfer.
    #[schemars(with = "Size32")]
    #[schemars(extend("x-fact" = "what a test may ask for"))]
    pub transfer_bytes_most: u32,
    /// Start and end of a measurement together, for a read.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub read_overhead_ns: f64,
    /// Time for each byte read.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub read_byte_ns: f64,
    /// Time for each byte written.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_byte_ns: f64,
    /// Extra latency of a read of a whole cache line at an offset, which is split.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub read_split_ns: f64,
    /// The same for a write and the read behind it.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_split_ns: f64,
    /// Loop time between two measurements.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub loop_ns: f64,
    /// Extra loop time of a write-then-read pair, to prepare the data, for the shortest write.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_loop_ns: f64,
    /// Extra loop time of a write-then-read pair for each byte.
    #[schemars(with = "StepTime")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub write_loop_byte_ns: f64,
    /// Address bits that the path can drive: higher ones are dropped.
    #[schemars(range(min = 32, max = 64))]
    #[schemars(extend("x-fact" = "which memory it reaches"))]
    pub address_bits: u32,
    /// The window register that must be rewritten to reach another part of memory, where the board has one.
    pub bar_window: Option<BarWindow>,
}

/// A movable window onto bus addresses, rewritten to reach another part of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BarWindow {
    /// Bytes it covers.
    #[schemars(with = "Size")]
    #[schemars(extend("x-relief" = more(Who::Device)))]
    pub window_bytes: u64,
    /// Extra latency of a read right after it was moved.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub moved_ns: f64,
    /// Extra loop time when it has to be moved.
    #[schemars(with = "Nanoseconds")]
    #[schemars(extend("x-relief" = less(Who::Device)))]
    pub move_ns: f64,
}
