//! Value changes (IEEE 1364, section 18) of the buses of hard blocks, from a logic analyser or an RTL simulator.
//!
//! Signals are sampled at each rising edge of one clock, with the values before the edge, as registers see them. An
//! unknown bit counts as 0.

use crate::buses::{BITS_MOST, Buses, Signal, Values};
use crate::event::Facts;
use crate::format::{Format, Options};
use crate::input::{End, Input, Take, ended, malformed};
use crate::signal_csv::nothing_moved;
use pcie_refusal::{Kind, Refusal};
use std::collections::HashMap;

/// Most signals of a file.
const SIGNALS_MOST: usize = 1 << 20;
/// Letters of a signal's path that are kept, from its end.
const PATH_MOST: usize = 400;
/// Most bytes of changes at one time.
const CHANGES_MOST: usize = 1 << 24;

/// Where an identifier's value goes.
#[derive(Clone, Copy)]
struct Target {
    signal: usize,
    low: usize,
    bits: usize,
}

/// The declarations of a file.
#[derive(Default)]
struct Declared {
    signals: Vec<Signal>,
    by_name: HashMap<String, usize>,
    targets: HashMap<Vec<u8>, Vec<Target>>,
    /// Names and identifiers of signals of one bit that may be clocks.
    clocks: Vec<(String, Vec<u8>)>,
    /// None: the file does not say, as those of Migen.
    unit_fs: Option<u64>,
    simulator: bool,
}

/// Reads value changes.
pub(crate) fn read(mut input: Input<'_>, options: &Options, take: Take<'_>) -> Result<Facts, Refusal> {
    let mut facts = Facts { format: Format::Vcd.word().to_owned(), ..Facts::default() };
    let result = changes(&mut input, options, take, &mut facts);
    ended(result, facts)
}

impl Declared {
    /// Reads the declarations, to `$enddefinitions`.
    fn read(input: &mut Input<'_>) -> Result<Self, Refusal> {
        let mut declared = Self::default();
        let (mut scopes, mut command): (Vec<String>, Vec<String>) = (Vec::new(), Vec::new());
        loop {
            let at = format!("line {}", input.line_number() + 1);
            let Some(line) = input.line()? else {
                return Err(malformed(&at, "no `$enddefinitions`").remedy("give the whole VCD"));
            };
            for word in String::from_utf8_lossy(line).split_ascii_whitespace() {
                if word != "$end" {
                    if command.len() < 64 {
                        command.push(word.chars().take(200).collect());
                    }
                    continue;
                }
                let words: Vec<&str> = command.iter().map(String::as_str).collect();
                match words[..] {
                    ["$scope", _, name, ..] if scopes.len() < 200 => scopes.push(name.to_owned()),
                    ["$upscope"] => {
                        scopes.pop();
                    }
                    ["$timescale", ..] => {
                        let unit = timescale(&words[1..].concat());
                        declared.unit_fs = Some(unit.ok_or_else(|| {
                            malformed(&at, "no timescale like `1 ps`").remedy("correct `$timescale`")
                        })?);
                    }
                    ["$version", ..] => {
                        let version = words[1..].join(" ").to_ascii_lowercase();
                        declared.simulator =
                            ["icarus", "verilator", "modelsim", "questa", "xcelium", "vcs", "ghdl"]
                                .iter()
                                .any(|name| version.contains(name));
                    }
                    ["$var", _, bits, id, name, ..] => {
                        let bits = bits.parse().ok().filter(|bits| (1..=BITS_MOST).contains(bits));
                        let range = words.get(5).copied().unwrap_or("");
                        if let Some(bits) = bits {
                            declared.signal(&scopes, bits, id, name, range, &at)?;
                        }
                    }
                    ["$enddefinitions"] => return Ok(declared),
                    _ => {}
                }
                command.clear();
            }
        }
    }

