//! The card: timer, command path, DMA path and its data engine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A card that can run the micro-benchmarks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Card {
    /// Short name.
    pub name: String,
    /// How it issues DMAs: workers enqueue descriptors and wait for their completion (`queued`;
    /// pcie-bench paper, section 5.1), or a state machine hands one request per clock to the core
    /// (`direct`; section 5.2).
    pub kind: CardKind,
    /// Its timer.
    pub timer: Timer,
    /// Most samples that one latency test can journal; absent without a limit.
    pub latency_samples_most: Option<u64>,
    /// Most transactions of one bandwidth test; absent without a limit.
    pub transactions_most: Option<u64>,
    /// The port sends TLPs upstream in units of this many bytes.
    #[schemars(range(min = 1, max = 4096))]
    pub uplink_quantum_bytes: u32,
    /// The data of a write TLP occupy whole units of this many bytes, a power of two of 4 to 4096.
    pub uplink_data_quantum_bytes: u32,
    /// Bytes that the port leaves free behind each TLP.
    #[schemars(range(min = 0, max = 4096))]
    pub uplink_gap_bytes: u32,
    /// Bytes of DLLPs that the port sends upstream for each completion that arrives.
    #[schemars(range(min = 0, max = 4096))]
    pub uplink_dllp_bytes: u32,
    /// The DMA path.
    pub dma: DmaPath,
    /// The command path, where the card has one.
    pub command: Option<CommandPath>,
}

/// How a card issues DMAs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CardKind {
    /// Workers enqueue descriptors and wait for their completion (NFP-6000; pcie-bench paper, section 5.1).
    Queued,
    /// A state machine hands one request per clock to the core (NetFPGA; section 5.2).
    Direct,
}

/// Which tag the next read request gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TagOrder {
    /// The next in turn: it is waited for while it is in use, even if others are free.
    InTurn,
    /// Any that is free.
    AnyFree,
}

/// The timer that latencies are read from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timer {
    /// Length of a tick in ns: numerator.
    pub numerator_ns: u64,
    /// Length of a tick in ns: denominator.
    pub denominator: u64,
    /// Clock cycles in a tick: what the published columns count.
    pub cycles: u64,
}

/// The DMA path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DmaPath {
    /// DMAs that can be waiting or going on at once: workers, or the depth of the request pipeline.
    #[schemars(range(min = 1, max = 65536))]
    pub outstanding: u32,
    /// Longest transfer.
    pub transfer_bytes_most: u32,
    /// Transfers are multiples of so many bytes: others are not supported.
    #[schemars(range(min = 1, max = 4096), extend("default" = 1))]
    pub transfer_multiple_bytes: u32,
    /// Tags that the card uses, of those that the link gives it; absent: all.
    #[schemars(range(min = 1, max = 16384))]
    pub tags: Option<u32>,
    /// Which tag the next read request gets: the next in turn, which is waited for while it is in use
    /// even if others are free (`in-turn`), or any that is free (`any-free`).
    #[schemars(extend("default" = "in-turn"))]
    pub tag_order: TagOrder,
    /// Whether data are passed on while they arrive, and not once all of a transfer are there.
    #[schemars(extend("default" = false))]
    pub cut_through: bool,
    /// From the start of a latency measurement until the first TLP is handed to the port, and from
    /// the last byte received until the end of the measurement, together, for a read.
    pub read_overhead_ns: f64,
    /// What the write of a write-then-read pair takes to start, over what a read takes.
    pub write_overhead_ns: f64,
    /// From when the data of the write of a pair are out of the card's memory until the read behind
    /// it starts.
    pub write_to_read_ns: f64,
    /// The same from when the write's last TLP has left: the card calls a write done no sooner than
    /// the root port has acknowledged it.
    pub write_acknowledged_ns: f64,
    /// Loop time between two latency measurements.
    #[schemars(range(min = 0, max = 1000000000))]
    pub loop_ns: f64,
    /// From one read request of a DMA to the next.
    pub request_interval_ns: f64,
    /// Least time between any two read requests when many DMAs are going on.
    #[schemars(extend("default" = 0.0))]
    pub busy_request_interval_ns: f64,
    /// Extra latency of a read that ends on a part of a word of the card's memory.
    pub partial_word_ns: f64,
    /// Extra latency of a read that starts off a word of the card's memory.
    pub unaligned_card_ns: f64,
    /// The same off a word on the host: the data are shifted.
    pub unaligned_host_ns: f64,
    /// Read requests whose data the card takes in before the data engine is done with them: with so
    /// many of them on hand, the root complex has to wait with the next completion.
    #[schemars(range(min = 1, max = 65536))]
    pub receive_buffers: u32,
    /// The engine that moves data between the port and the card's memory.
    pub engine: DataEngine,
}

