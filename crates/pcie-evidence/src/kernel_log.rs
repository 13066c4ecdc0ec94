//! Read what a kernel's log says about PCIe: errors, links that go down, BARs without addresses, lost devices.
//!
//! The lines may stand anywhere in a text, with or without their times. Lines that say the same of one function are
//! counted as one event. I/O ports that find no space are left out: nearly every machine has some, and nothing needs
//! them.

use indexmap::IndexMap;
use pcie_refusal::Unfinished;
use regex::Regex;

use crate::letters::{first_letters, printable, trim};
use crate::pattern::{Pattern, compiled, first_group};
use crate::stop::Stop;
use crate::tree::{LogEvent, LogKind};

const EVENTS_MOST: usize = 256;
const LETTERS_MOST: usize = 300;
/// Lines with a time from which a text is a kernel's log.
const LINES_LEAST: usize = 2;

static SLOT: Pattern = Pattern::new(|| {
    compiled(r"(?i)\b(?:PCI:)?(?P<device>[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2})(?P<function>\.[0-7])?")
});
static REPORTED: Pattern = Pattern::new(|| {
    let before = r"received: |from |source:|device \[?|device=";
    compiled(&format!(r"(?i)(?:{before})((?:[0-9a-f]{{4,8}}:)?[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7])"))
});
static TIME: Pattern = Pattern::new(|| {
    let of_boot = r"^.{0,80}?\[ {0,6}[0-9]{1,9}\.[0-9]{3,9}\](?:\[[^\]]{1,12}\])? ";
    let of_day = r"^[A-Za-z]{3} +[0-9]{1,2} [0-9:]{8} \S+ kernel: ";
    compiled(&format!("{of_boot}|{of_day}"))
});
static BAR: Pattern = Pattern::new(|| compiled(r"\b(BAR [0-9]{1,2}|bridge window)\b"));
static WITHOUT_SPACE: Pattern = Pattern::new(|| compiled(r"(?i)(?:BAR [0-9]{1,2}|bridge window)\b"));
static NO_SPACE: Pattern = Pattern::new(|| compiled("(?i)no space|failed to assign|can't claim"));
static OUT_OF_SPACE: Pattern = Pattern::new(|| compiled("(?i)Not enough PCI address space"));
static IO_PORTS: Pattern = Pattern::new(|| compiled(r"(?i)\[io"));
static HINT: Pattern = Pattern::new(|| {
    let words = [
        "bus|DPC|AER|severity=|pciehp|retrain|downstream link|available PCIe|BAR [0-9]|bridge window|address space|",
        "atomic|controller is down|GPU init|GPU reset|WATCHDOG|timeout|FAULT|DMAR|inaccessible|giving up|Xid|0xffff",
    ];
    compiled(&format!("(?i){}", words.concat()))
});
/// What a line says, in the order in which it is tried.
static KINDS: std::sync::LazyLock<Vec<(LogKind, Option<Regex>)>> = std::sync::LazyLock::new(|| {
    let of = |kind, pattern: &str| (kind, Some(compiled(&format!("(?i){pattern}"))));
    vec![
        of(
            LogKind::OffBus,
            r"fallen off the bus|inaccessible\)|device inaccessible|CSTS=0xffffffff|PCI_STATUS=0xffff|not ready [0-9]+ms after [^;]*; giving up|Xid \([^)]*\): 79\b",
        ),
        of(LogKind::Contained, "DPC: containment event|DPC: unmasked uncorrectable error"),
        of(
            LogKind::UncorrectedError,
            r"AER: (?:Multiple )?Uncorrect(?:ed|able)|severity=Uncorrect(?:ed|able)",
        ),
        of(
            LogKind::CorrectedError,
            r"AER: (?:Multiple )?Correct(?:ed|able) error|severity=Correct(?:ed|able)",
        ),
        of(LogKind::LinkDown, r"pciehp: Slot\([^)]*\): Link Down"),
        of(
            LogKind::RetrainFailed,
            r"retraining non-functional downstream link|retraining failed|removing 2\.5GT/s downstream link speed restriction",
        ),
        of(LogKind::BandwidthLimited, "available PCIe bandwidth, limited by"),
        (LogKind::NoSpace, None),
        of(LogKind::NoAtomics, "PCIE? atomic ops? (?:is|are) not supported|PCI rejects atomics"),
        of(
            LogKind::DeviceStopped,
            r"nvme[0-9]*: controller is down; will reset|NETDEV WATCHDOG: .*timed out|nvme[0-9]*: I/O (?:tag )?[0-9]+ .*timeout|Fatal error during GPU init|GPU reset begin",
        ),
        of(LogKind::AddressFault, r"IO_PAGE_FAULT|DMAR: \[DMA (?:Read|Write)"),
    ]
});