    fn signal(
        &mut self,
        scopes: &[String],
        bits: usize,
        id: &str,
        name: &str,
        range: &str,
        at: &str,
    ) -> Result<(), Refusal> {
        let (name, own_range) =
            name.split_once('[').map_or((name, range), |(name, _)| (name, &name[name.len()..]));
        let range = if range.is_empty() { own_range } else { range };
        let inner = range.trim_matches(['[', ']']);
        // One bit of a bus: `name [3]`.
        let low = if bits == 1 && !inner.contains(':') { inner.parse().unwrap_or(0) } else { 0 };
        if low >= BITS_MOST {
            return Ok(());
        }
        if self.signals.len() >= SIGNALS_MOST {
            return Err(
                malformed(at, format!("more than {SIGNALS_MOST} signals")).remedy("dump the buses alone")
            );
        }
        let path = format!("{}/{name}", scopes.join("/"));
        let long = path.chars().count().saturating_sub(PATH_MOST);
        let path: String = path.chars().skip(long).collect();
        // Verilator shows the ports of the top module twice.
        if scopes.iter().any(|scope| scope == "$rootio") {
            return Ok(());
        }
        let net =
            self.targets.get(id.as_bytes()).and_then(|targets| targets.first()).map(|known| known.signal);
        let signals = &mut self.signals;
        let signal = *self.by_name.entry(path.clone()).or_insert_with(|| {
            let net = net.unwrap_or(signals.len());
            signals.push(Signal { name: path.clone(), bits: 0, net });
            signals.len() - 1
        });
        self.signals[signal].bits = self.signals[signal].bits.max(low + bits);
        let lower = name.to_ascii_lowercase();
        if bits == 1 && ["clk", "clock"].iter().any(|word| lower.contains(word)) {
            self.clocks.push((path, id.as_bytes().to_vec()));
        }
        self.targets.entry(id.as_bytes().to_vec()).or_default().push(Target { signal, low, bits });
        Ok(())
    }

    /// The identifier of the clock.
    fn clock(&self, options: &Options) -> Result<Vec<u8>, Refusal> {
        let named = |wanted: &str| {
            let suffix = format!("/{wanted}");
            self.clocks
                .iter()
                .find(|(name, _)| name == wanted || name.ends_with(&suffix))
                .map(|(_, id)| id.clone())
        };
        let listed = || {
            let names: Vec<_> = self.clocks.iter().take(20).map(|(name, _)| format!("{name:.60}")).collect();
            if names.is_empty() {
                "dump the clock of the buses".to_owned()
            } else {
                format!("name one (--clock): {}", names.join(", "))
            }
        };
        if let Some(wanted) = &options.clock {
            let any = self
                .by_name
                .iter()
                .find(|(name, _)| name.as_str() == wanted || name.ends_with(&format!("/{wanted}")));
            let id = any.and_then(|(_, signal)| {
                self.targets
                    .iter()
                    .find(|(_, targets)| targets.iter().any(|target| target.signal == *signal))
                    .map(|(id, _)| id.clone())
            });
            return named(wanted)
                .or(id)
                .ok_or_else(|| Refusal::of("clock", format!("{wanted:.60}"), listed()).kind(Kind::NotFound));
        }
        let mut ids: Vec<&Vec<u8>> = self.clocks.iter().map(|(_, id)| id).collect();
        ids.sort_unstable();
        ids.dedup();
        if let Some(user) = named("user_clk") {
            return Ok(user);
        }
        match ids[..] {
            [only] => Ok(only.clone()),
            [] => Err(Refusal::new("no clock among the signals").kind(Kind::Missing).remedy(listed())),
            _ => Err(Refusal::new("several signals may be the clock").kind(Kind::Conflict).remedy(listed())),
        }
    }
}

/// A timescale in fs.
fn timescale(text: &str) -> Option<u64> {
    let end = text.find(|letter: char| !letter.is_ascii_digit())?;
    let count: u64 = text[..end].parse().ok()?;
    let exponent = crate::words::unit(&text[end..])? + 3;
    count.checked_mul(10_u64.checked_pow(u32::try_from(exponent).ok()?)?)
}

