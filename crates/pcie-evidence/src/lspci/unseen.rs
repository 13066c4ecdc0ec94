//! What a text of lspci does not show, in words, with the command that would show it.

use std::collections::BTreeSet;

use indexmap::IndexMap;

use super::COMMAND;
use super::blocks::Block;
use super::functions::{function, kind, reads_ones};
use super::states::{OtherMachine, States};
use crate::letters::line_count;
use crate::pattern::{Pattern, compiled};
use crate::tree::{Function, Kind, Tree, short_slot};

const NAMED_MOST: usize = 4;
const HEADER_BYTES: usize = 64;
/// Letters at the end of a text in which a block of code is closed.
const CLOSING_LETTERS: usize = 256;
/// Registers of every function with a PCI Express capability (PCIe 6.0, section 7.5.3).
const REGISTERS_OF_ALL: [&str; 2] = ["DevCap", "DevCtl"];
const REGISTERS_OF_LINKS: [&str; 2] = ["LnkCap", "LnkSta"];

/// What closes a block of code after its last line.
static CLOSING: Pattern = Pattern::new(|| compiled(r"(?:`|</[A-Za-z0-9_]{1,10}>)+\s*$"));
static LATE: Pattern =
    Pattern::new(|| compiled(r"Capabilities: \[[1-9a-f][0-9a-f]{2} v|Kernel driver in use:|Kernel modules:"));

/// What a text does not show; `tree` is that of its first state.
pub(super) fn unseen(text: &str, found: &[Block], shown: &States, tree: &Tree) -> Vec<String> {
    let mut notes: Vec<String> = shown.other.iter().map(other_machine).collect();
    notes.extend(unnamed(found));
    let denied = found.iter().filter(|block| block.text.contains("<access denied>")).count();
    if denied > 0 {
        notes.push(format!(
            "the capabilities of {denied} of {} functions, which lspci shows to root alone: no links, no MPS, no tags: \
             give the output of `{COMMAND}`",
            slots(found).len()
        ));
    }
    if denied > 0 || found.iter().any(Block::is_rich) {
        notes.extend(of_registers(text, found, tree, denied > 0));
    } else {
        notes.extend(found.first().map(without_registers));
    }
    notes.extend(ports_above(tree));
    notes
}

/// The slots of all blocks, each once.
pub(super) fn slots(found: &[Block]) -> BTreeSet<&str> {
    found.iter().map(|block| &*block.slot).collect()
}

fn other_machine(other: &OtherMachine) -> String {
    format!(
        "line {}: {} has another name than in line {}: the text seems to hold two machines, and only what stands above \
         this line is used: give one file per machine",
        other.line, other.slot, other.first_line
    )
}

fn unnamed(found: &[Block]) -> Option<String> {
    let first = found.iter().find(|block| block.is_unnamed())?;
    let count = found.iter().filter(|block| block.is_unnamed()).count();
    Some(format!(
        "the slot of {count} function{}, from line {} on: the text shows registers without the line that names their \
         device, so they are judged alone: give the output of `{COMMAND}` unchanged",
        plural(count),
        first.line
    ))
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn without_registers(first: &Block) -> String {
    format!(
        "line {} and all others: no registers, as the text was made without -vvv: give the output of `{COMMAND}`",
        first.line
    )
}

fn of_registers(text: &str, found: &[Block], tree: &Tree, is_denied: bool) -> Vec<String> {
    let mut notes = Vec::new();
    let last = found.last();
    let cut = last.filter(|last| !is_denied && is_cut(text, last));
    if let Some(last) = cut {
        notes.push(format!(
            "line {}: the text ends inside {}, as if it were cut off: what should follow is missing: give the whole \
             output of `{COMMAND}`",
            line_count(text),
            short_slot(&last.slot)
        ));
    }
    let whole = if cut.is_some() { &found[..found.len() - 1] } else { found };
    notes.extend(silent(found));
    notes.extend(incomplete(whole));
    notes.extend(lost(tree.functions()));
    notes
}

fn is_cut(text: &str, last: &Block) -> bool {
    let cut_in_register = || {
        let names_link = last.text.contains("] Express ") && function(last).link.is_some();
        names_link && !last.registers.contains_key("LnkSta") && last.space.is_empty()
    };
    // Copied text often lacks the last line end: then the last function should get to its extended capabilities.
    let end = text.char_indices().rev().nth(CLOSING_LETTERS - 1).map_or(0, |(start, _)| start);
    let ends = CLOSING.replace(&text[end..], "").ends_with('\n')
        || !text.contains('\n')
        || LATE.is_match(&last.text)
        || !last.space.is_empty();
    cut_in_register() || (!ends && !last.registers.is_empty() && !last.is_unnamed())
}

fn silent(found: &[Block]) -> Option<String> {
    let mut slots: IndexMap<&str, ()> = IndexMap::new();
    slots.extend(found.iter().filter(|block| reads_ones(block)).map(|block| (&*block.slot, ())));
    (!slots.is_empty()).then(|| {
        format!(
            "{}: no answer, lspci read all ones: the device is off (D3cold), or off the bus: search the kernel's log \
             for its slot",
            some(slots.keys().map(|slot| (*slot).to_owned()).collect())
        )
    })
}

/// Reports functions whose PCI Express capability is named without its registers.
fn incomplete(found: &[Block]) -> Option<String> {
    let mut shown: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for block in found {
        let lacking = lacking(block);
        shown
            .entry(&block.slot)
            .and_modify(|known| known.retain(|name| lacking.contains(name)))
            .or_insert_with(|| lacking.clone());
    }
    let without = shown.iter().filter(|(_, lacking)| !lacking.is_empty()).map(|(slot, _)| short_slot(slot));
    let without: Vec<_> = without.collect();
    (!without.is_empty() && found.iter().any(|block| !block.registers.is_empty())).then(|| {
        format!(
            "registers of {}: the text names the PCI Express capability, but shows no DevCap, DevCtl, LnkCap or \
             LnkSta: give the output of `{COMMAND}` unchanged",
            some(without)
        )
    })
}

/// Registers of a PCI Express capability that the block names and does not show, in text or as bytes.
fn lacking(block: &Block) -> Vec<&'static str> {
    let Some(kind) = kind(&block.text).filter(|_| block.space.len() <= HEADER_BYTES && !reads_ones(block))
    else {
        return Vec::new();
    };
    let has_link = !matches!(kind, Kind::IntegratedEndpoint | Kind::EventCollector);
    let of_link = REGISTERS_OF_LINKS.into_iter().filter(|_| has_link);
    REGISTERS_OF_ALL.into_iter().chain(of_link).filter(|name| !block.registers.contains_key(*name)).collect()
}

