//! The device's answers to stores: acknowledgements, and the message itself, written to host memory.

use crate::link::port::Port;
use crate::pio::plan::{Back, StoreMessage};
use crate::pio::queue::BUFFER_WORDS;
use pcie_model::pio::{Answers, WORD_BYTES};
use pcie_time::Picoseconds;

/// The device's side of the link, and its times.
#[derive(Debug)]
pub(super) struct LoopBack {
    uplink: Port,
    buffer_tlp_bytes: u32,
    loop_back: Picoseconds,
    gap: Picoseconds,
    acknowledged: Picoseconds,
}

impl LoopBack {
    /// A device on an idle link; `buffer_tlp_bytes` is the size of a buffer's write TLP.
    pub(super) fn new(answers: &Answers, uplink: Port, buffer_tlp_bytes: u32) -> Self {
        let [loop_back, gap, acknowledged] =
            [answers.loop_back_ns, answers.loop_back_gap_ns, answers.store_acknowledged_ns]
                .map(Picoseconds::from_ns);
        Self { uplink, buffer_tlp_bytes, loop_back, gap, acknowledged }
    }

    /// Writes a message that left the filter at `now` back to host memory, buffer by buffer.
    pub(super) fn send(&mut self, now: Picoseconds, stored: &StoreMessage, frame_bytes: u64) -> Back {
        debug_assert!(stored.tlps > 0 && stored.last_left <= now, "a message leaves before it arrives");
        let buffers = (frame_bytes.div_ceil(WORD_BYTES) + 1).div_ceil(BUFFER_WORDS as u64);
        let mut back = Back {
            first_acknowledged: stored.first_left + self.acknowledged,
            last_acknowledged: stored.last_left + self.acknowledged,
            ..Back::default()
        };
        let mut ready = now + self.loop_back;
        for nth in 0..buffers {
            let start = ready.max(self.uplink.free_at());
            ready = self.uplink.send(start, self.buffer_tlp_bytes) + self.gap;
            back.last_looped = start;
            if nth == 0 {
                back.first_looped = start;
            }
        }
        back
    }
}
