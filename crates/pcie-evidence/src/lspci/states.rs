//! Put together what a text shows several times: a list beside registers, one machine before and after a change.
//!
//! Blocks of one slot are merged if they do not contradict each other. If they do, they are two states of one machine;
//! if their names differ, the text holds two machines.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use pcie_refusal::Unfinished;

use super::blocks::{Block, NO_HEADER};
use crate::pattern::{Pattern, compiled, first_group};
use crate::stop::Stop;

const STATES_MOST: usize = 8;
/// Most texts of a slot that are read: each is compared with all lines of those before.
const OF_A_SLOT_MOST: usize = 64;

static IDS: Pattern = Pattern::new(|| compiled(r"\[([0-9a-f]{4}:[0-9a-f]{4})\]"));
static DETAILS: Pattern =
    Pattern::new(|| compiled(r" \[[0-9a-f]{4}(?::[0-9a-f]{4})?\]|(?: \((?:rev|prog-if) [^)]*\))+"));
static NUMERIC: Pattern = Pattern::new(|| compiled("^(?:Class )?[0-9a-f]{4}: "));

/// The functions of a machine, once for each state that the text shows.
pub(super) struct States {
    /// The functions of each state, in the order of their slots.
    pub(super) functions: Vec<Vec<Block>>,
    /// The first line of each state.
    pub(super) lines: Vec<usize>,
    /// Where another machine begins.
    pub(super) other: Option<OtherMachine>,
}

/// Where another machine begins: a slot with another name than above.
pub(super) struct OtherMachine {
    pub(super) line: usize,
    pub(super) slot: String,
    /// The line where the slot has its first name.
    pub(super) first_line: usize,
}

/// The states of the first machine of a text.
pub(super) fn states(blocks: &[Block], stop: Stop<'_>) -> Result<States, Unfinished> {
    let (kept, other) = of_one_machine(blocks);
    let mut grouped: BTreeMap<String, Vec<Block>> = BTreeMap::new();
    let mut shown: HashMap<String, usize> = HashMap::new();
    for block in kept {
        stop.check()?;
        let slot = with_domain(&block.slot);
        let count = shown.entry(slot.clone()).or_default();
        *count += 1;
        if *count <= OF_A_SLOT_MOST {
            add(grouped.entry(slot).or_default(), block);
        }
    }
    let count = grouped.values().map(Vec::len).max().unwrap_or(1);
    let state =
        |number: usize| grouped.values().filter_map(move |of_slot| of_slot.get(number).or(of_slot.last()));
    let first = |number: usize| {
        grouped.values().filter_map(move |of_slot| of_slot.get(number)).map(|one| one.line).min()
    };
    Ok(States {
        functions: (0..count).map(|number| state(number).cloned().collect()).collect(),
        lines: (0..count).map(|number| first(number).unwrap_or(1)).collect(),
        other,
    })
}

/// The slot with its domain, which lspci leaves out where all are 0.
pub(super) fn with_domain(slot: &str) -> String {
    if slot.matches(':').count() == 2 { slot.to_owned() } else { format!("0000:{slot}") }
}

/// The blocks before the first slot that has another name than above.
fn of_one_machine(blocks: &[Block]) -> (&[Block], Option<OtherMachine>) {
    let mut first: HashMap<String, &Block> = HashMap::new();
    for (number, block) in blocks.iter().enumerate() {
        match first.entry(with_domain(&block.slot)) {
            Entry::Vacant(free) => {
                free.insert(block);
            }
            Entry::Occupied(known) if !is_same(known.get(), block) => {
                let (line, first_line) = (block.line, known.get().line);
                return (
                    &blocks[..number],
                    Some(OtherMachine { line, slot: block.slot.clone(), first_line }),
                );
            }
            Entry::Occupied(_) => {}
        }
    }
    (blocks, None)
}