/// Reports ports whose link is up and whose bus lies after every bus of the text.
///
/// An empty bus before the last one is a hidden device, not a truncated text, and is not reported.
fn lost(functions: &[Function]) -> Option<String> {
    let shown = functions.iter().map(|one| (one.domain(), one.bus())).max()?;
    let is_lost = |one: &&Function| {
        let up = one.link.as_ref().is_some_and(crate::tree::LinkEnd::is_up);
        let below = one.secondary_bus.filter(|bus| *bus > 0);
        one.is_port() && !one.is_unnamed() && up && below.is_some_and(|bus| (one.domain(), bus) > shown)
    };
    let slots: Vec<_> = functions.iter().filter(is_lost).map(|one| &*one.slot).collect();
    (!slots.is_empty()).then(|| {
        format!(
            "functions below {}: the link is up, but the text shows no function there: give the whole output of \
             `{COMMAND}`",
            slots.join(", ")
        )
    })
}

fn ports_above(tree: &Tree) -> Option<String> {
    let with_link = tree.links().filter(|link| link.device.link.is_some());
    let slots: Vec<_> = with_link.map(|link| link.device.short_slot()).collect();
    (tree.is_selection() && !slots.is_empty()).then(|| {
        format!(
            "the port above {}: a link cannot be judged from one end: give the output of `{COMMAND}` for the whole \
             machine",
            some(slots)
        )
    })
}

fn some(slots: Vec<String>) -> String {
    let more = slots.len().saturating_sub(NAMED_MOST);
    let shown = slots[..slots.len() - more].join(", ");
    if more > 0 { format!("{shown} and {more} more") } else { shown }
}

#[cfg(test)]
mod tests {
    use super::super::lspci_tree;
    use super::*;

    const EXPRESS: &str = "\tCapabilities: [40] Express (v2) Endpoint, MSI 00\n";

    fn notes(text: &str) -> Vec<String> {
        lspci_tree(text, "test", crate::stop::Stop::NEVER).unwrap().unwrap().unseen
    }

    #[test]
    fn a_list_lacks_all_registers() {
        let notes = notes("00:00.0 Host bridge: A\n01:00.0 Ethernet controller: B\n");
        assert_eq!(notes.len(), 1);
        assert!(notes[0].starts_with("line 1 and all others: no registers"), "{notes:?}");
    }

    #[test]
    fn capabilities_of_root_alone_are_named() {
        let notes = notes("00:00.0 Host bridge: A\n\tCapabilities: <access denied>\n");
        assert!(notes[0].starts_with("the capabilities of 1 of 1 functions"), "{notes:?}");
    }

    #[test]
    fn a_text_that_ends_within_a_function_is_cut() {
        let text = format!(
            "00:00.0 Host bridge: A\n\n01:00.0 Ethernet controller: B\n{EXPRESS}\t\tLnkCap:\tSpeed 8GT/s"
        );
        assert!(notes(&text)[0].starts_with("line 5: the text ends inside 01:00.0"), "{:?}", notes(&text));
    }

    #[test]
    fn a_capability_without_its_registers_is_named() {
        let text = format!(
            "01:00.0 Ethernet controller: B\n{EXPRESS}\n02:00.0 Other: C\n\t\tDevCap:\tx\n\n00:00.0 Host bridge: A\n"
        );
        assert!(notes(&text)[0].starts_with("registers of 01:00.0: the text names"), "{:?}", notes(&text));
    }

    #[test]
    fn one_device_has_no_port_above() {
        let registers =
            "\t\tDevCap:\ta\n\t\tDevCtl:\tb\n\t\tLnkCap:\tSpeed 8GT/s\n\t\tLnkSta:\tSpeed 8GT/s\n";
        let text = format!("01:00.0 Ethernet controller: B\n{EXPRESS}{registers}");
        assert_eq!(notes(&text).len(), 1);
        assert!(notes(&text)[0].starts_with("the port above 01:00.0: a link cannot"));
    }

    #[test]
    fn many_slots_are_counted() {
        assert_eq!(some(vec!["a".into(); 6]), "a, a, a, a and 2 more");
        assert_eq!(some(vec!["a".into(); 2]), "a, a");
    }
}