/// Kind, function and BAR of events that are counted as one.
type Subject = (LogKind, Option<String>, Option<String>);

/// The events of a text, in its order; those that a later line takes back are left out.
pub(crate) fn log_events(text: &str, stop: Stop<'_>) -> Result<Vec<LogEvent>, Unfinished> {
    let mut events: IndexMap<Subject, LogEvent> = IndexMap::new();
    for (index, line) in text.split('\n').enumerate() {
        stop.check_at(index)?;
        if HINT.is_match(line) {
            take(&mut events, index + 1, first_letters(line, LETTERS_MOST));
        }
    }
    let mut found: Vec<_> = events.into_values().collect();
    found.sort_by_key(|event| event.line);
    Ok(found)
}

/// Whether a text has lines with the times of a kernel's log.
pub(crate) fn is_kernel_log(text: &str) -> bool {
    let timed = text.split('\n').filter(|line| TIME.is_match(line.trim_start_matches(['>', ' '])));
    timed.take(LINES_LEAST).count() == LINES_LEAST
}

fn take(events: &mut IndexMap<Subject, LogEvent>, number: usize, line: &str) {
    let said = trim(line.trim_start_matches(['>', ' ', '\t']));
    let said = printable(trim(&TIME.replace(said, ""))).into_owned();
    let (bar, slot) = (first_group(&BAR, line).map(str::to_owned), slot(line));
    let Some(kind) = kind(line) else {
        if bar.is_some() && said.ends_with(": assigned") {
            events.shift_remove(&(LogKind::NoSpace, slot, bar));
        }
        return;
    };
    // A later line may say that the BAR got its space after all; not so if the kernel could not claim what was set.
    let retried = kind == LogKind::NoSpace && !line.contains("can't claim");
    let key = (kind, slot.clone(), bar.filter(|_| retried));
    if let Some(known) = events.get_mut(&key) {
        known.count += 1;
    } else if events.len() < EVENTS_MOST {
        events.insert(key, LogEvent { kind, slot, text: said, line: number, count: 1 });
    }
}

fn kind(line: &str) -> Option<LogKind> {
    let says = |pattern: &Option<Regex>| {
        pattern.as_ref().map_or_else(|| lacks_space(line), |one| one.is_match(line))
    };
    KINDS.iter().find(|(_, pattern)| says(pattern)).map(|(kind, _)| *kind)
}

/// Whether a BAR or window of memory found no addresses.
fn lacks_space(line: &str) -> bool {
    let lacks = |window: regex::Match<'_>| {
        let rest = &line[window.end()..];
        !IO_PORTS.is_match(rest) && NO_SPACE.is_match(rest)
    };
    WITHOUT_SPACE.find_iter(line).any(lacks) || OUT_OF_SPACE.is_match(line)
}

fn slot(line: &str) -> Option<String> {
    let found = first_group(&REPORTED, line).or_else(|| plain_slot(line))?.to_ascii_lowercase();
    let slot = if found.matches(':').count() == 2 { found } else { format!("0000:{found}") };
    let (domain, rest) = slot.split_once(':')?;
    // NVIDIA's driver writes a domain of eight digits, and no function.
    let domain = domain.strip_prefix("0000").filter(|domain| domain.len() == 4).unwrap_or(domain);
    Some(if rest.contains('.') { format!("{domain}:{rest}") } else { format!("{domain}:{rest}.0") })
}

/// The first slot that ends there: no letter or digit follows, nor a colon or the number of a function a device.
fn plain_slot(line: &str) -> Option<&str> {
    let mut from = 0;
    while let Some(found) = SLOT.captures_at(line, from) {
        let (whole, device) = (found.get(0)?, found.name("device")?);
        let function = found.name("function").map(|function| function.end());
        let end = function.unwrap_or(device.end());
        if !goes_on(&line[end..], function.is_some()) {
            return Some(&line[device.start()..end]);
        }
        from = whole.start() + line[whole.start()..].chars().next().map_or(1, char::len_utf8);
    }
    None
}

