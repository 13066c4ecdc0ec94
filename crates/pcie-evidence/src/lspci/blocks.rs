//! Find the functions in a text of lspci, whatever surrounds them.
//!
//! No register may end up under another function than its own. So a function ends at a blank line, at a prompt, at any
//! line that starts with a slot, and where a register comes that it already has, as after a lost header. Registers
//! without a header belong to an unnamed function, or to the slot that the command before them names.

use std::collections::{HashMap, HashSet};

use pcie_refusal::{Kind, Refusal, Unfinished};
use regex::Captures;

use super::COMMAND;
use super::copied::as_printed;
use super::registers::{is_hex, is_register, registers, space};
use crate::letters::{first_letters, is_blank, printable, trim};
use crate::pattern::{Pattern, SLOT, compiled, first_group};
use crate::stop::Stop;
use crate::tree::UNNAMED_DOMAIN;

/// The title of a function without a header.
pub(super) const NO_HEADER: &str = "(no header)";
const LINES_MOST: usize = 1_000_000;
const LETTERS_MOST: usize = 4096;
/// Lines that may continue a header; a forum that shows 20 letters a line needs ten.
const WRAPPED_MOST: usize = 16;
/// Lines on each side of a blank one, and the share of blank ones above which they say nothing.
const AROUND_LINES: usize = 8;
const BLANK_MOST: f64 = 0.32;

static HEADER: Pattern = Pattern::new(|| {
    let path = format!(
        r"(?:{SLOT}|[0-9a-f]{{2}}:[0-9a-f]{{2}}\.[0-7])/(?:(?:[0-9a-f]{{2}}:)?[0-9a-f]{{2}}\.[0-7]/)*"
    );
    let slot = r"(?:(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:)?[0-9a-f]{2}\.[0-7]";
    compiled(&format!(r"^(?P<path>{path})?(?P<slot>{slot}) (?P<title>\S.*)"))
});
static TITLE: Pattern = Pattern::new(|| {
    compiled(r#"^(?:(?:(?:[A-Z]|3D )[^:]{1,90}|[0-9a-f]{4}|Class [0-9a-f]{4}):(?:\s|$)|"[^"]{1,90}" ")"#)
});
static STARTS_WITH_SLOT: Pattern = Pattern::new(|| compiled(&format!(r"^(?:{SLOT}/?)+(?:\s|$)")));
static LSPCI: Pattern =
    Pattern::new(|| compiled(r"(?:^|[$#%>] *)(?:sudo +)?\S*(?:lspci|setpci)\b(?P<options>.*)"));
static SELECTED: Pattern =
    Pattern::new(|| compiled(r"(?i)-s *((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])\b"));
static PROMPT: Pattern = Pattern::new(|| {
    compiled(r"^(?:\[?[\w.-]+@[\w.-]+[^$#\n]{0,60}|[~/][^$#\n]{0,40}|)[$#] +(?:sudo +)?[a-z./]")
});
/// What a function has once: a second one belongs to another function, whose header is lost.
static ONCE: Pattern =
    Pattern::new(|| {
        compiled(&[
        r"^\s*(Control: I/O|Status: Cap[+-]|Bus: primary=|Kernel driver in use:|DeviceName:|",
        r"Flags: (?:bus master|fast devsel|medium devsel|slow devsel|66MHz|VGA palette|user-definable)|",
        r"Capabilities: \[[0-9a-f]{2,3}\] Express|",
        r"(?:DevCap|DevCtl|LnkCap|LnkCtl|LnkSta|DevCap2|DevCtl2|LnkCtl2|CESta|UESta|ACSCtl):)",
    ]
    .concat())
    });
static INSIDE: Pattern = Pattern::new(|| {
    compiled(&[
        r"^\s*(?:Control: I/O|Status: Cap|Bus: primary=|Capabilities: \[|Region \d: |Kernel driver in use:|",
        r"Flags: (?:bus master|fast devsel)|NUMA node: |IOMMU group: |Interrupt: pin |Latency: \d|",
        r"(?:I/O|Memory|Prefetchable memory) behind bridge: )",
    ]
    .concat())
});
static KEY: Pattern =
    Pattern::new(|| compiled(r"^(?:\s*[A-Z!](?:[A-Za-z0-9_!/ -]|[^\x00-\x7f]){1,40}: |\s*[A-Z]\w+:$)"));
static QUOTED: Pattern = Pattern::new(|| compiled("\"([^\"]*)\""));
static SECONDARY: Pattern = Pattern::new(|| compiled(r"\bsecondary=([0-9a-f]{2}),"));
static PRIMARY: Pattern = Pattern::new(|| compiled("Bus: primary=([0-9a-f]{2})"));
static WHOLE: Pattern = Pattern::new(|| compiled(r"\(prog-if [^)]*\)$"));

/// What a text shows of one function.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    /// Domain, bus, device and function as shown; made up for an unnamed function.
    pub(super) slot: String,
    /// Class and name; [`NO_HEADER`] for an unnamed function.
    pub(super) title: String,
    /// Its lines.
    pub(super) text: String,
    /// Its first line.
    pub(super) line: usize,
    /// Text of each decoded register.
    pub(super) registers: HashMap<String, String>,
    /// The start of its configuration space, from a hex dump.
    pub(super) space: Vec<u8>,
}

