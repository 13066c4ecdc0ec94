//! The time that flits add to a TLP that is alone on its direction, in closed form.
//!
//! Flits run whether or not there are TLPs, so a TLP becomes ready at any moment of a flit. It waits for a double word
//! that it may take, and then until the flit with its last byte is whole.

use pcie_wire::{
    DOUBLE_WORD_BYTES, FLIT_BYTES, FLIT_DOUBLE_WORDS, FLIT_TLP_BYTES, FlitEntry, LinkConfiguration,
};
use schemars::JsonSchema;
use serde::Serialize;

/// Mean times of TLPs in flits, alone on their directions and ready at any moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct FlitTimes {
    /// From when they are ready until their first bytes are sent, in ns.
    pub wait_ns: f64,
    /// From then until the flits with their last bytes are whole, in ns. Without flits, it is the time of their own bytes.
    pub accumulation_ns: f64,
    /// Until these flits are corrected and checked, in ns.
    pub check_ns: f64,
}

impl FlitTimes {
    /// TLPs of `tlp_bytes` in all, one behind the other, on a link in flit mode whose receivers check a flit in
    /// `check_ns`.
    pub fn of(link: &LinkConfiguration, entry: FlitEntry, check_ns: f64, tlp_bytes: u64) -> Self {
        let double_words = tlp_bytes.div_ceil(DOUBLE_WORD_BYTES);
        let (mut waited, mut accumulated) = (0.0, 0.0);
        // Of the bytes of a flit, those at which a TLP becomes ready that takes the same double word, and their mean wait.
        for (start, ready_bytes, wait_bytes) in starts(entry) {
            let share = ready_bytes as f64 / FLIT_BYTES as f64;
            let flits = (start + double_words).div_ceil(FLIT_DOUBLE_WORDS);
            waited += share * wait_bytes;
            accumulated += share * (flits * FLIT_BYTES - start * DOUBLE_WORD_BYTES) as f64;
        }
        let byte_ns = 8.0 / link.raw_gbps();
        Self { wait_ns: waited * byte_ns, accumulation_ns: accumulated * byte_ns, check_ns }
    }

    /// All times together, in ns.
    pub fn total_ns(&self) -> f64 {
        self.wait_ns + self.accumulation_ns + self.check_ns
    }
}

impl std::ops::Add for FlitTimes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            wait_ns: self.wait_ns + other.wait_ns,
            accumulation_ns: self.accumulation_ns + other.accumulation_ns,
            check_ns: self.check_ns + other.check_ns,
        }
    }
}

/// Double words of a flit at which a TLP may start, bytes at which it is ready for each, and bytes that it then waits.
fn starts(entry: FlitEntry) -> Vec<(u64, u64, f64)> {
    match entry {
        FlitEntry::Next => vec![(0, FLIT_BYTES, FLIT_BYTES as f64 / 2.0)],
        FlitEntry::Running => {
            let behind_last = FLIT_BYTES - FLIT_TLP_BYTES + DOUBLE_WORD_BYTES;
            let later = (1..FLIT_DOUBLE_WORDS)
                .map(|start| (start, DOUBLE_WORD_BYTES, DOUBLE_WORD_BYTES as f64 / 2.0));
            std::iter::once((0, behind_last, behind_last as f64 / 2.0)).chain(later).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pcie_wire::LinkParameters;

    fn read_ns(lanes: u32, entry: FlitEntry) -> f64 {
        let link = LinkConfiguration::try_from(LinkParameters::new(6, lanes, 256, 512)).unwrap();
        // A request with a 64-bit address, and a completion with 64 B.
        [16, 12 + 64].map(|bytes| FlitTimes::of(&link, entry, 2.5, bytes).total_ns()).iter().sum()
    }

    #[test]
    fn a_narrow_link_adds_the_mean_wait_and_accumulation_of_a_read() {
        // At x1 a flit takes 32 ns. A TLP that waits for the next one waits half of one, and then for all of it.
        let between = |entry| read_ns(1, entry) - read_ns(16, entry);
        assert!((between(FlitEntry::Next) - 2.0 * 48.0 * 15.0 / 16.0).abs() < 1e-9);
        // In the running flit, a TLP is whole at the end of that flit or, where it does not fit, of the next one.
        let whole = |double_words: f64| 16.0 + 32.0 * (4.0 * double_words + 20.0) / 256.0;
        let expected = (whole(4.0) + whole(19.0)) * 15.0 / 16.0;
        assert!((between(FlitEntry::Running) - expected).abs() < 0.5, "{expected}");
    }
}
