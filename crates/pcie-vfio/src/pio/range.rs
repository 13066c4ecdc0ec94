//! The part of a BAR that may be stored into: chosen by the user, mapped one way at a time, saved, restored.

use super::mapping::{Kind, Mapped, Pages};
use super::stores::fence;
use crate::options::range;
use crate::tree::{Bar, Function, Tree};
use crate::window::Window;
use pcie_refusal::Refusal;

/// Longest range, bytes: saving takes about a microsecond for each 8 bytes.
const RANGE_BYTES_MOST: u64 = 1 << 20;
const PAGE: u64 = 4096;

/// A part of a BAR.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) bar: u32,
    pub(super) start: u64,
    pub(super) bytes: u64,
}

impl Part {
    /// Parses `BAR2:0+64K` and checks it against the function's BARs.
    pub(super) fn named(text: Option<&str>, function: &Function) -> Result<Self, Refusal> {
        let bars = function.bars();
        let suitable: Vec<&Bar> = bars.iter().filter(|bar| bar.is_memory && bar.is_prefetchable).collect();
        let known = suitable.iter().map(|bar| format!("BAR{}, of {} bytes", bar.number, bar.bytes));
        let known = known.collect::<Vec<_>>().join(", ");
        let known = if known.is_empty() { "none" } else { &known };
        let remedy = format!("{} has these prefetchable BARs: {known}", function.address);
        let Some(text) = text else {
            let refusal =
                Refusal::new("name the part of a BAR that may be stored into, --set device.range=BAR2:0+64K")
                    .kind(pcie_refusal::Kind::Missing);
            return Err(refusal.key("device.range").remedy(remedy));
        };
        let refusal = |remedy: String| Refusal::of("device.range", text, remedy);
        let parsed = || {
            let (bar, extent) = text.strip_prefix("BAR")?.split_once(':')?;
            let (start, bytes) = range(extent)?;
            Some(Self { bar: bar.parse().ok()?, start, bytes })
        };
        let part = parsed()
            .ok_or_else(|| refusal("give a BAR, a start and a length, for example BAR2:0+64K".into()))?;
        let Some(bar) = bars.iter().find(|bar| bar.number == part.bar) else {
            return Err(refusal(remedy).problem(format!("there is no BAR{}", part.bar)));
        };
        if !bar.is_memory || !bar.is_prefetchable {
            let reason = "is not prefetchable: stores into it may do anything, and are not combined";
            return Err(refusal(remedy).problem(format!("BAR{} {reason}", part.bar)));
        }
        if part.start + part.bytes > bar.bytes {
            return Err(refusal(format!("lies outside BAR{}, which has {} bytes", part.bar, bar.bytes)));
        }
        if !part.start.is_multiple_of(64) || !part.bytes.is_multiple_of(64) || part.bytes > RANGE_BYTES_MOST {
            return Err(refusal(format!("give whole lines of 64 bytes, {RANGE_BYTES_MOST} bytes at most")));
        }
        Ok(part)
    }
}

/// A mapped range, with one mapping at a time. Dropping restores its contents.
#[derive(Debug)]
pub(super) struct Range {
    pages: Pages,
    /// None only after a mapping has failed.
    mapped: Option<Mapped>,
    /// Offset of the range in the mapping.
    start: u64,
    bytes: u64,
    saved: Vec<u64>,
    /// Whether stores can be read back.
    pub(super) reads_back: bool,
}

impl Range {
    /// Maps a part of a BAR uncached, and saves its contents.
    pub(super) fn open(tree: &Tree, function: &Function, part: Part) -> Result<Self, Refusal> {
        let first = part.start / PAGE * PAGE;
        let bytes = (part.start + part.bytes - first).next_multiple_of(PAGE);
        let pages = Pages { tree: tree.clone(), function: function.clone(), bar: part.bar, first, bytes };
        let mapped = Some(pages.map(Kind::Uncached)?);
        let start = part.start - first;
        let mut range =
            Self { pages, mapped, start, bytes: part.bytes, saved: Vec::new(), reads_back: false };
        range.saved = range.words().collect();
        range.reads_back = range.answers();
        Ok(range)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether the kernel has a file for write-combining mappings of this BAR.
    pub(super) fn can_combine(&self) -> bool {
        self.pages.path(Kind::WriteCombining).exists()
    }

    /// Replaces the mapping by one of a kind. If the kernel refuses it, the previous one is made again.
    pub(super) fn map(&mut self, kind: Kind) -> Result<&Mapped, Refusal> {
        let mapped = match self.mapped.take() {
            Some(mapped) if mapped.kind == kind => mapped,
            other => {
                let before = other.as_ref().map(|other| other.kind);
                drop(other);
                self.pages.map(kind).inspect_err(|_| {
                    self.mapped = before.and_then(|before| self.pages.map(before).ok());
                })?
            }
        };
        Ok(self.mapped.insert(mapped))
    }

    /// Who else maps the BAR, and the remedy.
    pub(super) fn end_other_mappers(&self) -> String {
        self.pages.end_other_mappers()
    }

    /// The mapping, and the offset of the range in it.
    pub(super) fn window(&self) -> Option<(&Window, u64)> {
        self.mapped.as_ref().map(|mapped| (&mapped.window, self.start))
    }

    pub(super) fn read(&self, offset: u64) -> u64 {
        self.window().and_then(|(window, start)| window.read_long(start + offset)).unwrap_or_default()
    }

    fn write(&self, offset: u64, word: u64) {
        if let Some((window, start)) = self.window() {
            window.write_long(start + offset, word);
        }
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.bytes).step_by(8).map(|offset| self.read(offset))
    }

