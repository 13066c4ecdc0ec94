//! The flits of one direction in time. They follow one another without a pause, whether or not there are TLPs for them.

use super::replay::Replay;
use pcie_time::Picoseconds;
use pcie_wire::{DOUBLE_WORD_BYTES, FLIT_BYTES, FLIT_DOUBLE_WORDS, FLIT_TLP_BYTES, FlitEntry, FlitStream};

const FRACTION_BITS: u32 = 32;
const HALF: u128 = 1 << (FRACTION_BITS - 1);

/// The flits of a port, and the TLPs that they carry so far. Times are in units of 2^-32 ps, as the port's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flits {
    entry: FlitEntry,
    stream: FlitStream,
    /// Time of a flit.
    flit_time: u64,
    /// For how long the first flit has been under way at time 0: less than the time of a flit.
    phase: u64,
    /// With replays, the flit that took the last double words of a TLP, and the flits until it has arrived.
    open: Option<(u64, u64)>,
}

impl Flits {
    /// Flits of which the first one starts at time 0. A byte of a TLP, with its share of the flit's other bytes, takes
    /// `byte_time`.
    pub(crate) fn new(entry: FlitEntry, byte_time: u64) -> Self {
        Self {
            entry,
            stream: FlitStream::new(entry),
            flit_time: byte_time * FLIT_TLP_BYTES,
            phase: 0,
            open: None,
        }
    }

    /// The same without TLPs, where the first flit has been under way for `phase` of 2^32 parts at time 0.
    pub(crate) fn started_before(self, phase: u32) -> Self {
        let phase = ((u128::from(self.flit_time) * u128::from(phase)) >> 32) as u64;
        let mut moved = Self { phase, stream: FlitStream::new(self.entry), open: None, ..self };
        moved.stream.leave(self.entry.first_free(moved.sent_bytes(Picoseconds::ZERO)));
        moved
    }

    /// When the next TLP could start; if TLPs wait for the next flit, when the flit starts that could take it.
    pub(crate) fn free_at(&self, replay: Option<&Replay>) -> Picoseconds {
        let next = self.stream.next_double_word();
        let (flit, within) = (next / FLIT_DOUBLE_WORDS, next % FLIT_DOUBLE_WORDS);
        if let Some(start) =
            replay.filter(|_| !self.is_open(flit)).map(|replay| replay.start(flit.into(), 1) as u64)
            && start > flit
        {
            return self.time_of(start * FLIT_BYTES);
        }
        let sent_bytes = match self.entry {
            FlitEntry::Running => flit * FLIT_BYTES + within * DOUBLE_WORD_BYTES,
            FlitEntry::Next => flit * FLIT_BYTES,
        };
        self.time_of(sent_bytes)
    }

    /// Adds a TLP of `bytes` that is ready at `ready`, behind the ones before it if they keep the port busy until then;
    /// returns when its last flit has left, for the last time where it is sent again.
    pub(crate) fn add(&mut self, ready: Picoseconds, bytes: u64, replay: Option<&mut Replay>) -> Picoseconds {
        // A port is free at a rounded time: a TLP that is ready then follows directly.
        let is_idle = ready > self.free_at(replay.as_deref());
        let sent_bytes = if is_idle { self.sent_bytes(ready) } else { 0 };
        let double_words = bytes.div_ceil(DOUBLE_WORD_BYTES);
        let flits = match replay {
            None => self.stream.add(sent_bytes, double_words).flits_until_whole(),
            Some(replay) => self.add_parts(sent_bytes, double_words, replay),
        };
        self.time_of(flits * FLIT_BYTES)
    }

    /// Adds a TLP flit by flit: between two of its flits, others may be sent again. Returns the flits until it has
    /// arrived.
    fn add_parts(&mut self, mut sent_bytes: u64, double_words: u64, replay: &mut Replay) -> u64 {
        let (mut left, mut arrived) = (double_words, 0);
        while left > 0 {
            let mut next = self.stream;
            let mut first = next.add(sent_bytes, 0).first;
            let flit = first / FLIT_DOUBLE_WORDS;
            if !self.is_open(flit) {
                let asked = u128::from(flit);
                let start = replay.start(asked, 1);
                let end = replay.send(asked, start, 1, 1) as u64;
                if start > asked {
                    sent_bytes = start as u64 * FLIT_BYTES;
                    first = start as u64 * FLIT_DOUBLE_WORDS;
                }
                self.open = Some((start as u64, end));
            }
            let part = left.min(FLIT_DOUBLE_WORDS - first % FLIT_DOUBLE_WORDS);
            self.stream.add(sent_bytes, part);
            left -= part;
            arrived = self.open.map_or(arrived, |(_, end)| end);
        }
        arrived
    }

    /// Whether a flit carries TLPs already.
    fn is_open(&self, flit: u64) -> bool {
        self.open.is_some_and(|(open, _)| open == flit)
    }

    /// Fills `bytes` behind the last TLP with NOPs.
    pub(crate) fn leave(&mut self, bytes: u64) {
        self.stream.leave(bytes.div_ceil(DOUBLE_WORD_BYTES));
    }

    /// Time of the double words so far at the rate of a link that is never idle, in ns.
    pub(crate) fn occupied_ns(&self) -> f64 {
        let flits = self.stream.next_double_word() as f64 / FLIT_DOUBLE_WORDS as f64;
        flits * self.flit_time as f64 / (1u64 << FRACTION_BITS) as f64 / 1000.0
    }

    /// Least time from the first byte of TLPs of `bytes` in all until their last flit has left: they end with a flit.
    pub(crate) fn least_ns(&self, bytes: u64) -> f64 {
        let double_words = bytes.div_ceil(DOUBLE_WORD_BYTES);
        let others = double_words.div_ceil(FLIT_DOUBLE_WORDS) * (FLIT_BYTES - FLIT_TLP_BYTES);
        let flits = (double_words * DOUBLE_WORD_BYTES + others) as f64 / FLIT_BYTES as f64;
        flits * self.flit_time as f64 / (1u64 << FRACTION_BITS) as f64 / 1000.0
    }

    /// Time of a flit, in parts of 2^-32 ps.
    pub(crate) fn flit_time(&self) -> u64 {
        self.flit_time
    }

    /// When `sent_bytes` bytes of flits have been sent, rounded; time 0 if that was before.
    fn time_of(&self, sent_bytes: u64) -> Picoseconds {
        let time = u128::from(sent_bytes) * u128::from(self.flit_time) / u128::from(FLIT_BYTES);
        Picoseconds(((time.saturating_sub(u128::from(self.phase)) + HALF) >> FRACTION_BITS) as u64)
    }

    /// Bytes of flits whose sending has begun before a time.
    fn sent_bytes(&self, at: Picoseconds) -> u64 {
        let time = (u128::from(at.0) << FRACTION_BITS) + u128::from(self.phase);
        (time * u128::from(FLIT_BYTES)).div_ceil(u128::from(self.flit_time)) as u64
    }
}