impl Block {
    pub(super) fn new(slot: String, title: String, text: String, line: usize) -> Self {
        let registers = registers(text.split('\n').skip(1));
        let space = space(text.split('\n').skip(1));
        Self { slot, title, text, line, registers, space }
    }

    /// Whether the text does not show its slot.
    pub(super) fn is_unnamed(&self) -> bool {
        self.slot.starts_with(UNNAMED_DOMAIN)
    }

    /// Whether it shows more than a header.
    pub(super) fn is_rich(&self) -> bool {
        !self.registers.is_empty() || !self.space.is_empty()
    }

    /// The text of a register; empty if it is not shown.
    pub(super) fn register(&self, name: &str) -> &str {
        self.registers.get(name).map_or("", String::as_str)
    }
}

/// Every function of a text, in its order; a slot may come several times.
///
/// # Errors
/// The text is too long, or the reading was stopped.
pub(super) fn blocks(text: &str, stop: Stop<'_>) -> Result<Vec<Block>, Unfinished> {
    if text.matches('\n').count() > LINES_MOST {
        let remedy = format!("give the output of `{COMMAND}` on one machine");
        let refusal = Refusal::new(format!("more than {LINES_MOST} lines")).remedy(remedy);
        return Err(refusal.kind(Kind::TooLarge).into());
    }
    let text = as_printed(text, stop)?;
    let lines: Vec<_> = text.split('\n').map(|line| first_letters(line, LETTERS_MOST)).collect();
    Finder { lines, ..Finder::default() }.found(stop)
}

/// A function while its lines are collected.
struct Open<'a> {
    line: usize,
    slot: Option<String>,
    path: Option<&'a str>,
    lines: Vec<&'a str>,
    marks: HashSet<&'a str>,
}

impl<'a> Open<'a> {
    fn new(line: usize, slot: Option<String>, path: Option<&'a str>, first: &'a str) -> Self {
        Self { line, slot, path, lines: vec![first], marks: HashSet::new() }
    }
}

/// Walks through the lines; `block` is the open function, `selected` the slot that the last command names.
#[derive(Default)]
struct Finder<'a> {
    lines: Vec<&'a str>,
    closed: Vec<Open<'a>>,
    block: Option<Open<'a>>,
    selected: Option<String>,
}

impl<'a> Finder<'a> {
    fn found(mut self, stop: Stop<'_>) -> Result<Vec<Block>, Unfinished> {
        for index in 0..self.lines.len() {
            stop.check_at(index)?;
            let line = self.lines[index];
            if !is_blank(line) {
                self.take(index, line);
            } else if !self.is_double_spaced(index) {
                self.close();
            }
        }
        self.close();
        named(self.closed, stop)
    }

    fn take(&mut self, index: usize, line: &'a str) {
        let number = index + 1;
        if let Some(header) = self.header(index, line) {
            self.close();
            self.selected = None;
            let path = header.name("path").map(|path| path.as_str());
            self.block = Some(Open::new(number, Some(header["slot"].to_owned()), path, line));
        } else if STARTS_WITH_SLOT.is_match(line) {
            // A header that is not understood: what follows belongs to it.
            self.close();
            self.block = Some(Open::new(number, None, None, NO_HEADER));
        } else if let Some(command) = LSPCI.captures(line).filter(|_| !INSIDE.is_match(line)) {
            self.close();
            self.selected = first_group(&SELECTED, &command["options"]).map(str::to_ascii_lowercase);
        } else if PROMPT.is_match(line) {
            self.close();
            self.selected = None;
        } else {
            self.inside(number, line);
        }
    }