/// The engine that moves data between port and card memory, in segments of card addresses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DataEngine {
    /// Time per DMA, reads.
    pub read_fixed_ns: f64,
    /// Time per DMA, writes.
    pub write_fixed_ns: f64,
    /// Segment of card addresses.
    pub segment_bytes: u32,
    /// Time for a whole segment.
    pub segment_ns: f64,
    /// Width of the card's memory bus.
    pub word_bytes: u32,
    /// Time per word of a last, partial segment.
    pub word_ns: f64,
    /// Time for a last segment that holds no more than one word.
    pub short_tail_ns: f64,
    /// Time for a transfer of a single segment both of whose ends are unaligned.
    pub misaligned_single_ns: f64,
    /// Extra for a request boundary inside a segment, aligned transfers.
    pub boundary_aligned_ns: f64,
    /// The same, misaligned transfers.
    pub boundary_misaligned_ns: f64,
    /// Behind a part of a write that is a single TLP, the uplink ends its TLPs on a multiple of this
    /// and stays idle for as much again: nothing hides how the card turns to the next part; 0: it
    /// goes straight on.
    #[schemars(range(min = 0, max = 4096))]
    pub write_gap_bytes: u32,
    /// Writes are first cut at host addresses that are multiples of this, a power of two of 64 to
    /// 4096, and each part then into TLPs of at most MPS, counted from where the part starts.
    pub write_part_bytes: u32,
}

/// The command path: small reads and writes straight from the card's registers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommandPath {
    /// Longest transfer.
    pub transfer_bytes_most: u32,
    /// Start and end of a measurement together, for a read.
    pub read_overhead_ns: f64,
    /// Time for each byte read.
    pub read_byte_ns: f64,
    /// Time for each byte written.
    pub write_byte_ns: f64,
    /// Extra latency of a read of a whole cache line at an offset, which is split.
    pub read_split_ns: f64,
    /// The same for a write and the read behind it.
    pub write_split_ns: f64,
    /// Loop time between two measurements.
    #[schemars(range(min = 0, max = 1000000000))]
    pub loop_ns: f64,
    /// Extra loop time of a write-then-read pair, for the shortest write: what is to be written is
    /// made ready.
    #[schemars(range(min = 0, max = 1000000000))]
    pub write_loop_ns: f64,
    /// And so much more for each byte.
    pub write_loop_byte_ns: f64,
    /// Address bits that the path can drive: higher ones are dropped.
    #[schemars(range(min = 32, max = 64))]
    pub address_bits: u32,
    /// The window register that must be rewritten to reach another part of memory, where the board
    /// has one.
    pub bar_window: Option<BarWindow>,
}

/// A movable window onto bus addresses, rewritten to reach another part of memory.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BarWindow {
    /// Bytes it covers.
    pub window_bytes: u64,
    /// Extra latency of a read right after it was moved.
    #[schemars(range(min = 0, max = 1000000000))]
    pub moved_ns: f64,
    /// Extra loop time when it has to be moved.
    #[schemars(range(min = 0, max = 1000000000))]
    pub move_ns: f64,
}
