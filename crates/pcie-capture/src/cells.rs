//! Lists of protocol analysers as text: cells in the form `Name(value)`.
//!
//! A packet begins at a cell `Packet(number)`; where none has one, each line is a packet. A cell's name may have other words before
//! it (`DLLP ACK AckNak_Seq_Num(3884)`), and a second value behind the first (`MWr(32)(10:00000)`). An arrow gives the
//! way: `R->` from the root complex, `R<-` to it.

use crate::event::{Direction, Facts};
use crate::fields::{Field, Origin, Row};
use crate::format::{Format, Options};
use crate::input::{End, Input, Take, ended, give, malformed};
use crate::words;
use pcie_refusal::{Kind, Refusal};
use std::collections::HashMap;

/// Whether a line looks like a packet in an analyser's list.
pub(crate) fn is_line(line: &str) -> bool {
    let mut known = 0;
    for (name, _) in pairs(line).take(30) {
        known += u32::from(Field::named(name.trim()).is_some() || last_word(name).is_some());
    }
    known >= 3
}

/// The field of the last words of a cell's name.
fn last_word(name: &str) -> Option<Field> {
    let starts = name.char_indices().filter(|(_, letter)| *letter == ' ').map(|(at, _)| at + 1);
    std::iter::once(0).chain(starts).find_map(|start| Field::named(&name[start..]))
}

/// Names and values of the cells of a line; what follows the last cell has no value.
fn pairs(line: &str) -> impl Iterator<Item = (&str, &str)> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let open = rest.find('(')?;
        let name = &rest[..open];
        let mut depth = 0_i32;
        let close = rest[open..].char_indices().find_map(|(at, letter)| {
            depth += i32::from(letter == '(') - i32::from(letter == ')');
            (depth == 0).then_some(open + at)
        })?;
        let value = &rest[open + 1..close];
        rest = &rest[close + 1..];
        Some((name.trim(), value))
    })
}

/// Reads a list.
pub(crate) fn read(mut input: Input<'_>, options: &Options, take: Take<'_>) -> Result<Facts, Refusal> {
    let mut facts = Facts { format: Format::Text.word().to_owned(), ..Facts::default() };
    let mut reader = Reader {
        options,
        origin: Origin::default(),
        row: None,
        record: 0,
        events: 0,
        in_blocks: None,
        names: HashMap::new(),
    };
    let result = reader.lines(&mut input, take, &mut facts);
    ended(result, facts)
}

struct Reader<'o> {
    options: &'o Options,
    origin: Origin,
    /// The packet so far, and the line where it starts.
    row: Option<(Row, u64)>,
    record: u64,
    events: u64,
    in_blocks: Option<bool>,
    /// Fields by the names of cells.
    names: HashMap<String, Option<Field>>,
}

/// Most bytes of lines that one value joins.
const VALUE_MOST: usize = 1 << 14;
/// Names of cells that are remembered.
const NAMES_MOST: usize = 4096;

