//! Parameters and results of messages by stores.

use pcie_time::Picoseconds;

/// The order in which the full buffers of a core are evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionOrder {
    /// In the order in which they became full.
    InOrder,
    /// Any of them: write-combined memory is weakly ordered.
    Random,
}

/// How the last buffer of a message is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Signatures fill it.
    Stuffed,
    /// One signature ends the message, and a fence flushes the buffer.
    Fenced,
}

/// How several cores use the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sharing {
    /// A queue for each core.
    OwnQueues,
    /// One queue; the holder of its lock writes a message.
    OneQueue,
}

/// When a core starts its next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Once the previous one has left the device and the link is idle.
    Alone,
    /// As soon as it has written the previous one.
    Stream,
}

/// How messages are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StorePlan {
    /// Through write-combining buffers, or word by word, uncached.
    pub combine: bool,
    /// Order of eviction.
    pub eviction: EvictionOrder,
    /// Share of the stores after which the buffer is evicted in part.
    pub pressure: f64,
    /// How a message ends.
    pub ending: Ending,
    /// How several cores share the device.
    pub sharing: Sharing,
    /// When a core starts its next message.
    pub pace: Pace,
}

/// The times of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoreMessage {
    /// The core starts to write it.
    pub started: Picoseconds,
    /// The core has written it.
    pub written: Picoseconds,
    /// Its TLPs.
    pub tlps: u32,
    /// The start of its first TLP.
    pub first_store: Picoseconds,
    /// The start of its last TLP.
    pub last_store: Picoseconds,
    /// The end of its first TLP.
    pub first_left: Picoseconds,
    /// The end of its last TLP.
    pub last_left: Picoseconds,
    /// Earliest start of a further TLP.
    pub next_store: Picoseconds,
    /// It leaves the filter, as a frame or dropped.
    pub left: Picoseconds,
    /// The device's answers, if the profile defines them and the message was not dropped.
    pub back: Option<Back>,
}

/// The answers to a message: acknowledgements of its TLPs, and its buffers, written back to host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Back {
    /// The acknowledgement of its first TLP.
    pub first_acknowledged: Picoseconds,
    /// The acknowledgement of its last TLP.
    pub last_acknowledged: Picoseconds,
    /// The start of the first write of a buffer.
    pub first_looped: Picoseconds,
    /// The start of the last write of a buffer.
    pub last_looped: Picoseconds,
}

impl StoreMessage {
    /// Latency as in the source: from the first TLP to the last, or, if single, until another could follow.
    #[must_use]
    pub fn latency(&self) -> Picoseconds {
        if self.tlps > 1 { self.last_store - self.first_store } else { self.next_store - self.first_store }
    }
}

/// A frame that left a filter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivered {
    /// The queue that it was in.
    pub queue: u32,
    /// The message, as `StoresOutcome::messages` counts them.
    pub message: usize,
    /// Its bytes.
    pub frame: Vec<u8>,
}

/// Total waiting times of the cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// For a free buffer.
    pub buffers: Picoseconds,
    /// For space in the queue.
    pub queue: Picoseconds,
    /// For the lock.
    pub lock: Picoseconds,
}

/// The results of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoresOutcome {
    /// All messages, core by core.
    pub messages: Vec<StoreMessage>,
    /// Frames, in the order in which they left.
    pub delivered: Vec<Delivered>,
    /// Frames dropped because of a signature in their payload.
    pub dropped: u64,
    /// Waiting times.
    pub stalls: Stalls,
    /// Writes to the device.
    pub tlps: u64,
    /// Their bytes on the link.
    pub wire_bytes: u64,
    /// Writes lost for lack of space: always 0, because cores know the queue's space.
    pub lost: u64,
    /// From the first core's start to the last frame.
    pub elapsed: Picoseconds,
}
