//! The window while a NIC sends from it: each unit holds a frame of its own to the NIC's address.

use super::plan::Plan;
use crate::host::Contents;
use pcie_driver::e1000e::HEADER_BYTES;
use pcie_host::Buffer;

#[derive(Clone, Debug)]
pub(super) struct Frames {
    pub(super) header: [u8; HEADER_BYTES],
    pub(super) plan: Plan,
}

impl Frames {
    /// Writes the frame of a number; frames differ as far as their payload has room.
    pub(super) fn write(&self, number: u64, frame: &mut [u8]) {
        let (header, payload) = frame.split_at_mut(HEADER_BYTES.min(frame.len()));
        header.copy_from_slice(&self.header[..header.len()]);
        for (word, bytes) in (0..).zip(payload.chunks_mut(8)) {
            let mixed = number.wrapping_add(word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            bytes.copy_from_slice(&mixed.to_le_bytes()[..bytes.len()]);
        }
    }

    pub(super) fn frame(&self, number: u64) -> Vec<u8> {
        let mut frame = vec![0; self.plan.size_bytes as usize];
        self.write(number, &mut frame);
        frame
    }
}

impl Contents for Frames {
    fn fill(&self, buffer: &mut Buffer, window_bytes: u64) {
        let mut frame = vec![0; self.plan.size_bytes as usize];
        for unit in 0..window_bytes / self.plan.unit_bytes {
            self.write(unit, &mut frame);
            buffer.copy_in(self.plan.offset(unit), &frame);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::tests::buffer;

    #[test]
    fn units_hold_different_frames_for_the_nic() {
        let plan = Plan { size_bytes: 61, unit_bytes: 128, offset_bytes: 3 };
        let frames = Frames { header: *b"stationsource!", plan };
        let mut buffer = buffer();
        frames.fill(&mut buffer, 3 * 128);
        let held = |unit: u64| buffer.copied(unit * 128 + 3, 61).unwrap();
        assert_eq!((held(0), held(2)), (frames.frame(0), frames.frame(2)));
        assert!(held(0)[..14] == held(1)[..14] && held(0)[14..] != held(1)[14..]);
        let at = |offset: u64| buffer.copied(offset, 1).unwrap()[0];
        assert_eq!((at(2), at(64), at(3 * 128 + 3)), (0, 0, 0));
        assert_ne!(frames.frame(u64::MAX), frames.frame(0));
    }
}