fn goes_on(rest: &str, has_function: bool) -> bool {
    let number = rest.strip_prefix('.').is_some_and(|number| number.starts_with(is_word));
    rest.starts_with(is_word) || (!has_function && (rest.starts_with(':') || number))
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<(LogKind, Option<String>)> {
        log_events(text, Stop::NEVER).unwrap().into_iter().map(|event| (event.kind, event.slot)).collect()
    }

    #[test]
    fn each_kind_of_line_is_found() {
        let at = |slot: &str| Some(slot.to_owned());
        for (line, kind, slot) in [
            (
                "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.",
                LogKind::OffBus,
                at("0000:41:00.0"),
            ),
            (
                "pcieport 0000:40:01.1: DPC: containment event, status:0x1f01",
                LogKind::Contained,
                at("0000:40:01.1"),
            ),
            (
                "pcieport 0000:00:01.0: AER: Uncorrectable (Fatal) error message received from 0000:01:00.0",
                LogKind::UncorrectedError,
                at("0000:01:00.0"),
            ),
            (
                "pcieport 0000:00:1c.5: AER: Corrected error received: 0000:00:1c.5",
                LogKind::CorrectedError,
                at("0000:00:1c.5"),
            ),
            ("pcieport 0000:00:01.0: pciehp: Slot(1): Link Down", LogKind::LinkDown, at("0000:00:01.0")),
            ("pci 0000:02:03.0: retraining failed", LogKind::RetrainFailed, at("0000:02:03.0")),
            (
                "mlx5_core 0000:01:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8 link",
                LogKind::BandwidthLimited,
                at("0000:01:00.0"),
            ),
            (
                "pci 0000:01:00.0: BAR 1: no space for [mem size 0x10000000 64bit pref]",
                LogKind::NoSpace,
                at("0000:01:00.0"),
            ),
            ("amdgpu 0000:01:00.0: PCIE atomic ops is not supported", LogKind::NoAtomics, at("0000:01:00.0")),
            ("nvme nvme0: controller is down; will reset: CSTS=0x3", LogKind::DeviceStopped, None),
            (
                "DMAR: [DMA Read] Request device [03:00.0] fault addr 0",
                LogKind::AddressFault,
                at("0000:03:00.0"),
            ),
        ] {
            assert_eq!(kinds(&format!("[    1.234567] {line}")), [(kind, slot)], "{line}");
        }
    }

    #[test]
    fn equal_lines_are_counted_and_their_time_is_dropped() {
        let line = "[    1.234567] pcieport 0000:00:1c.5: AER: Corrected error received: 0000:00:1c.5";
        let events = log_events(&format!("{line}\n{line}\n"), Stop::NEVER).unwrap();
        assert_eq!((events.len(), events[0].count, events[0].line), (1, 2, 1));
        assert!(events[0].text.starts_with("pcieport 0000:00:1c.5: AER"), "{}", events[0].text);
    }

    #[test]
    fn a_bar_that_gets_its_space_later_is_no_event() {
        let failed = "pci 0000:01:00.0: BAR 1: no space for [mem size 0x1000]";
        let ports = "pci 0000:01:00.0: BAR 2: no space for [io size 0x1000]";
        assert_eq!(kinds(&format!("{failed}\npci 0000:01:00.0: BAR 0: assigned\n")).len(), 1);
        assert!(kinds(&format!("{failed}\npci 0000:01:00.0: BAR 1 [mem 0x1-0x2]: assigned\n")).is_empty());
        assert!(kinds(ports).is_empty());
    }

    #[test]
    fn a_slot_that_goes_on_is_no_slot() {
        assert_eq!(plain_slot("aer 0000:01:00.1:pcie004 at 0000:02:00.0"), Some("0000:01:00.1"));
        assert_eq!(plain_slot("0000:01:00:0 PCI:0000:41:00."), Some("0000:41:00"));
        assert_eq!(plain_slot("0000:01:00x and 0000:01:00.9"), None);
    }

    #[test]
    fn two_times_make_a_log() {
        assert!(is_kernel_log("[    0.000000] a\n> [    1.000000] b"));
        assert!(is_kernel_log("Jan  1 10:00:00 host kernel: a\nJan  1 10:00:01 host kernel: b"));
        assert!(!is_kernel_log("[    0.000000] a\nb"));
    }
}
