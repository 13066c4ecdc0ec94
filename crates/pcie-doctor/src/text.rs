//! Findings and trees as text for people.

use std::borrow::Cow;
use std::collections::HashMap;

use pcie_evidence::Tree;
use pcie_evidence::tree::short_slot;
use textwrap::{Options, WordSeparator, WordSplitter, WrapAlgorithm};

use crate::branches::{Branch, branches};
use crate::examine::Examination;
use crate::finding::{Finding, Loss, Operation, Severity};
use pcie_refusal::numbers::general;

const LEAST_WIDTH: usize = 60;
const MOST_WIDTH: usize = 110;

const fn operations(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "reads",
        Operation::Write => "writes",
        Operation::Rdwr => "reads and writes together, each way,",
    }
}

const fn head(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "errors",
        Severity::Warning => "warnings",
        Severity::Note => "notes: limits and properties, not faults",
    }
}

/// Every finding, worst first, with its evidence.
///
/// `width` is in letters of a line. With `in_order`, findings keep their order, and each is headed by its severity.
#[must_use]
pub fn describe(examination: &Examination, tree: &Tree, width: usize, in_order: bool) -> String {
    let width = width.clamp(LEAST_WIDTH, MOST_WIDTH);
    let mut lines = vec![format!(
        "{}: {} functions, {} links, {}",
        examination.source,
        examination.functions,
        examination.links,
        counted(examination, tree)
    )];
    if in_order {
        for finding in &examination.findings {
            lines.extend([String::new(), finding.severity.word().to_owned()]);
            lines.extend(finding_lines(finding, tree, width));
        }
        return lines.join("\n");
    }
    for severity in Severity::ALL {
        let mut findings =
            examination.findings.iter().filter(|finding| finding.severity == severity).peekable();
        if findings.peek().is_some() {
            lines.extend([String::new(), head(severity).to_owned()]);
        }
        for finding in findings {
            lines.push(String::new());
            lines.extend(finding_lines(finding, tree, width));
        }
    }
    lines.join("\n")
}

/// One finding of a tree, as [`describe`] writes it.
#[must_use]
pub fn finding_text(finding: &Finding, tree: &Tree, width: usize) -> String {
    finding_lines(finding, tree, width.clamp(LEAST_WIDTH, MOST_WIDTH)).join("\n")
}

/// The tree, one function per line, with the modelled rates of its link and the severities of its findings.
///
/// Functions without a link or a finding are counted.
#[must_use]
pub fn draw(tree: &Tree, examination: &Examination) -> String {
    let mut lines = Vec::new();
    let mut left_out = tree.functions().len();
    let mut by_slot: HashMap<&str, Vec<&Finding>> = HashMap::new();
    for finding in &examination.findings {
        by_slot.entry(finding.device.as_deref().unwrap_or_default()).or_default().push(finding);
    }
    for branch in branches(tree) {
        let found = severities(by_slot.get(branch.slot.as_str()).map_or(&[], Vec::as_slice));
        if branch.depth > 0 || branch.is_port() || branch.lanes.is_some() || !found.is_empty() {
            lines.push(line(&branch) + &found);
            left_out = left_out.saturating_sub(1);
        }
    }
    if left_out > 0 {
        lines.push(format!("{left_out} more functions without a link"));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn counted(examination: &Examination, tree: &Tree) -> String {
    if !examination.unseen.is_empty() && tree.links().all(|link| link.device.link.is_none()) {
        return "no link can be judged: too many registers are hidden".to_owned();
    }
    if examination.links == 0 {
        return examination.hypervisor.as_ref().map_or_else(
            || "no link can be judged: no device with a PCI Express link is shown".to_owned(),
            |name| format!("no link can be judged in a virtual machine ({name}): run the doctor on the host"),
        );
    }
    let is_whole = examination.unseen.is_empty();
    match (examination.findings.is_empty(), is_whole) {
        (true, true) => "no findings".to_owned(),
        (true, false) => "no findings in what could be read".to_owned(),
        (false, _) => {
            let hidden = if is_whole { "" } else { "; some registers could not be read" };
            format!("{}{hidden}", numbers(examination.findings.iter()))
        }
    }
}

/// How many findings of each severity: `1 error, 2 notes`.
fn numbers<'a>(findings: impl Iterator<Item = &'a Finding> + Clone) -> String {
    let counts = Severity::ALL.map(|severity| {
        let count = findings.clone().filter(|finding| finding.severity == severity).count();
        (count, severity.word())
    });
    let words: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, word)| format!("{count} {word}{}", if count == 1 { "" } else { "s" }))
        .collect();
    words.join(", ")
}

/// The severities of the findings on a function, as the end of its line.
fn severities(findings: &[&Finding]) -> String {
    let numbers = numbers(findings.iter().copied());
    if numbers.is_empty() { numbers } else { format!(" | {numbers}") }
}

