//! Read a text that somebody pasted: registers, a kernel's log, a drawing of the buses, a topology, or several.
//!
//! Each form is read for what it tells. [`Tree::pieces`] lists the forms with their use; what the text lacks is in
//! [`Tree::unseen`].

use pcie_refusal::shown::named;
use pcie_refusal::{Kind, Refusal, Unfinished};

use crate::bus_tree::bus_tree;
use crate::forms::form_of;
use crate::kernel_log::{is_kernel_log, log_events};
use crate::letters::{first_letters, trim};
use crate::lspci::{COMMAND, lspci_tree};
use crate::matrix::matrix;
use crate::nccl_topology::read_nccl;
use crate::pattern::{Pattern, compiled};
use crate::saved::read_saved;
use crate::stop::{Stop, refusal as without_stop};
use crate::tree::{Piece, Tree};

const HEAD_LETTERS: usize = 4096;
const SHOWN_LETTERS: usize = 40;
const TOPOLOGY_END: &str = "</system>";

static XML: Pattern = Pattern::new(|| compiled(r"^\x{feff}?\s*<(?:\?xml|!|system\b)"));
static TOPOLOGY: Pattern = Pattern::new(|| compiled(r"<system\b"));

/// The tree of a text: a saved tree, an NCCL topology, or anything that [`read_lspci`] reads.
///
/// # Errors
/// It is malformed, or shows nothing of a machine.
pub fn machine_of_text(text: &str, source: &str) -> Result<Tree, Refusal> {
    machine_of_text_until(text, source, Stop::NEVER).map_err(without_stop)
}

/// The same, unless it is stopped.
///
/// # Errors
/// It is malformed, or shows nothing of a machine, or the reading was stopped.
pub fn machine_of_text_until(text: &str, source: &str, stop: Stop<'_>) -> Result<Tree, Unfinished> {
    let head = first_letters(text, HEAD_LETTERS);
    if head.trim_start_matches(['\u{feff}', ' ', '\t', '\r', '\n']).starts_with('{') {
        return read_saved(text, source, stop);
    }
    if XML.is_match(head) { Ok(read_nccl(text, source)?) } else { read_lspci_until(text, source, stop) }
}

/// The tree that a pasted text shows: output of lspci in any verbosity, with or without a kernel's log, `lspci -t`,
/// `nvidia-smi topo -m` and prose around it. `source` is its name in messages.
///
/// # Errors
/// It shows nothing of a machine; the message names the form that it has.
pub fn read_lspci(text: &str, source: &str) -> Result<Tree, Refusal> {
    read_lspci_until(text, source, Stop::NEVER).map_err(without_stop)
}

/// The same, unless it is stopped.
///
/// # Errors
/// It shows nothing of a machine, or the reading was stopped.
pub fn read_lspci_until(text: &str, source: &str, stop: Stop<'_>) -> Result<Tree, Unfinished> {
    let (log, peers, drawn) = (log_events(text, stop)?, matrix(text), bus_tree(text, stop)?);
    let (has_matrix, is_drawn) = (!peers.is_empty(), !drawn.is_empty());
    let mut tree = match registers(text, source, stop)? {
        Some(tree) => tree,
        None if log.is_empty() && !has_matrix && !is_drawn => return Err(refusal(text, source).into()),
        None => {
            let mut tree = Tree::new(source, drawn);
            tree.unseen.push(without_registers(is_drawn, !log.is_empty()));
            tree
        }
    };
    let more = pieces(text, &log, has_matrix, is_drawn && tree.pieces.is_empty(), is_drawn);
    tree.pieces.extend(more);
    tree.peers.extend(peers);
    tree.log = log;
    Ok(tree)
}

/// The tree of the registers or the topology within a text.
fn registers(text: &str, source: &str, stop: Stop<'_>) -> Result<Option<Tree>, Unfinished> {
    if let Some(tree) = lspci_tree(text, source, stop)? {
        return Ok(Some(tree));
    }
    let Some(start) = TOPOLOGY.find(text) else { return Ok(None) };
    let topology = &text[start.start()..];
    match topology.find(TOPOLOGY_END) {
        Some(end) => Ok(read_nccl(&topology[..end + TOPOLOGY_END.len()], source).map(Some)?),
        None => Ok(None),
    }
}

fn refusal(text: &str, source: &str) -> Refusal {
    let problem = format!("no PCI function in this text: {}", form(text));
    let remedy = format!("give the output of `{COMMAND}`");
    Refusal::new(problem).kind(Kind::Malformed).remedy(remedy).about(source)
}