impl Reader<'_> {
    fn lines(&mut self, input: &mut Input<'_>, take: Take<'_>, facts: &mut Facts) -> Result<(), End> {
        let mut open = String::new();
        while let Some(line) = input.line()? {
            let line = open.clone() + &String::from_utf8_lossy(line);
            if line.starts_with('#') {
                crate::list::stated(&line, facts);
                continue;
            }
            // A value, as of data, may go on in the next lines.
            let count = |bracket: u8| line.bytes().filter(|byte| *byte == bracket).count();
            if count(b'(') > count(b')') && line.len() < VALUE_MOST {
                open = line + " ";
                continue;
            }
            open.clear();
            let in_blocks = match self.in_blocks {
                Some(known) => known,
                None if pairs(&line).next().is_none() => continue,
                None => *self.in_blocks.insert(pairs(&line).any(|(name, _)| is_packet(name))),
            };
            let number = input.line_number();
            if !in_blocks {
                self.flush(take, facts)?;
                self.begin(number);
            }
            for (name, value) in pairs(&line) {
                if is_packet(name) {
                    self.flush(take, facts)?;
                    self.begin(number);
                    if let Some((row, _)) = &mut self.row {
                        row.set(Field::Record, value, None);
                    }
                    continue;
                }
                if let Some((row, _)) = &mut self.row {
                    let known = self.names.get(name).copied();
                    let field = known.unwrap_or_else(|| last_word(name));
                    if known.is_none() && self.names.len() < NAMES_MOST {
                        self.names.insert(name.to_owned(), field);
                    }
                    cell(row, (name, field), value, facts, self.options).map_err(|problem| {
                        malformed(&format!("line {number}"), problem).remedy(
                            "correct the cell: `Name(value)`, for example `Tag(12)` or `1st BE(1111)`",
                        )
                    })?;
                }
            }
            if let Some((row, _)) = &mut self.row
                && !row.is_typed()
            {
                // A type may stand alone behind the last cell.
                let tail = line.rsplit(')').next().unwrap_or_default();
                tail.split_whitespace().any(|word| row.set_type(word));
            }
        }
        self.flush(take, facts)?;
        if !open.is_empty() {
            facts.skip("value without an end", input.line_number());
        }
        if self.events == 0 {
            return Err(Refusal::new("no cells with the type of a TLP or DLLP")
                .kind(Kind::Missing)
                .remedy("give a list of `Name(value)` cells, a type like MRd(32) among them")
                .into());
        }
        Ok(())
    }

    fn begin(&mut self, line: u64) {
        self.record += 1;
        self.row = Some((Row::default(), line));
    }

    fn flush(&mut self, take: Take<'_>, facts: &mut Facts) -> Result<(), End> {
        let Some((row, _)) = self.row.take() else { return Ok(()) };
        match row.event(self.record, facts) {
            Some(mut event) => {
                event.time_ps = self.origin.since(event.time_ps, self.options.first_time_ps);
                self.events += 1;
                give(take, event)
            }
            None => {
                facts.skip("packet without a type", self.record);
                Ok(())
            }
        }
    }
}

fn is_packet(name: &str) -> bool {
    name.split_whitespace().last() == Some("Packet")
}

/// Takes a cell.
fn cell(
    row: &mut Row,
    (name, field): (&str, Option<Field>),
    value: &str,
    facts: &mut Facts,
    options: &Options,
) -> Result<(), String> {
    // Words before the name, and words that are types: `DLLP ACK AckNak_Seq_Num`, `Mem MWr`, `CplD`.
    for word in name.split_whitespace() {
        if !row.is_typed() && !matches!(word, "Mem" | "TLP" | "Tag" | "Length" | "Type") {
            let with_value = format!("{word}({value})");
            let is_last = name.ends_with(word);
            let _ = (is_last && row.set_type(&with_value)) || row.set_type(word);
        }
        if let Some(direction) = arrow(word) {
            row.set_direction(direction);
            speed(value, facts);
        }
    }
    let Some(field) = field else { return Ok(()) };
    let field = if field == Field::Data { Field::DataWords } else { field };
    if field == Field::Port && words::direction(value).is_some() && value.len() > 1 {
        return row.set(Field::Direction, value, None).ok_or_else(String::new);
    }
    let unit = options.time_unit.as_deref().and_then(words::unit);
    let unit = unit.or((field == Field::Time).then_some(12).filter(|_| value.contains('.')));
    row.set(field, value, unit).ok_or_else(|| {
        format!("{} is {value:.60?}, which is no {}", name.chars().take(40).collect::<String>(), field.word())
    })
}

fn arrow(word: &str) -> Option<Direction> {
    let has_arrow = ["->", "<-", "→", "←"].iter().any(|arrow| word.contains(arrow));
    if has_arrow { words::direction(word) } else { None }
}

/// Rate and width in the value of an arrow: `2.5 x4`.
fn speed(value: &str, facts: &mut Facts) {
    for word in value.split_whitespace() {
        if let Some(lanes) = word.strip_prefix('x') {
            facts.lanes = lanes.parse().ok().or(facts.lanes);
        } else if let Some(ps) = words::time_ps(word.trim_end_matches("GT/s"), Some(1)) {
            facts.rate_tenths = u16::try_from(ps).ok().filter(|rate| *rate > 0).or(facts.rate_tenths);
        }
    }
}
