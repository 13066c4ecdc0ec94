//! What messages by stores are asked to do, and what became of them.

use pcie_time::Picoseconds;

/// In which order the full buffers of a core leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EvictionOrder {
    /// As they became full.
    InOrder,
    /// Any of them: write-combined memory is weakly ordered.
    Random,
}

/// How the last buffer of a message is made to leave.
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
    /// One queue; who holds its lock writes a message.
    OneQueue,
}

/// When a core starts its next message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Once the one before has left the device, and the link is idle.
    Alone,
    /// As soon as it has written the one before.
    Stream,
}

/// How messages are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StorePlan {
    /// Through write-combining buffers, or word by word, uncached.
    pub combine: bool,
    /// Order of eviction.
    pub eviction: EvictionOrder,
    /// Share of the stores behind which something else takes the buffer, so that it leaves in part.
    pub pressure: f64,
    /// End of a message.
    pub ending: Ending,
    /// Several cores.
    pub sharing: Sharing,
    /// Time between messages.
    pub pace: Pace,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StoreMessage {
    /// The core began with it.
    pub started: Picoseconds,
    /// The core had written it.
    pub written: Picoseconds,
    /// TLPs that it took.
    pub tlps: u32,
    /// The start of its first TLP.
    pub first_store: Picoseconds,
    /// The start of its last TLP.
    pub last_store: Picoseconds,
    /// The end of its first TLP.
    pub first_left: Picoseconds,
    /// The end of its last TLP.
    pub last_left: Picoseconds,
    /// When one more TLP could follow.
    pub next_store: Picoseconds,
    /// It left the filter, whole or dropped.
    pub left: Picoseconds,
    /// What came back of it, where the profile says how the device answers and it was not dropped.
    pub back: Option<Back>,
}

/// What came back of a message: the acknowledgements of its TLPs, and its buffers that the device looped to host memory.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Back {
    /// The acknowledgement of its first TLP.
    pub first_acknowledged: Picoseconds,
    /// That of its last.
    pub last_acknowledged: Picoseconds,
    /// The start of the first write of a buffer.
    pub first_looped: Picoseconds,
    /// That of the last.
    pub last_looped: Picoseconds,
}

impl StoreMessage {
    /// As the source counts it: from the first TLP to the last, or until another could follow if there is one alone.
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

/// How long cores waited, altogether.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls {
    /// For a free buffer.
    pub buffers: Picoseconds,
    /// For space in the queue.
    pub queue: Picoseconds,
    /// For the lock.
    pub lock: Picoseconds,
}

/// What came out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct StoresOutcome {
    /// Every message: those of the first core, those of the second, and so on.
    pub messages: Vec<StoreMessage>,
    /// Frames, in the order in which they left.
    pub delivered: Vec<Delivered>,
    /// Frames dropped since a signature was in their payload.
    pub dropped: u64,
    /// Waiting.
    pub stalls: Stalls,
    /// Writes to the device.
    pub tlps: u64,
    /// Their bytes on the link.
    pub wire_bytes: u64,
    /// Writes that found no place: always 0, since cores know the queue's space.
    pub lost: u64,
    /// From the first core's start to the last frame.
    pub elapsed: Picoseconds,
}
