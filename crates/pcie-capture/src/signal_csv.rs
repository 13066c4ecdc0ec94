//! Samples of logic analysers in FPGAs as CSV: Vivado's integrated logic analyser, and Quartus' SignalTap.
//!
//! Vivado: a line of column names, a line of bases that begins with `Radix`, then a sample a line without prefixes.
//! SignalTap: sections; behind the line `Data:` a line of names whose first cell has the unit of time, then samples. A
//! sample of Vivado has no time: the options give the clock's period. Then the samples of one window must be of
//! consecutive cycles.

use crate::buses::{BITS_MOST, Buses, Signal, Values};
use crate::event::Facts;
use crate::format::{Format, Options};
use crate::input::{End, Input, Take, ended, malformed};
use crate::list::cells;
use crate::words;
use pcie_refusal::{Kind, Refusal};
use std::collections::HashMap;

const COLUMNS_MOST: usize = 8192;

/// A column: the signal it belongs to, and the bits that it holds.
#[derive(Clone, Copy)]
struct Column {
    signal: usize,
    low: usize,
    bits: usize,
    base: u32,
    is_signed: bool,
}

/// A column's name without its range, and the range: `path/sig[31:0]`, `path|sig[31..0]`, `sig[3]`.
fn ranged(name: &str) -> (String, usize, usize) {
    let name = name.trim().trim_end_matches('=').trim();
    let name = name.replace('|', "/");
    if let Some((front, range)) = name.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        let ends = range.split_once("..").or_else(|| range.split_once(':'));
        let (high, low) = ends.unwrap_or((range, range));
        if let (Ok(high), Ok(low)) = (high.trim().parse::<usize>(), low.trim().parse::<usize>()) {
            let (low, high) = (low.min(high), low.max(high));
            if high < BITS_MOST {
                return (front.trim().to_owned(), low, high - low + 1);
            }
        }
    }
    (name, 0, 1)
}

/// Reads samples.
pub(crate) fn read(
    mut input: Input<'_>,
    options: &Options,
    take: Take<'_>,
    format: Format,
) -> Result<Facts, Refusal> {
    let mut facts = Facts { format: format.word().to_owned(), simulated: Some(false), ..Facts::default() };
    let result = samples(&mut input, options, take, &mut facts, format == Format::SignalTap);
    ended(result, facts)
}

/// The signals of columns, with those that are a bit of a bus regrouped.
fn signals(names: &[String]) -> (Vec<Signal>, Vec<Option<Column>>) {
    let mut signals: Vec<Signal> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    let mut columns = Vec::new();
    for name in names {
        let (name, low, bits) = ranged(name);
        let signal = *by_name.entry(name.clone()).or_insert_with(|| {
            signals.push(Signal { name, bits: 0, net: signals.len() });
            signals.len() - 1
        });
        signals[signal].bits = signals[signal].bits.max(low + bits);
        columns.push(Some(Column { signal, low, bits, base: 16, is_signed: false }));
    }
    (signals, columns)
}

fn base(word: &str) -> Option<(u32, bool)> {
    Some(match word.trim().to_ascii_uppercase().as_str() {
        "HEX" | "HEXADECIMAL" => (16, false),
        "UNSIGNED" | "DECIMAL" | "UNSIGNED DECIMAL" => (10, false),
        "SIGNED" | "SIGNED DECIMAL" => (10, true),
        "BINARY" | "BIN" => (2, false),
        "OCTAL" => (8, false),
        _ => return None,
    })
}

/// Puts a cell's number into the words of its signal.
fn put(cell: &str, column: Column, to: &mut [u64]) -> Option<()> {
    let cell = cell.trim();
    let cell = cell.strip_prefix("0x").unwrap_or(cell);
    let (cell, base) = match cell.as_bytes().last() {
        Some(b'h' | b'H') => (&cell[..cell.len() - 1], 16),
        _ => (cell, column.base),
    };
    for bit in column.low..column.low + column.bits {
        if let Some(word) = to.get_mut(bit / 64) {
            *word &= !(1 << (bit % 64));
        }
    }
    let mut set = |bit: usize, value: u64, width: usize| {
        let bit = column.low + bit;
        if let Some(word) = to.get_mut(bit / 64) {
            *word |= value << (bit % 64);
        }
        if bit % 64 + width > 64
            && let Some(word) = to.get_mut(bit / 64 + 1)
        {
            *word |= value >> (64 - bit % 64);
        }
    };
    if base == 10 {
        let value = if column.is_signed { cell.parse::<i64>().ok()? as u64 } else { cell.parse().ok()? };
        let value = if column.bits < 64 { value & ((1 << column.bits) - 1) } else { value };
        set(0, value, 64);
        return Some(());
    }
    let width = match base {
        16 => 4,
        8 => 3,
        _ => 1,
    };
    let mut bit = 0;
    for digit in cell.bytes().rev() {
        if matches!(digit, b' ' | b'_') {
            continue;
        }
        let value = match digit {
            b'x' | b'X' | b'z' | b'Z' => 0,
            digit => u64::from(char::from(digit).to_digit(base)?),
        };
        if bit + width > column.bits {
            let fits = column.bits.saturating_sub(bit);
            if value >> fits.min(63) != 0 {
                return None;
            }
        }
        if bit < column.bits {
            set(bit, value, width);
        }
        bit += width;
    }
    (bit > 0).then_some(())
}

