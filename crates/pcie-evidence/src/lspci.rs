//! Texts of lspci: undo what copying did to them, find functions and registers, merge what stands there several
//! times, and decode.

mod blocks;
mod copied;
mod functions;
mod registers;
mod states;
mod unseen;

use pcie_refusal::{Kind as Wrong, Refusal, Unfinished};

use crate::stop::Stop;
use crate::tree::{FUNCTIONS_MOST, Piece, Tree};
use blocks::{Block, blocks};
use functions::function;
use states::{States, states};

/// The command whose output has everything.
pub const COMMAND: &str = "sudo lspci -vvv";

/// The tree that a text of lspci shows; None if it shows no function.
///
/// # Errors
/// It is too long, or shows more functions than a machine has.
pub(crate) fn lspci_tree(text: &str, source: &str, stop: Stop<'_>) -> Result<Option<Tree>, Unfinished> {
    let found = blocks(text, stop).map_err(|unfinished| unfinished.about(source))?;
    if found.len() > FUNCTIONS_MOST {
        let problem = format!("{} PCI functions", found.len());
        let remedy = format!("give a machine of {FUNCTIONS_MOST} at most");
        return Err(Refusal::new(problem).kind(Wrong::TooLarge).remedy(remedy).about(source).into());
    }
    let Some(first) = found.first() else { return Ok(None) };
    let shown = states(&found, stop)?;
    let mut trees = Vec::new();
    for number in 0..shown.functions.len() {
        stop.check()?;
        trees.push(state(number, &shown, source));
    }
    let mut trees = trees.into_iter();
    let Some(mut tree) = trees.next() else { return Ok(None) };
    tree.later = trees.collect();
    stop.check()?;
    tree.unseen = unseen::unseen(text, &found, &shown, &tree);
    tree.pieces =
        vec![Piece { form: form(&found).into(), first_line: first.line, used_for: Some(used_for(&found)) }];
    Ok(Some(tree))
}

fn state(number: usize, shown: &States, source: &str) -> Tree {
    let functions = shown.functions[number].iter().map(function).collect();
    let name = match number {
        0 => source.to_owned(),
        _ => format!("{source}, from line {} on", shown.lines[number]),
    };
    Tree::new(name, functions)
}

fn form(found: &[Block]) -> &'static str {
    if found.iter().any(|block| !block.registers.is_empty()) {
        let whole = found.iter().any(|block| block.text.contains("Capabilities: ["));
        return if whole { "lspci -vvv" } else { "registers of lspci" };
    }
    if found.iter().any(|block| !block.space.is_empty()) { "hex dump of lspci" } else { "lspci without -vvv" }
}

fn used_for(found: &[Block]) -> String {
    let what = if found.iter().any(Block::is_rich) { "registers" } else { "names" };
    let count = unseen::slots(found).len();
    format!("{what} of {count} function{}", if count == 1 { "" } else { "s" })
}