/// Whether two blocks of one slot may show the same function: no title contradicts the other.
fn is_same(one: &Block, other: &Block) -> bool {
    let says_nothing = |block: &Block| block.title == NO_HEADER || block.text.contains("!!!");
    if says_nothing(one) || says_nothing(other) {
        return true;
    }
    if let (Some(ids), Some(others)) = (first_group(&IDS, &one.title), first_group(&IDS, &other.title)) {
        return ids == others;
    }
    let plain = |block: &Block| {
        let title = DETAILS.replace_all(&block.title, "");
        title.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let (title, another) = (plain(one), plain(other));
    title.starts_with(&another) || another.starts_with(&title) || is_numeric(one) != is_numeric(other)
}

/// Whether the title has numbers only, as `lspci -n` prints it.
fn is_numeric(block: &Block) -> bool {
    NUMERIC.is_match(&block.title)
}

/// Merge a block into the state that it does not contradict, or append it as a new state.
fn add(found: &mut Vec<Block>, block: &Block) {
    let fits = |known: &&mut Block| !known.is_rich() || !block.is_rich() || agree(known, block);
    if let Some(known) = found.iter_mut().find(fits) {
        *known = merged(known, block);
    } else if found.len() < STATES_MOST {
        found.push(block.clone());
    }
}

fn agree(one: &Block, other: &Block) -> bool {
    let same =
        |(name, text): (&String, &String)| other.registers.get(name).is_none_or(|another| another == text);
    one.registers.iter().all(same)
        && one.space.iter().zip(&other.space).all(|(byte, another)| byte == another)
}

/// Both as one: the richer text first, and the title with most in it.
fn merged(one: &Block, other: &Block) -> Block {
    let (first, second) = if one.is_rich() || !other.is_rich() { (one, other) } else { (other, one) };
    let titles: Vec<&str> =
        [first, second].into_iter().map(|block| &*block.title).filter(|title| *title != NO_HEADER).collect();
    let with_ids = titles.iter().copied().find(|title| IDS.is_match(title));
    let title = with_ids.or(titles.first().copied()).unwrap_or(&first.title).to_owned();
    let header = format!("{} {title}", first.slot);
    let mut lines: Vec<&str> = std::iter::once(&*header).chain(first.text.split('\n').skip(1)).collect();
    let known: HashSet<&str> = lines.iter().copied().collect();
    lines.extend(second.text.split('\n').skip(1).filter(|line| !known.contains(line)));
    let text = lines.join("\n");
    Block::new(first.slot.clone(), title, text, one.line.min(other.line))
}

#[cfg(test)]
mod tests {
    use super::super::blocks::blocks;
    use super::*;

    const LISTED: &str = "01:00.0 Ethernet controller: Example (rev 01)\n";

    fn found(text: &str) -> States {
        states(&blocks(text, Stop::NEVER).unwrap(), Stop::NEVER).unwrap()
    }

    #[test]
    fn a_list_before_registers_is_merged_with_them() {
        let shown = found(&format!(
            "{LISTED}\n01:00.0 Ethernet controller [0200]: Example [15b3:1021]\n\tLnkSta: a\n"
        ));
        assert_eq!((shown.functions.len(), shown.functions[0].len()), (1, 1));
        assert_eq!(shown.functions[0][0].title, "Ethernet controller [0200]: Example [15b3:1021]");
        assert_eq!(shown.functions[0][0].register("LnkSta"), "a");
    }

    #[test]
    fn registers_that_differ_are_two_states() {
        let shown = found(&format!("{LISTED}\tLnkSta: a\n\n02:00.0 PCI bridge: B\n\n{LISTED}\tLnkSta: b\n"));
        let links: Vec<_> = shown.functions.iter().map(|state| state[0].register("LnkSta")).collect();
        assert_eq!((links, shown.lines), (vec!["a", "b"], vec![1, 6]));
        assert!(shown.functions.iter().all(|state| state.len() == 2));
    }

    #[test]
    fn another_name_is_another_machine() {
        let shown = found(&format!("{LISTED}\n01:00.0 PCI bridge: Other\n"));
        let other = shown.other.unwrap();
        assert_eq!((other.line, other.first_line, shown.functions[0].len()), (3, 1, 1));
    }
}
