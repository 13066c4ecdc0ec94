//! Rules of the transaction layer that a capture can break.
//!
//! Source: PCI Express Base Specification, sections 2.2.2 (lengths), 2.2.5 (byte enables), 2.2.7 (4 KiB), 2.2.9 and
//! 2.3.1.1 (completions).

use crate::transaction::Range;
use pcie_capture::{Direction, Kind, Tlp};
use pcie_wire::PAGE_BYTES;
use serde::Serialize;
use std::collections::BTreeMap;

/// Violations of all rules together that are kept one by one; the others are counted.
const KEPT_MOST: usize = 200;
/// Violations of one rule that are kept.
const KEPT_OF_A_RULE: u64 = 20;

/// A rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// No memory request crosses a multiple of 4 KiB.
    Page,
    /// No packet has more data than MPS.
    Mps,
    /// No read asks for more than MRRS.
    Mrrs,
    /// A tag is unique among the requests in flight.
    TagReuse,
    /// A completion belongs to a request in flight.
    UnexpectedCompletion,
    /// Every request gets its completions.
    MissingCompletion,
    /// Completions but the last end at a multiple of RCB.
    Rcb,
    /// The byte count of a completion is the rest of its request.
    ByteCount,
    /// The lower address of a completion is that of its first byte.
    LowerAddress,
    /// Byte enables fit the length, and have holes only where the specification allows them.
    ByteEnables,
    /// Addresses below 4 GiB use the header with 3 double words.
    WideAddress,
    /// I/O and configuration requests have one double word.
    Length,
    /// A packet carries the data that its header announces.
    Data,
}

impl Rule {
    /// Its name.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Page => "4-kib",
            Self::Mps => "mps",
            Self::Mrrs => "mrrs",
            Self::TagReuse => "tag-reuse",
            Self::UnexpectedCompletion => "unexpected-completion",
            Self::MissingCompletion => "missing-completion",
            Self::Rcb => "rcb",
            Self::ByteCount => "byte-count",
            Self::LowerAddress => "lower-address",
            Self::ByteEnables => "byte-enables",
            Self::WideAddress => "wide-address",
            Self::Length => "length",
            Self::Data => "data",
        }
    }
}

/// A broken rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The rule.
    pub rule: &'static str,
    /// Record of the packet.
    pub record: u64,
    /// What is wrong.
    pub detail: String,
}

/// Broken rules: their counts, and the first of each.
#[derive(Clone, Debug, Default)]
pub struct Violations {
    counts: BTreeMap<Rule, u64>,
    kept: Vec<Violation>,
}

impl Violations {
    /// Adds one.
    pub fn add(&mut self, rule: Rule, record: u64, detail: impl FnOnce() -> String) {
        let count = self.counts.entry(rule).or_default();
        *count += 1;
        if *count <= KEPT_OF_A_RULE && self.kept.len() < KEPT_MOST {
            self.kept.push(Violation { rule: rule.word(), record, detail: detail() });
        }
    }

    /// Takes back a rule that the capture cannot show.
    pub fn forget(&mut self, rule: Rule) {
        self.counts.remove(&rule);
        self.kept.retain(|violation| violation.rule != rule.word());
    }

    /// How often each rule is broken.
    #[must_use]
    pub fn counts(&self) -> &BTreeMap<Rule, u64> {
        &self.counts
    }

    /// The first ones of each rule, in the order of records.
    #[must_use]
    pub fn into_kept(mut self) -> Vec<Violation> {
        self.kept.sort_by_key(|violation| violation.record);
        self.kept
    }
}

/// Limits that the user states; a capture alone shows only what was used of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct StatedLimits {
    /// Maximum Payload Size, bytes.
    pub mps_bytes: Option<u32>,
    /// Maximum Read Request Size, bytes.
    pub mrrs_bytes: Option<u32>,
    /// Read Completion Boundary, bytes.
    pub rcb_bytes: Option<u32>,
}

/// Checks what one packet shows alone.
pub(crate) fn check_packet(
    tlp: &Tlp,
    record: u64,
    range: Option<Range>,
    limits: &StatedLimits,
    found: &mut Violations,
) {
    let length = u32::from(tlp.length_dw);
    let memory = matches!(
        tlp.kind,
        Kind::MemoryRead | Kind::MemoryReadLocked | Kind::MemoryWrite | Kind::DeferrableWrite
    );
    if let (true, Some(address)) = (memory, tlp.address) {
        let start = (address & !3) % u64::from(PAGE_BYTES);
        if start + 4 * u64::from(length) > u64::from(PAGE_BYTES) {
            found.add(Rule::Page, record, || {
                format!("{length} double words from {address:#x} cross a multiple of 4 KiB")
            });
        }
        if tlp.wide == Some(true) && range.is_some_and(|range| range.address >> 32 == 0) {
            found.add(Rule::WideAddress, record, || {
                format!("{address:#x} is below 4 GiB and has a header of 4 double words")
            });
        }
    }
    if let Some(mps) = limits.mps_bytes.filter(|mps| tlp.data_bytes > *mps) {
        found.add(Rule::Mps, record, || format!("{} bytes of data: MPS is {mps}", tlp.data_bytes));
    }
    if let Some(mrrs) = limits.mrrs_bytes.filter(|mrrs| tlp.kind == Kind::MemoryRead && 4 * length > *mrrs) {
        found.add(Rule::Mrrs, record, || format!("reads {} bytes: MRRS is {mrrs}", 4 * length));
    }
    let single = matches!(
        tlp.kind,
        Kind::IoRead | Kind::IoWrite | Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. }
    );
    if single && length != 1 {
        found.add(Rule::Length, record, || format!("length is {length} double words: 1 is allowed"));
    }
    if let (true, Some(first), Some(last)) = (memory || single, tlp.first_enables, tlp.last_enables)
        && let Some(problem) = wrong_enables(length, first & 15, last & 15, tlp.address.unwrap_or(0))
    {
        found.add(Rule::ByteEnables, record, || {
            format!("length {length}, byte enables {first:04b} and {last:04b}: {problem}")
        });
    }
}

/// Why byte enables do not fit a length (section 2.2.5).
fn wrong_enables(length: u32, first: u8, last: u8, address: u64) -> Option<&'static str> {
    if length <= 1 {
        return (last != 0).then_some("the last ones must be 0000 for one double word");
    }
    if first == 0 || last == 0 {
        return Some("neither may be 0000 for several double words");
    }
    // Requests of two double words at a multiple of 8 may have holes; longer ones are contiguous.
    if length == 2 && address.is_multiple_of(8) {
        return None;
    }
    let contiguous =
        [0b1111, 0b1110, 0b1100, 0b1000].contains(&first) && [0b1111, 0b0111, 0b0011, 0b0001].contains(&last);
    (!contiguous).then_some("holes are not allowed")
}

/// The other way.
pub(crate) fn opposite(direction: Direction) -> Direction {
    match direction {
        Direction::Upstream => Direction::Downstream,
        Direction::Downstream => Direction::Upstream,
    }
}