    /// Writes words from the start on, and waits until the device has them.
    fn fill(&self, words: impl Iterator<Item = u64>) {
        (0..self.bytes).step_by(8).zip(words).for_each(|(offset, word)| self.write(offset, word));
        fence();
        // A read follows earlier stores on the link.
        std::hint::black_box(self.read(0));
    }

    pub(super) fn clear(&self) {
        self.fill(std::iter::repeat(0));
    }

    fn answers(&self) -> bool {
        let last = self.bytes - 8;
        let was = self.read(last);
        [!was, 0x0123_4567_89ab_cdef, was].iter().all(|value| {
            self.write(last, *value);
            fence();
            self.read(last) == *value
        })
    }

    /// The first offset whose word differs from the expected one: offset, word, expected word.
    pub(super) fn differs(&self, expected: impl Iterator<Item = u64>) -> Option<(u64, u64, u64)> {
        // Stores may still be in write-combining buffers.
        fence();
        let words = (0..self.bytes).step_by(8).zip(self.words()).zip(expected);
        words
            .map(|((offset, held), expected)| (offset, held, expected))
            .find(|(_, held, expected)| held != expected)
    }

    pub(super) fn restore(&self) {
        if self.reads_back {
            self.fill(self.saved.iter().copied());
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        if self.mapped.is_none() {
            self.mapped =
                [Kind::Uncached, Kind::WriteCombining].iter().find_map(|kind| self.pages.map(*kind).ok());
        }
        self.restore();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pio::mapping::tests::{machine, mapped};
    use std::fs;

    const PART: Part = Part { bar: 2, start: 4160, bytes: 128 };

    #[test]
    fn range_must_be_within_a_prefetchable_bar() {
        let (_directory, _, function) = machine();
        assert_eq!(Part::named(Some("BAR2:4K+1K"), &function), Ok(Part { bar: 2, start: 4096, bytes: 1024 }));
        for (text, named) in [
            (None, "device.range=BAR2:0+64K: 0000:01:00.0 has these prefetchable BARs: BAR2, of 65536 bytes"),
            (Some("2:0+64K"), "give a BAR, a start and a length"),
            (Some("BAR2:0"), "give a BAR, a start and a length"),
            (Some("BAR1:0+64"), "there is no BAR1: 0000:01:00.0 has"),
            (Some("BAR0:0+64"), "BAR0 is not prefetchable"),
            (Some("BAR2:64+64K"), "lies outside BAR2, which has 65536 bytes"),
            (Some("BAR2:8+64"), "give whole lines of 64 bytes"),
        ] {
            let error = Part::named(text, &function).unwrap_err().to_string();
            assert!(error.starts_with("device.range") && error.contains(named), "{error}");
        }
    }

    #[test]
    fn range_is_restored_and_the_rest_untouched() {
        let (_directory, tree, function) = machine();
        let range = Range::open(&tree, &function, PART).unwrap();
        assert!(range.reads_back);
        range.clear();
        assert_eq!(range.differs(std::iter::repeat(0)), None);
        assert_eq!(range.differs([0, 0, 1].into_iter()), Some((16, 0, 1)));
        let held = fs::read(function.folder.join("resource2")).unwrap();
        assert!(held[..4160].iter().chain(&held[4288..]).all(|byte| *byte == 7));
        assert!(held[4160..4288].iter().all(|byte| *byte == 0));
        drop(range);
        assert_eq!(fs::read(function.folder.join("resource2")).unwrap(), [7; 65536]);
    }

    #[test]
    fn one_mapping_exists_at_a_time_and_any_restores() {
        for last in [Kind::Uncached, Kind::WriteCombining] {
            let (_directory, tree, function) = machine();
            let mut range = Range::open(&tree, &function, PART).unwrap();
            assert_eq!(mapped(&function), ["resource2"]);
            for (kind, file) in [(Kind::WriteCombining, "resource2_wc"), (Kind::Uncached, "resource2")] {
                assert_eq!(range.map(kind).unwrap().kind, kind);
                assert_eq!(mapped(&function), [file]);
            }
            range.map(last).unwrap();
            range.clear();
            assert_eq!(range.differs(std::iter::repeat(0)), None);
            drop(range);
            assert_eq!(mapped(&function), [""; 0]);
            assert_eq!(fs::read(function.folder.join("resource2")).unwrap(), [7; 65536]);
        }
    }

    #[test]
    fn range_is_restored_although_a_mapping_fails() {
        let (_directory, tree, function) = machine();
        let [uncached, combining, away] =
            ["resource2", "resource2_wc", "away"].map(|name| function.folder.join(name));
        let mut range = Range::open(&tree, &function, PART).unwrap();
        range.clear();
        fs::remove_file(&combining).unwrap();
        let error = range.map(Kind::WriteCombining).unwrap_err().to_string();
        assert!(error.contains("resource2_wc: "), "{error}");
        assert_eq!(mapped(&function), ["resource2"]);
        assert_eq!(range.differs(std::iter::repeat(0)), None);
        fs::rename(&uncached, &away).unwrap();
        assert!(range.map(Kind::WriteCombining).is_err());
        assert_eq!((mapped(&function), range.read(0)), (vec![], 0));
        fs::rename(&away, &uncached).unwrap();
        drop(range);
        assert_eq!(fs::read(&uncached).unwrap(), [7; 65536]);
    }
}