/// What a text without registers lacks.
fn without_registers(is_drawn: bool, has_log: bool) -> String {
    let form = if is_drawn {
        "the drawing of lspci -t shows what is below which port"
    } else if has_log {
        "a kernel log shows what it complains about"
    } else {
        "the matrix of nvidia-smi topo -m shows how devices reach each other"
    };
    format!("the registers of every function: {form}, and no links: give the output of `{COMMAND}`, too")
}

fn pieces(
    text: &str,
    log: &[crate::tree::LogEvent],
    has_matrix: bool,
    drawing_is_used: bool,
    is_drawn: bool,
) -> Vec<Piece> {
    let piece = |form: &str, first_line, used: Option<&str>| Piece {
        form: form.to_owned(),
        first_line,
        used_for: used.map(str::to_owned),
    };
    let mut found = Vec::new();
    if !log.is_empty() || is_kernel_log(text) {
        let first = log.iter().map(|event| event.line).min().unwrap_or(1);
        found.push(piece("kernel log", first, (!log.is_empty()).then_some("errors and links")));
    }
    if has_matrix {
        found.push(piece("nvidia-smi topo -m", line_of(text, "GPU0"), Some("paths between devices")));
    }
    if is_drawn {
        found.push(piece(
            "lspci -t",
            line_of(text, "-["),
            drawing_is_used.then_some("ports above functions"),
        ));
    }
    found
}

fn line_of(text: &str, word: &str) -> usize {
    text[..text.find(word).unwrap_or(0)].matches('\n').count() + 1
}

/// The form of a text, as words for a message.
fn form(text: &str) -> String {
    if trim(text).is_empty() {
        return "it is empty".into();
    }
    if let Some(form) = form_of(text) {
        return format!("it looks like {form}");
    }
    let first = text.split('\n').map(trim).find(|line| !line.is_empty()).unwrap_or_default();
    format!("it starts with {}", named(first_letters(first, SHOWN_LETTERS)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "[    1.234567] pcieport 0000:00:1c.5: AER: Corrected error received: 0000:00:1c.5\n";
    const DRAWN: &str =
        "-[0000:00]-+-00.0  Host bridge\n           \\-01.0-[01]----00.0  Network controller\n";

    fn forms(text: &str) -> Vec<(String, Option<String>)> {
        let tree = machine_of_text(text, "test").unwrap();
        tree.pieces.into_iter().map(|piece| (piece.form, piece.used_for)).collect()
    }

    #[test]
    fn a_log_beside_registers_is_read() {
        let text = format!("00:1c.5 PCI bridge: A\n\t\tLnkSta:\tSpeed 8GT/s, Width x4\n\n{LOG}");
        let tree = read_lspci(&text, "test").unwrap();
        assert_eq!((tree.functions().len(), tree.log.len()), (1, 1));
        let shown = forms(&text);
        assert_eq!(shown[0], ("registers of lspci".into(), Some("registers of 1 function".into())));
        assert_eq!(shown[1], ("kernel log".into(), Some("errors and links".into())));
    }

    #[test]
    fn a_drawing_alone_gives_functions_and_beside_registers_nothing() {
        assert_eq!(forms(DRAWN), [("lspci -t".into(), Some("ports above functions".into()))]);
        let tree = read_lspci(DRAWN, "test").unwrap();
        assert_eq!(tree.functions().len(), 3);
        assert!(tree.unseen[0].starts_with("the registers of every function: the drawing of lspci -t"));
        let both = format!("00:00.0 Host bridge: A\n\n{DRAWN}");
        assert_eq!(forms(&both)[1], ("lspci -t".into(), None));
    }

    #[test]
    fn a_refusal_names_the_form() {
        for (text, form) in [
            ("", "it is empty"),
            (" \n", "it is empty"),
            ("lspci: command not found\n", "it looks like a shell's error message"),
            ("\n  hello there  \n", "it starts with hello there"),
        ] {
            let refusal = read_lspci(text, "a.txt").unwrap_err().to_string();
            let expected =
                format!("a.txt: no PCI function in this text: {form}: give the output of `sudo lspci -vvv`");
            assert_eq!(refusal, expected);
        }
    }

    #[test]
    fn a_topology_within_prose_is_read() {
        let topology = r#"<system version="1"><cpu numaid="0"><pci busid="0000:01:00.0" class="0x020000" link_speed="16 GT/s" link_width="8"/></cpu></system>"#;
        for text in [topology.to_owned(), format!("see:\n{topology}\nthanks")] {
            let tree = machine_of_text(&text, "test").unwrap();
            assert!(tree.is_nested() && tree.functions().len() == 1, "{text}");
        }
    }
}
