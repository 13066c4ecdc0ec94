//! Undo what mail, forums, terminals and editors do to a text of lspci.
//!
//! They quote it, fence it, indent it, number it, escape it, or put a prompt, a bar or the sign of a difference before
//! its lines. Tabs that a forum turned into single blanks cannot be restored: registers are found by their names.

use std::borrow::Cow;

use indexmap::IndexMap;
use pcie_refusal::Unfinished;
use regex::{Captures, Regex};

use crate::letters::{is_blank, is_space};
use crate::pattern::{Pattern, compiled};
use crate::stop::Stop;

const ANY_SLOT: &str = r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]";
const QUOTE: &str = r"(?: {0,3}>)+ ?";
/// Letters of a line that may hold a whole function, and of one that is taken apart.
const FOLDED_LETTERS: std::ops::RangeInclusive<usize> = 200..=1_000_000;
/// Starts of lines within a line from which it is taken apart.
const FOLDED_STARTS: usize = 3;
/// Named characters of HTML that forums write; the others stay.
const ENTITIES: [(&str, &str); 6] =
    [("lt", "<"), ("gt", ">"), ("amp", "&"), ("quot", "\""), ("nbsp", "\u{a0}"), ("apos", "'")];

static QUOTED_SLOT: Pattern = Pattern::new(|| compiled(&format!(r"(?m)^{QUOTE}[ \t*`]*{ANY_SLOT}[ /]")));
static QUOTES: Pattern = Pattern::new(|| compiled(&format!("(?m)^{QUOTE}")));
static FENCES: Pattern = Pattern::new(|| compiled(r"(?m)^[ \t]*(?:```|~~~).*$"));
static BEFORE_SLOTS: Pattern = Pattern::new(|| compiled(&format!(r"(?m)^[ \t*`]+({ANY_SLOT}[ /])")));
static UPPER_SLOT: Pattern = Pattern::new(|| compiled(&format!(r"(?m)^{ANY_SLOT}[ /]")));
static PROMPT: Pattern =
    Pattern::new(|| compiled(&format!(r"(?m)^[^\n]{{0,80}}?[#$%>][ \t]+({ANY_SLOT} [A-Z][^\n:]{{2,80}}:)")));
static COLOUR: Pattern = Pattern::new(|| compiled(r"\x1b\[[0-9;]*[A-Za-z]"));
static TAGS: Pattern = Pattern::new(|| {
    let names = "pre|code|p|div|span|td|tr|table|tbody|b|i|em|strong|font|blockquote";
    compiled(&format!("</?(?:{names})(?: [^<>]{{0,200}})?>"))
});
static BREAKS: Pattern = Pattern::new(|| compiled("<br ?/?>\n?"));
static ENTITY: Pattern =
    Pattern::new(|| compiled(r"&(?:lt|gt|amp|nbsp|quot|#[0-9]{1,5}|#x[0-9a-fA-F]{1,4});"));
static ANY_ENTITY: Pattern = Pattern::new(|| {
    compiled(r"&(?:#([0-9]{1,7});?|#[xX]([0-9a-fA-F]{1,6});?|(lt|gt|amp|nbsp|quot|apos;);?)")
});
static MARK: Pattern =
    Pattern::new(|| compiled(&format!(r"(?m)^[ \t]{{0,3}}([|│┃#;!%:]{{1,3}})[ \t]?[*`]*{ANY_SLOT}[ /]")));
static STARTS_WITH_SLOT: Pattern = Pattern::new(|| compiled(&format!("^{ANY_SLOT}")));
static NUMBERED: Pattern = Pattern::new(|| compiled(r"^ {0,6}[0-9]{1,6}[\t:] ?"));
static DIFFERENCE: Pattern = Pattern::new(|| compiled(r"(?m)^@@ -[0-9]|^--- .*\n\+\+\+ "));
/// What starts a line of lspci.
static START: Pattern = Pattern::new(|| {
    compiled(&format!(
        r"^(?:{ANY_SLOT} [A-Z][A-Za-z -]{{3,40}}(?: \[[0-9a-f]{{4}}\])?: |Capabilities: \[|Kernel driver in use:|{}{})",
        r"Bus: primary=|Control: I/O|(?:Dev|Lnk|Slt|Root)(?:Cap|Ctl|Sta)[0-9]?:|(?:UESta|UEMsk|UESvrt|CESta|CEMsk):|",
        r"(?:AERCap|ACSCap|ACSCtl|L1SubCap|L1SubCtl1|DpcSta|DpcCtl|LaneErrStat):"
    ))
});