    fn inside(&mut self, number: usize, line: &'a str) {
        let mark = first_group(&ONCE, line);
        if self.block.as_ref().is_some_and(|block| mark.is_some_and(|mark| block.marks.contains(mark))) {
            self.close();
            self.selected = None;
        }
        if self.block.is_none() && !(INSIDE.is_match(line) || is_register(line) || is_hex(line)) {
            return;
        }
        let selected = &self.selected;
        let block = self.block.get_or_insert_with(|| Open::new(number, selected.clone(), None, NO_HEADER));
        block.marks.extend(mark);
        block.lines.push(line);
    }

    fn header(&self, index: usize, line: &'a str) -> Option<Captures<'a>> {
        let header = HEADER.captures(line)?;
        if header.name("path").is_none() && !header["slot"].contains(':') {
            return None;
        }
        let title = &header["title"];
        let following = self.lines.get(index + 1).map_or("", |line| trim(line));
        let continues = !following.is_empty() && !KEY.is_match(following);
        let is_title =
            TITLE.is_match(title) || (continues && TITLE.is_match(&format!("{title} {following}")));
        is_title.then_some(header)
    }

    /// Whether blank lines are as frequent around a line as where a form makes two of each line end.
    fn is_double_spaced(&self, index: usize) -> bool {
        let end = self.lines.len().min(index + AROUND_LINES + 1);
        let around = &self.lines[index.saturating_sub(AROUND_LINES)..end];
        let blank = around.iter().filter(|line| is_blank(line)).count();
        blank as f64 > BLANK_MOST * around.len() as f64
    }

    fn close(&mut self) {
        self.closed.extend(self.block.take());
    }
}

/// The functions with their slots; those without a header get one of their own if they have registers.
fn named(found: Vec<Open<'_>>, stop: Stop<'_>) -> Result<Vec<Block>, Unfinished> {
    let (mut below, mut made) = (HashMap::new(), HashMap::new());
    let mut named = Vec::new();
    for block in found {
        stop.check()?;
        named.extend(named_block(block, &mut below, &mut made));
    }
    Ok(named)
}

/// One function with its slot; None if it has neither header nor registers.
///
/// `below` has the domain and bus below each bridge so far by its path, `made` the made-up slots by the buses shown.
fn named_block(
    block: Open<'_>,
    below: &mut HashMap<String, (String, u8)>,
    made: &mut HashMap<String, String>,
) -> Option<Block> {
    let (header, rest) = with_whole_title(&block.lines);
    let title = if header == NO_HEADER { header.clone() } else { title(&header) };
    let slot = match (block.path, block.slot.as_deref()) {
        (Some(path), Some(slot)) => of_path(path, slot, below),
        (_, slot) => slot.map(str::to_owned),
    };
    let slot = match slot {
        Some(slot) => slot,
        None if rest.iter().any(|line| is_register(line) || is_hex(line)) => {
            // A bridge that comes twice, as before and after a change, shows the same buses.
            let shown = std::iter::once(&*header).chain(rest.iter().copied());
            let buses = shown.clone().find(|line| line.contains("Bus: primary="));
            let number = made.len();
            let key = buses.map_or_else(|| format!("number {number}"), |line| trim(line).to_owned());
            made.entry(key).or_insert_with(|| made_slot(shown, number)).clone()
        }
        None => return None,
    };
    let text =
        std::iter::once(&*printable(&header)).chain(rest.iter().copied()).collect::<Vec<_>>().join("\n");
    if let Some(bus) = first_group(&SECONDARY, &text).and_then(|bus| u8::from_str_radix(bus, 16).ok()) {
        let key = format!("{}{}", block.path.unwrap_or_default(), block.slot.as_deref().unwrap_or_default());
        below.insert(key, (domain(&slot).to_owned(), bus));
    }
    Some(Block::new(slot, title, text, block.line))
}

/// The slot of a function of `lspci -P` or `-PP`; None if its bus is not shown.
fn of_path(path: &str, slot: &str, below: &HashMap<String, (String, u8)>) -> Option<String> {
    let ports = path.trim_end_matches('/');
    let first = ports.split('/').next().unwrap_or_default();
    let slot = if slot.contains(':') {
        slot.to_owned()
    } else {
        let (_, bus) = below.get(ports)?;
        format!("{bus:02x}:{slot}")
    };
    Some(if slot.matches(':').count() == 1 { format!("{}:{slot}", domain(first)) } else { slot })
}

/// The domain of a slot; 0000 where it is not shown.
fn domain(slot: &str) -> &str {
    let bus = slot.rsplit_once(':').map_or("", |(bus, _)| bus);
    bus.rsplit_once(':').map_or("0000", |(domain, _)| domain)
}

fn made_slot<'a>(mut text: impl Iterator<Item = &'a str>, number: usize) -> String {
    let bus = text.find_map(|line| first_group(&PRIMARY, line)).unwrap_or("00");
    format!("{UNNAMED_DOMAIN}:{bus}:{:02x}.{}", number % 32, number / 32 % 8)
}

