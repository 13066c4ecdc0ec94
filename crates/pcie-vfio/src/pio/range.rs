//! The part of a BAR that may be stored into: chosen by the user, mapped both ways, saved and restored.

use crate::obstacle;
use crate::options::range;
use crate::tree::{Bar, Function};
use crate::window::Window;
use pcie_refusal::Refusal;
use std::fs::OpenOptions;
use std::io;
use std::path::Path;

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
                Refusal::new("name the part of a BAR that may be stored into, --set device.range=BAR2:0+64K");
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

/// A mapped range, uncached and, if the kernel supports it, write-combining. Dropping restores its contents.
#[derive(Debug)]
pub(super) struct Range {
    uncached: Window,
    combining: Option<Window>,
    /// Offset of the range in the mappings.
    start: u64,
    bytes: u64,
    saved: Vec<u64>,
    /// Whether stores can be read back.
    pub(super) reads_back: bool,
}

impl Range {
    pub(super) fn open(function: &Function, part: Part) -> Result<Self, Refusal> {
        let first = part.start / PAGE * PAGE;
        let length = (part.start + part.bytes - first).next_multiple_of(PAGE);
        let map = |suffix: &str| {
            let path = function.folder.join(format!("resource{}{suffix}", part.bar));
            let file = OpenOptions::new().read(true).write(true).open(&path);
            let window = file.and_then(|file| Window::map(&file, first, length as usize));
            window.map_err(|error| refused(function, &path.display().to_string(), &error))
        };
        let has_combining = function.folder.join(format!("resource{}_wc", part.bar)).exists();
        let mut range = Self {
            uncached: map("")?,
            combining: has_combining.then(|| map("_wc")).transpose()?,
            start: part.start - first,
            bytes: part.bytes,
            saved: Vec::new(),
            reads_back: false,
        };
        range.saved = range.words().collect();
        range.reads_back = range.answers();
        Ok(range)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The mapping for stores of a kind, and the offset of the range in it.
    pub(super) fn window(&self, is_combining: bool) -> Option<(&Window, u64)> {
        let window = if is_combining { self.combining.as_ref()? } else { &self.uncached };
        Some((window, self.start))
    }

    pub(super) fn read(&self, offset: u64) -> u64 {
        self.uncached.read_long(self.start + offset).unwrap_or_default()
    }

    fn words(&self) -> impl Iterator<Item = u64> + '_ {
        (0..self.bytes).step_by(8).map(|offset| self.read(offset))
    }

    pub(super) fn clear(&self) {
        for offset in (0..self.bytes).step_by(8) {
            self.uncached.write_long(self.start + offset, 0);
        }
    }

    fn answers(&self) -> bool {
        let last = self.bytes - 8;
        let was = self.read(last);
        [!was, 0x0123_4567_89ab_cdef, was].iter().all(|value| {
            self.uncached.write_long(self.start + last, *value);
            self.read(last) == *value
        })
    }

    /// The first offset whose word differs from the expected one: offset, word, expected word.
    pub(super) fn differs(&self, expected: impl Iterator<Item = u64>) -> Option<(u64, u64, u64)> {
        let words = (0..self.bytes).step_by(8).zip(self.words()).zip(expected);
        words
            .map(|((offset, held), expected)| (offset, held, expected))
            .find(|(_, held, expected)| held != expected)
    }

    pub(super) fn restore(&self) {
        if self.reads_back {
            for (word, offset) in self.saved.iter().zip((self.start..).step_by(8)) {
                self.uncached.write_long(offset, *word);
            }
        }
    }
}

impl Drop for Range {
    fn drop(&mut self) {
        self.restore();
    }
}

fn refused(function: &Function, path: &str, error: &io::Error) -> Refusal {
    let address = function.address;
    match error.kind() {
        io::ErrorKind::PermissionDenied => obstacle::no_stores(address, Path::new(path)),
        // The kernel maps a BAR one way at a time, and a driver has already mapped it.
        io::ErrorKind::InvalidInput => obstacle::not_unbound(address, "a driver"),
        _ => obstacle::kernel(path.to_owned(), error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::Tree;
    use std::fs;

    /// A function with BAR 0 of 4 KiB, not prefetchable, and BAR 2 of 64 KiB, represented by files.
    fn function(directory: &tempfile::TempDir) -> Function {
        let folder = directory.path().join("sys/bus/pci/devices/0000:01:00.0");
        fs::create_dir_all(&folder).unwrap();
        let resource = "0xfe000000 0xfe000fff 0x40200\n0x0 0x0 0x0\n0xe0000000 0xe000ffff 0x14220c\n";
        for (name, content) in
            [("vendor", "0x1af4"), ("device", "0x1110"), ("class", "0x050000"), ("resource", resource)]
        {
            fs::write(folder.join(name), content).unwrap();
        }
        for name in ["resource2", "resource2_wc"] {
            fs::write(folder.join(name), [7; 65536]).unwrap();
        }
        Tree::at(directory.path()).function("01:00.0".parse().unwrap()).unwrap()
    }

    #[test]
    fn range_must_be_within_a_prefetchable_bar() {
        let directory = tempfile::tempdir().unwrap();
        let function = function(&directory);
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
        let directory = tempfile::tempdir().unwrap();
        let function = function(&directory);
        let range = Range::open(&function, Part { bar: 2, start: 4160, bytes: 128 }).unwrap();
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
}
