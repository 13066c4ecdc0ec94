//! Flits: units of 256 bytes that carry TLPs in generations 6 and 7, and in lower ones if both ends agree.
//!
//! Flits run back to back. A flit starts with 236 bytes for TLPs, in double words; 6 bytes of DLLP content, 8 of CRC
//! and 6 of FEC follow. TLPs lie behind one another, across flits where they do not fit. Double words without a TLP are
//! NOPs, so a direction sends flits whether or not it has TLPs. Source: PCI Express Base Specification 6.0.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Bytes of a double word, in which lengths of TLPs count.
pub const DOUBLE_WORD_BYTES: u64 = 4;
/// Bytes of a flit.
pub const FLIT_BYTES: u64 = 256;
/// Bytes of a flit that TLPs fill; the others are 6 of DLLP content, 8 of CRC and 6 of FEC.
pub const FLIT_TLP_BYTES: u64 = 236;
/// Double words of a flit that TLPs fill.
pub const FLIT_DOUBLE_WORDS: u64 = FLIT_TLP_BYTES / DOUBLE_WORD_BYTES;

/// Which double word a TLP takes that finds no other one waiting.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FlitEntry {
    /// The next one of the flit that is being sent.
    #[default]
    Running,
    /// The first one of the next flit: flits are filled before they are sent.
    Next,
}

impl FlitEntry {
    /// The first double word that is free once `sent_bytes` bytes of flits have been sent.
    pub const fn first_free(self, sent_bytes: u64) -> u64 {
        let (flit, sent) = (sent_bytes / FLIT_BYTES, sent_bytes % FLIT_BYTES);
        let within = match self {
            _ if sent >= FLIT_TLP_BYTES => FLIT_DOUBLE_WORDS,
            Self::Running => sent.div_ceil(DOUBLE_WORD_BYTES),
            Self::Next if sent > 0 => FLIT_DOUBLE_WORDS,
            Self::Next => 0,
        };
        flit * FLIT_DOUBLE_WORDS + within
    }
}

/// The flits of one direction, while TLPs are added. Double words count from the first flit's, and those of TLPs only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlitStream {
    entry: FlitEntry,
    next: u64,
}

impl FlitStream {
    /// A direction without TLPs so far.
    pub const fn new(entry: FlitEntry) -> Self {
        Self { entry, next: 0 }
    }

    /// The double word behind the last TLP.
    pub const fn next_double_word(&self) -> u64 {
        self.next
    }

    /// Adds a TLP that is ready once `sent_bytes` bytes of flits have been sent, behind the TLPs before it.
    #[inline]
    pub fn add(&mut self, sent_bytes: u64, double_words: u64) -> FlitSpan {
        let first = self.next.max(self.entry.first_free(sent_bytes));
        self.next = first.saturating_add(double_words);
        FlitSpan { first, end: self.next }
    }

    /// Leaves double words behind the last TLP to NOPs.
    #[inline]
    pub fn leave(&mut self, double_words: u64) {
        self.next = self.next.saturating_add(double_words);
    }
}

/// The double words of one TLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlitSpan {
    /// The first one.
    pub first: u64,
    /// The one behind the last.
    pub end: u64,
}

/// The double words of one TLP in one flit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlitPart {
    /// The flit.
    pub flit: u64,
    /// Its first double word with the TLP, 0 to 58.
    pub first: u64,
    /// How many.
    pub double_words: u64,
}

impl FlitSpan {
    /// Flits until the TLP is whole, from the first one on: its receiver can check it when they have arrived.
    #[inline]
    pub const fn flits_until_whole(&self) -> u64 {
        self.end.div_ceil(FLIT_DOUBLE_WORDS)
    }

    /// The parts of the TLP, flit by flit.
    pub fn parts(self) -> impl Iterator<Item = FlitPart> {
        let mut next = self.first;
        std::iter::from_fn(move || {
            let flit = next / FLIT_DOUBLE_WORDS;
            let end = self.end.min((flit + 1) * FLIT_DOUBLE_WORDS);
            let part =
                FlitPart { flit, first: next % FLIT_DOUBLE_WORDS, double_words: end.checked_sub(next)? };
            next = end;
            (part.double_words > 0).then_some(part)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tlp_joins_the_running_flit_or_waits_for_the_next() {
        for (sent_bytes, running, next) in [
            (0, 0, 0),
            (1, 1, 59),
            (4, 1, 59),
            (232, 58, 59),
            (233, 59, 59),
            (255, 59, 59),
            (256, 59, 59),
            (260, 60, 118),
        ] {
            assert_eq!(FlitEntry::Running.first_free(sent_bytes), running);
            assert_eq!(FlitEntry::Next.first_free(sent_bytes), next);
        }
    }

    #[test]
    fn tlps_lie_behind_one_another_and_across_flits() {
        let mut stream = FlitStream::new(FlitEntry::Running);
        assert_eq!(stream.add(0, 4), FlitSpan { first: 0, end: 4 });
        let completion = stream.add(0, 67);
        assert_eq!(completion.flits_until_whole(), 2);
        let parts: Vec<_> =
            completion.parts().map(|part| (part.flit, part.first, part.double_words)).collect();
        assert_eq!(parts, [(0, 4, 55), (1, 0, 12)]);
        stream.leave(3);
        assert_eq!(stream.add(0, 1).first, 74);
    }
}