fn changes(input: &mut Input<'_>, options: &Options, take: Take<'_>, facts: &mut Facts) -> Result<(), End> {
    let declared = Declared::read(input)?;
    let clock = declared.clock(options)?;
    let mut buses = Buses::find(&declared.signals, facts)?;
    let targets: HashMap<&[u8], Vec<Target>> = declared
        .targets
        .iter()
        .map(|(id, targets)| {
            (id.as_slice(), targets.iter().copied().filter(|target| buses.needs(target.signal)).collect())
        })
        .filter(|(_, targets): &(&[u8], Vec<Target>)| !targets.is_empty())
        .collect();
    facts.simulated = declared.simulator.then_some(true);
    facts.resolution_ps = declared.unit_fs.map_or(options.clock_ps, |unit| Some((unit / 1000).max(1)));
    let mut values = Values::of(&declared.signals);
    // Changes of the present time: identifiers and digits, one after the other.
    let mut pending: Vec<u8> = Vec::new();
    let mut marks: Vec<(usize, usize)> = Vec::new();
    let (mut time, mut level, mut rises) = (0_u64, false, false);
    let mut start = None;
    let mut samples = 0_u64;
    loop {
        let number = input.line_number() + 1;
        let line = input.line()?;
        let is_end = line.is_none();
        let line = line.unwrap_or(b"#");
        let line = line.trim_ascii();
        match line.first() {
            Some(b'#') => {
                let next = if is_end {
                    time
                } else {
                    decimal(&line[1..]).filter(|next| *next >= time).ok_or_else(|| {
                        malformed(
                            &format!("line {number}"),
                            format!("no later time: {:.40?}", String::from_utf8_lossy(line)),
                        )
                        .remedy("give the whole VCD, its times ascending")
                    })?
                };
                if rises {
                    samples += 1;
                    let at = match declared.unit_fs {
                        Some(unit) => {
                            let ps = u128::from(time) * u128::from(unit) / 1000;
                            let ps = u64::try_from(ps).unwrap_or(u64::MAX);
                            Some(ps - *start.get_or_insert(ps))
                        }
                        None => options.clock_ps.map(|clock| clock.saturating_mul(samples - 1)),
                    };
                    let at = at.map(|at| at.saturating_add(options.first_time_ps));
                    buses.sample(&values, at, samples, facts, take)?;
                }
                rises = false;
                let mut from = 0;
                for (id_end, end) in marks.drain(..) {
                    if let Some(targets) = targets.get(&pending[from..id_end]) {
                        for target in targets {
                            put(&pending[id_end..end], *target, values.get_mut(target.signal));
                        }
                    }
                    from = end;
                }
                pending.clear();
                time = next;
                if is_end {
                    break;
                }
            }
            Some(digit @ (b'0' | b'1' | b'x' | b'X' | b'z' | b'Z')) => {
                let id = &line[1..];
                if id == clock.as_slice() {
                    rises |= !level && *digit == b'1';
                    level = *digit == b'1';
                }
                if targets.contains_key(id) {
                    pending.extend(id);
                    let end = pending.len();
                    pending.push(*digit);
                    marks.push((end, pending.len()));
                }
            }
            Some(b'b' | b'B') => {
                let Some(space) = line.iter().position(|byte| *byte == b' ') else {
                    return Err(malformed(&format!("line {number}"), "a vector without an identifier")
                        .remedy("give the whole VCD")
                        .into());
                };
                let id = line[space..].trim_ascii();
                if targets.contains_key(id) {
                    pending.extend(id);
                    let end = pending.len();
                    pending.extend(&line[1..space]);
                    marks.push((end, pending.len()));
                }
            }
            _ => {}
        }
        if pending.len() > CHANGES_MOST {
            return Err(malformed(&format!("line {number}"), "too many changes at one time")
                .remedy("give a VCD with times")
                .into());
        }
    }
    buses.end(facts, take)?;
    nothing_moved(&buses, samples)
}

fn decimal(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.trim().parse().ok()
}

/// Puts the digits of a change into a signal; they are extended by zeros.
fn put(digits: &[u8], target: Target, to: &mut [u64]) {
    for bit in target.low..target.low + target.bits {
        if bit % 64 == 0 && target.low + target.bits - bit >= 64 {
            to[bit / 64] = 0;
        } else {
            to[bit / 64] &= !(1 << (bit % 64));
        }
    }
    for (bit, digit) in digits.iter().rev().take(target.bits).enumerate() {
        if *digit == b'1' {
            let bit = target.low + bit;
            to[bit / 64] |= 1 << (bit % 64);
        }
    }
}