fn samples(
    input: &mut Input<'_>,
    options: &Options,
    take: Take<'_>,
    facts: &mut Facts,
    is_signaltap: bool,
) -> Result<(), End> {
    if is_signaltap {
        loop {
            let Some(line) = input.line()? else {
                return Err(malformed(&input.in_line(), "no line `Data:`")
                    .remedy("give the whole CSV of SignalTap")
                    .into());
            };
            let line = String::from_utf8_lossy(line);
            if line.trim_start().trim_start_matches('"').starts_with("Data:") {
                break;
            }
        }
    }
    let names = loop {
        let Some(line) = input.line()? else {
            return Err(malformed(&input.in_line(), "no line of column names")
                .remedy("give the whole CSV")
                .into());
        };
        let line = String::from_utf8_lossy(line).into_owned();
        if !line.trim().is_empty() {
            break line.trim_start_matches('\u{feff}').to_owned();
        }
    };
    let names: Vec<String> = cells(&names, b',').take(COLUMNS_MOST).map(str::to_owned).collect();
    let (signals, mut columns) = signals(&names);
    let mut buses = Buses::find(&signals, facts)?;
    for column in &mut columns {
        *column = column.filter(|column| buses.needs(column.signal));
    }
    let mut values = Values::of(&signals);
    let window = names.iter().position(|name| name == "Sample in Window").filter(|_| !is_signaltap);
    let unit = is_signaltap
        .then(|| names.first().and_then(|name| name.split([' ', ':', '(', ')']).find_map(words::unit)))
        .flatten();
    facts.resolution_ps = if is_signaltap { None } else { options.clock_ps };
    let mut number: u64 = 0;
    let mut start = None;
    let (mut before, mut cycle) = (None, 0_u64);
    while let Some(line) = input.line()? {
        let line = String::from_utf8_lossy(line).into_owned();
        if line.trim().is_empty() {
            continue;
        }
        if number == 0 && line.trim_start().trim_start_matches('"').starts_with("Radix") {
            for (index, (cell, column)) in cells(&line, b',').zip(&mut columns).enumerate() {
                let cell = cell.strip_prefix("Radix - ").filter(|_| index == 0).unwrap_or(cell);
                if let Some(column) = column {
                    (column.base, column.is_signed) = base(cell).ok_or_else(|| {
                        malformed(
                            &format!("line {}", input.line_number()),
                            format!("base {cell:.20?} of {:.60}", names[index]),
                        )
                        .remedy("export with HEX, BINARY, OCTAL, SIGNED or UNSIGNED")
                    })?;
                }
            }
            continue;
        }
        number += 1;
        let mut time = None;
        let mut given = 0;
        for (index, (cell, column)) in cells(&line, b',').zip(&columns).enumerate() {
            given += 1;
            if index == 0 && is_signaltap {
                time = words::time_ps(cell, unit.or(Some(0)));
            }
            if Some(index) == window {
                // A gap in the numbers of a window is a gap in time; the next window starts at once.
                let sample: Option<u64> = cell.parse().ok();
                cycle += match (before, sample) {
                    (Some(before), Some(sample)) if sample > before => sample - before,
                    (None, _) => 0,
                    _ => 1,
                };
                before = sample;
            }
            let Some(column) = column else { continue };
            if put(cell, *column, values.get_mut(column.signal)).is_none() {
                let name: String = names[index].chars().take(60).collect();
                return Err(malformed(
                    &input.in_line(),
                    format!("{name} is {cell:.60?}, no number of its base and width"),
                )
                .remedy("export the samples again")
                .into());
            }
        }
        if given < columns.len() {
            return Err(malformed(&input.in_line(), format!("{given} cells instead of {}", columns.len()))
                .remedy("give the whole file")
                .into());
        }
        let time_ps = if is_signaltap {
            time.map(|time| time - *start.get_or_insert(time.min(start.unwrap_or(time))))
        } else {
            options
                .clock_ps
                .map(|clock| clock.saturating_mul(if window.is_some() { cycle } else { number - 1 }))
        };
        let time_ps = time_ps.map(|time| time.saturating_add(options.first_time_ps));
        buses.sample(&values, time_ps, number, facts, take)?;
    }
    buses.end(facts, take)?;
    nothing_moved(&buses, number)
}

/// Refuses samples without a packet.
pub(crate) fn nothing_moved(buses: &Buses, samples: u64) -> Result<(), End> {
    if buses.events > 0 {
        return Ok(());
    }
    Err(Refusal::new(format!("none of {samples} samples ends a packet"))
        .kind(Kind::Missing)
        .remedy("capture while requests move, with tvalid, tready and tlast or tuser")
        .into())
}