fn finding_lines(finding: &Finding, tree: &Tree, width: usize) -> Vec<String> {
    let head = finding.device.as_ref().map_or_else(
        || "the machine".to_owned(),
        |slot| format!("{} {}", short_slot(slot), tree.title(slot)),
    );
    let mut lines = wrap(&head, width, "", "  ");
    let mut item = |name: &str, text: &str| lines.extend(wrap(text, width, &format!("  {name}"), "    "));
    let sureness = finding.sureness.words();
    item("", &format!("{} [{sureness}; {}, {}]", finding.what, finding.rule, finding.cause));
    if !finding.values.is_empty() {
        let values: Vec<String> = finding
            .values
            .iter()
            .map(|value| {
                let slot = value.function.as_ref().map_or_else(String::new, |slot| short_slot(slot) + " ");
                format!("{slot}{} {}", value.name, value.value)
            })
            .collect();
        item("evidence: ", &values.join(", "));
    }
    if !finding.explained.is_empty() {
        item("explains: ", &finding.explained.join("; "));
    }
    if !finding.losses.is_empty() {
        let losses: Vec<String> = finding.losses.iter().map(loss_text).collect();
        item("cost, by the model: ", &losses.join("; "));
    }
    if let Some(latency_ns) = finding.added_latency_ns {
        item("cost: ", &format!("up to {} ns more latency", general(latency_ns)));
    }
    let is_note = finding.severity == Severity::Note;
    if !is_note {
        item("measured elsewhere: ", &format!("{} (grade {})", finding.evidence, finding.grade.word()));
    }
    item("fix: ", &finding.remedy);
    if let Some(confirm) = finding.confirm.as_deref().filter(|_| !is_note) {
        item("confirm: ", confirm);
    }
    let commands =
        if finding.commands.is_empty() { finding.command.as_slice() } else { finding.commands.as_slice() };
    if !commands.is_empty() {
        let words = if commands.len() == 1 { "command" } else { "commands, in this order" };
        lines.push(format!("  {words}, risky (it may hang the machine; lost at the next reset):"));
        lines.extend(commands.iter().map(|command| format!("    {command}")));
    }
    lines
}

/// The lines of a text, the first after `head` and the others after `indent`, broken at spaces only: slots and commands
/// stay whole.
fn wrap(text: &str, width: usize, head: &str, indent: &str) -> Vec<String> {
    let options = Options::new(width)
        .initial_indent(head)
        .subsequent_indent(indent)
        .word_separator(WordSeparator::AsciiSpace)
        .word_splitter(WordSplitter::NoHyphenation)
        .wrap_algorithm(WrapAlgorithm::FirstFit)
        .break_words(false);
    textwrap::wrap(text, options).into_iter().map(Cow::into_owned).collect()
}

fn loss_text(loss: &Loss) -> String {
    let (now_gbps, could_gbps) = loss.shown_gbps();
    let at =
        loss.round_trip_ns.map_or_else(String::new, |ns| format!(" with a round trip of {} ns", general(ns)));
    let then = if loss.could_bound == loss.now_bound {
        String::new()
    } else {
        format!(", then {}", loss.could_bound)
    };
    let assumed = loss.assumed.as_ref().map_or_else(String::new, |assumed| format!(" ({assumed})"));
    format!(
        "{} of {} B{at}: {now_gbps} instead of {could_gbps} Gb/s ({} binds{then}){assumed}",
        operations(loss.operation),
        loss.size_bytes,
        loss.now_bound
    )
}

fn line(branch: &Branch) -> String {
    let mut found = format!("{}{} {}", "  ".repeat(branch.depth), short_slot(&branch.slot), branch.title);
    if branch.lanes == Some(0) {
        found.push_str(" | empty");
    } else if branch.made_up.is_some() {
        found.push_str(" | link not judged");
    } else if let (Some(lanes), Some(speed_gtps)) = (branch.lanes, branch.speed_gtps) {
        found.push_str(&format!(" | {} GT/s x{lanes}", general(speed_gtps)));
        if let (Some(read_gbps), Some(read_bound), Some(write_gbps), Some(write_bound)) =
            (branch.read_gbps, branch.read_bound, branch.write_gbps, branch.write_bound)
        {
            found.push_str(&format!(
                " | reads {read_gbps:.1}, writes {write_gbps:.1} Gb/s ({read_bound}, {write_bound})"
            ));
        }
        if let (Some(below_gbps), Some(raw_gbps)) = (branch.below_gbps, branch.raw_gbps) {
            found.push_str(&format!(" | below it {below_gbps:.0} of {raw_gbps:.0} Gb/s raw"));
        }
    }
    found
}