/// The text as lspci printed it, as far as marks of copying tell; it keeps the number of lines where it can.
pub(super) fn as_printed(text: &str, stop: Stop<'_>) -> Result<String, Unfinished> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n").replace('\r', "\n");
    let text = unescaped(COLOUR.replace_all(&with_spaces(&text), "").into_owned());
    stop.check()?;
    let mut text = both_sides(unmarked(text));
    stop.check()?;
    if QUOTED_SLOT.is_match(&text) {
        text = QUOTES.replace_all(&text, "").into_owned();
    }
    let text = FENCES.replace_all(&text, "");
    stop.check()?;
    let text = PROMPT.replace_all(&text, "$1");
    stop.check()?;
    let text = BEFORE_SLOTS.replace_all(&text, "$1");
    stop.check()?;
    let text = UPPER_SLOT.replace_all(&text, |found: &Captures<'_>| found[0].to_ascii_lowercase());
    let mut printed = String::with_capacity(text.len());
    for (number, line) in text.split('\n').enumerate() {
        stop.check_at(number)?;
        if number > 0 {
            printed.push('\n');
        }
        let line = line.strip_prefix('`').unwrap_or(line).trim_end_matches([' ', '\t', '*', '`']);
        printed.push_str(&unfolded(line));
    }
    Ok(printed)
}

/// Spaces for the blanks that editors write.
fn with_spaces(text: &str) -> String {
    let space = |letter| match letter {
        '\u{a0}' | '\u{2002}' | '\u{2003}' | '\u{2007}' | '\u{2009}' | '\u{202f}' | '\u{3000}' => Some(' '),
        '\u{200b}' => None,
        _ => Some(letter),
    };
    text.chars().filter_map(space).collect()
}

/// Line ends and tabs of JSON, and characters of HTML, as themselves.
fn unescaped(mut text: String) -> String {
    if text.matches("\\n").count() > 4 * text.matches('\n').count() {
        text = text.replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t");
        text = text.replace("\\\"", "\"").replace("\\/", "/");
    }
    if ENTITY.is_match(&text) || ["<br", "<pre", "</p>"].iter().any(|tag| text.contains(tag)) {
        let text = BREAKS.replace_all(&text, "\n");
        let text = TAGS.replace_all(&text, "");
        return with_spaces(&ANY_ENTITY.replace_all(&text, character));
    }
    text
}

/// The character that an entity of HTML stands for.
fn character(entity: &Captures<'_>) -> String {
    if let Some(name) = entity.get(3) {
        let name = name.as_str().trim_end_matches(';');
        let known = ENTITIES.iter().find(|(known, _)| *known == name);
        return known.map_or_else(|| entity[0].to_owned(), |(_, letter)| (*letter).to_owned());
    }
    let decimal = entity.get(1).map(|digits| digits.as_str().parse());
    let hex = entity.get(2).map(|digits| u32::from_str_radix(digits.as_str(), 16));
    let code = decimal.or(hex).and_then(Result::ok).filter(|code| *code > 0);
    code.and_then(char::from_u32).unwrap_or(char::REPLACEMENT_CHARACTER).to_string()
}

/// The text without the bar, comment sign or number before each of its lines.
fn unmarked(mut text: String) -> String {
    if let Some(mark) = most_frequent_mark(&text) {
        let before = Regex::new(&format!(r"(?m)^[ \t]{{0,3}}{} ?", regex::escape(mark)));
        if let Ok(before) = before {
            text = before.replace_all(&text, "").into_owned();
        }
    }
    let lines = || text.split('\n');
    let shown = || lines().filter(|line| !is_blank(line));
    // A hex dump has numbers before its lines, too, but not before all.
    let is_numbered = |line: &str| NUMBERED.is_match(line) && !STARTS_WITH_SLOT.is_match(line);
    if shown().count() > 2 && shown().all(is_numbered) {
        let plain: Vec<_> = lines().map(|line| NUMBERED.replace(line, "")).collect();
        return plain.join("\n");
    }
    text
}

/// The mark before most slots; of several, the first.
fn most_frequent_mark(text: &str) -> Option<&str> {
    let mut counts: IndexMap<&str, usize> = IndexMap::new();
    for found in MARK.captures_iter(text) {
        if let Some(mark) = found.get(1) {
            *counts.entry(mark.as_str()).or_default() += 1;
        }
    }
    let most = counts.values().max().copied()?;
    counts.into_iter().find(|(_, count)| *count == most).map(|(mark, _)| mark)
}

/// Both states of a unified difference, one after the other; any other text unchanged.
fn both_sides(text: String) -> String {
    if !DIFFERENCE.is_match(&text) {
        return text;
    }
    let is_about =
        |line: &str| ["---", "+++", "@@", "diff ", "index "].iter().any(|mark| line.starts_with(mark));
    let side = |other: char| -> String {
        let lines = text.split('\n').filter(|line| !is_about(line) && !line.starts_with(other));
        let lines: Vec<_> = lines.map(without_first).collect();
        lines.join("\n")
    };
    format!("{}\n\n{}", side('+'), side('-'))
}

fn without_first(line: &str) -> &str {
    let mut letters = line.chars();
    letters.next();
    letters.as_str()
}

/// The lines of a line that holds a whole function, as where a form took the line ends away.
fn unfolded(line: &str) -> Cow<'_, str> {
    if line.len() < *FOLDED_LETTERS.start() || !FOLDED_LETTERS.contains(&line.chars().count()) {
        return Cow::Borrowed(line);
    }
    let blanks = blanks_before_starts(line);
    if blanks.len() < FOLDED_STARTS {
        return Cow::Borrowed(line);
    }
    let (mut lines, mut from) = (String::with_capacity(line.len()), 0);
    for blank in blanks {
        lines.push_str(&line[from..blank.start]);
        lines.push('\n');
        from = blank.end;
    }
    lines.push_str(&line[from..]);
    Cow::Owned(lines)
}