/// The header, as one line where it was wrapped, and the other lines.
fn with_whole_title<'a>(lines: &[&'a str]) -> (String, Vec<&'a str>) {
    let Some((first, rest)) = lines.split_first() else { return (NO_HEADER.to_owned(), Vec::new()) };
    let (mut header, mut wrapped) = ((*first).to_owned(), 0);
    while let Some(line) = rest.get(wrapped).filter(|_| wrapped < WRAPPED_MOST && header != NO_HEADER) {
        if !continues(&header, line) {
            break;
        }
        header.push(' ');
        header.push_str(trim(line));
        wrapped += 1;
    }
    (header, rest[wrapped..].to_vec())
}

fn continues(header: &str, line: &str) -> bool {
    let is_other = KEY.is_match(line) || is_hex(line) || line.starts_with('\t') || line.contains("!!!");
    !WHOLE.is_match(header) && !is_other
}

fn title(header: &str) -> String {
    let title = header.split_once(' ').map_or("", |(_, title)| title);
    if !title.starts_with('"') {
        return title.to_owned();
    }
    let parts: Vec<&str> =
        QUOTED.captures_iter(title).map(|found| found.get(1).map_or("", |part| part.as_str())).collect();
    let name = parts.get(1..parts.len().min(3)).unwrap_or_default().join(" ");
    format!("{}: {name}", parts.first().unwrap_or(&""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slots(text: &str) -> Vec<String> {
        blocks(text, Stop::NEVER).unwrap().into_iter().map(|block| block.slot).collect()
    }

    #[test]
    fn a_function_ends_at_the_next_header_and_at_a_blank_line() {
        let text = "01:00.0 Ethernet controller: A\n\tLnkSta: Speed 8GT/s\n01:00.1 Ethernet controller: B\n\tControl: I/O-\n\n\tLnkSta: x\n";
        let found = blocks(text, Stop::NEVER).unwrap();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0].register("LnkSta"), "Speed 8GT/s");
        assert!(found[1].registers.is_empty() && found[2].is_unnamed());
    }

    #[test]
    fn a_second_register_of_a_name_is_of_another_function() {
        let found =
            blocks("01:00.0 Ethernet controller: A\n\tLnkSta: a\n\tLnkSta: b\n", Stop::NEVER).unwrap();
        assert_eq!((found.len(), &*found[1].title), (2, NO_HEADER));
    }

    #[test]
    fn paths_of_lspci_pp_name_their_own_function() {
        let bridge = "\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n";
        let text =
            format!("00:01.0 PCI bridge: A\n{bridge}\n00:01.0/00.0 Ethernet controller: B\n\tLnkSta: x\n");
        assert_eq!(slots(&text), ["00:01.0", "0000:01:00.0"]);
        assert_eq!(slots("00:01.0/01:00.0 Ethernet controller: B\n"), ["0000:01:00.0"]);
    }

    #[test]
    fn registers_after_a_command_are_of_the_slot_it_selects() {
        assert_eq!(slots("$ lspci -vv -s 0A:00.0\n\tLnkSta: x\n"), ["0a:00.0"]);
        assert_eq!(slots("\tLnkSta: x\n"), ["fffffffe:00:00.0"]);
    }

    #[test]
    fn wrapped_headers_are_whole() {
        let found =
            blocks("01:00.0 Ethernet controller: Example\nNetworks Inc\n\tControl: I/O-\n", Stop::NEVER)
                .unwrap();
        assert_eq!(found[0].title, "Ethernet controller: Example Networks Inc");
    }

    #[test]
    fn machine_readable_lines_have_titles() {
        let found =
            blocks("01:00.0 \"Ethernet controller\" \"Example\" \"NIC\" -r01\n", Stop::NEVER).unwrap();
        assert_eq!(found[0].title, "Ethernet controller: Example NIC");
    }

    #[test]
    fn too_many_lines_are_refused() {
        let refusal = blocks(&"\n".repeat(LINES_MOST + 1), Stop::NEVER).unwrap_err();
        assert!(refusal.to_string().starts_with("more than 1000000 lines: give the output of"), "{refusal}");
    }
}