/// The runs of blanks before what starts a line of lspci.
fn blanks_before_starts(line: &str) -> Vec<std::ops::Range<usize>> {
    let (mut found, mut start) = (Vec::new(), None);
    for (position, letter) in line.char_indices() {
        if is_space(letter) {
            start.get_or_insert(position);
        } else if let Some(start) = start.take()
            && START.is_match(&line[position..])
        {
            found.push(start..position);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: &str = "01:00.0 Ethernet controller: Example\n\tControl: I/O- Mem+ BusMaster+\n";

    #[test]
    fn marks_of_copying_are_undone() {
        let quoted = PLAIN.replace("01:00", "> 01:00").replace("\tControl", "> \tControl");
        let barred = PLAIN.replace("01:00", "| 01:00").replace("\tControl", "| \tControl");
        let fenced = format!("```\n{PLAIN}```\n");
        let prompted = PLAIN.replace("01:00", "root@box:~# 01:00");
        let upper = PLAIN.replace("01:00", "0A:00");
        let coloured = PLAIN.replace("Ethernet", "\u{1b}[1mEthernet\u{1b}[0m");
        for (copied, shown) in [
            (quoted, PLAIN.to_owned()),
            (barred, PLAIN.to_owned()),
            (fenced, format!("\n{PLAIN}\n")),
            (prompted, PLAIN.to_owned()),
            (upper, PLAIN.replace("01:00", "0a:00")),
            (coloured, PLAIN.to_owned()),
            (PLAIN.replace('\n', "\r\n"), PLAIN.to_owned()),
            (PLAIN.replace('\n', "\\n").replace('\t', "\\t"), PLAIN.to_owned()),
            (PLAIN.replace("Example", "&lt;a&#x3e; &amp;lt;"), PLAIN.replace("Example", "<a> &lt;")),
        ] {
            assert_eq!(as_printed(&copied, Stop::NEVER).unwrap(), shown, "{copied}");
        }
    }

    #[test]
    fn numbers_before_all_lines_are_removed() {
        assert_eq!(as_printed("  1: a\n  2: b\n  3: c", Stop::NEVER).unwrap(), "a\nb\nc");
        assert_eq!(as_printed("1: a\nb\n3: c", Stop::NEVER).unwrap(), "1: a\nb\n3: c");
    }

    #[test]
    fn both_sides_of_a_difference_are_kept() {
        let text = "--- a\n+++ b\n@@ -1,2 +1,2 @@\n same\n-old\n+new";
        assert_eq!(as_printed(text, Stop::NEVER).unwrap(), "same\nold\n\nsame\nnew");
    }

    #[test]
    fn a_function_on_one_line_is_taken_apart() {
        let filler = "Latency: 0, ".repeat(20);
        let text =
            format!("01:00.0 Ethernet controller: Example {filler} Capabilities: [40] a DevCap: b LnkSta: c");
        assert_eq!(as_printed(&text, Stop::NEVER).unwrap().lines().count(), 4);
    }
}
