//! Samples of the four interfaces of an UltraScale+ block at 512 bits: Vivado's CSV with its line of bases, or value changes.
//!
//! Each packet starts in lane 0 of a beat, at the first cycle from its time on in which its interface is free. The
//! header of a TLP becomes a descriptor: sequence numbers, digests and tags above 255 are left out.

use super::{Encoder, Written};
use crate::event::{Event, Facts, Packet, Tlp};
use crate::ultrascale::{self, Port, user_512, user_bits_512};
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::{self, Write};

const WIDTH_DW: usize = 16;
/// Cycles without a beat that are written one by one.
const IDLE_MOST: u64 = 1 << 20;
/// Beats of an interface that may wait: then the clock goes on.
const WAITING_MOST: usize = 4096;

/// A beat.
struct Beat {
    cycle: u64,
    data: [u32; WIDTH_DW],
    keep: u16,
    last: bool,
    user: [u64; 3],
}

/// Writes samples.
pub(super) struct Streams {
    clock_ps: u64,
    as_changes: bool,
    /// The next cycle to write.
    cycle: u64,
    samples: u64,
    waiting: [VecDeque<Beat>; 4],
    free: [u64; 4],
    /// Values that were written last, for value changes.
    before: Vec<String>,
}

/// Names of the interfaces' signals, as Vivado's own examples have them.
fn prefix(port: Port) -> &'static str {
    match port {
        Port::Rq => "s_axis_rq",
        Port::Rc => "m_axis_rc",
        Port::Cq => "m_axis_cq",
        Port::Cc => "s_axis_cc",
    }
}

/// Signals of an interface and their bits.
fn signals(port: Port) -> [(&'static str, usize); 6] {
    [
        ("tdata", 512),
        ("tkeep", 16),
        ("tuser", user_bits_512(port)),
        ("tvalid", 1),
        ("tready", 1),
        ("tlast", 1),
    ]
}

/// The values of an interface in a cycle, in hexadecimal digits.
fn values(port: Port, beat: Option<&Beat>) -> [String; 6] {
    let mut data = String::with_capacity(128);
    let mut user = String::new();
    for word in beat.map_or([0; WIDTH_DW], |beat| beat.data).iter().rev() {
        let _ = write!(data, "{word:08x}");
    }
    let words = beat.map_or([0; 3], |beat| beat.user);
    let whole = format!("{:016x}{:016x}{:016x}", words[2], words[1], words[0]);
    user += &whole[whole.len() - user_bits_512(port).div_ceil(4)..];
    let flag = |value: bool| u8::from(value).to_string();
    [
        data,
        format!("{:04x}", beat.map_or(0, |beat| beat.keep)),
        user,
        flag(beat.is_some()),
        "1".to_owned(),
        flag(beat.is_some_and(|beat| beat.last)),
    ]
}

impl Streams {
    pub(super) fn new(clock_ps: u64, as_changes: bool) -> Self {
        Self {
            clock_ps,
            as_changes,
            cycle: 0,
            samples: 0,
            waiting: Default::default(),
            free: [0; 4],
            before: Vec::new(),
        }
    }

    fn push(&mut self, port: Port, tlp: &Tlp, cycle: u64) {
        let (words, enables) = ultrascale::encode(port, tlp);
        let index = port as usize;
        let mut cycle = cycle.max(self.free[index]);
        let beats = words.len().div_ceil(WIDTH_DW);
        for (number, part) in words.chunks(WIDTH_DW).enumerate() {
            let last = number + 1 == beats;
            let mut data = [0; WIDTH_DW];
            data[..part.len()].copy_from_slice(part);
            let keep = if part.len() == WIDTH_DW { u16::MAX } else { (1 << part.len()) - 1 };
            let user = user_512(port, number == 0, last.then_some(part.len() - 1), enables);
            self.waiting[index].push_back(Beat { cycle, data, keep, last, user });
            cycle += 1;
        }
        self.free[index] = cycle;
    }

    /// Writes the cycles before one.
    fn until(&mut self, end: u64, to: &mut dyn Write) -> io::Result<()> {
        while self.cycle < end {
            let next = self.waiting.iter().filter_map(|beats| beats.front()).map(|beat| beat.cycle).min();
            let next = next.unwrap_or(end).min(end);
            if next > self.cycle {
                if next - self.cycle > IDLE_MOST && !self.as_changes {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidInput,
                        format!(
                            "{} cycles without a beat: write value changes, or a shorter part",
                            next - self.cycle
                        ),
                    ));
                }
                self.row(false, to)?;
                self.cycle = if self.as_changes { next } else { self.cycle + 1 };
                continue;
            }
            self.row(true, to)?;
            self.cycle += 1;
        }
        Ok(())
    }

    /// Writes a cycle: its beats, or none.
    fn row(&mut self, moves: bool, to: &mut dyn Write) -> io::Result<()> {
        let mut cells = Vec::with_capacity(24);
        for (port, beats) in Port::ALL.into_iter().zip(&mut self.waiting) {
            let beat = beats.front().is_some_and(|beat| moves && beat.cycle == self.cycle);
            let beat = if beat { beats.pop_front() } else { None };
            cells.extend(values(port, beat.as_ref()));
        }
        if !self.as_changes {
            writeln!(to, "{},{},0,{}", self.samples, self.samples, cells.join(","))?;
            self.samples += 1;
            return Ok(());
        }
        // The values of a cycle stand before its edge.
        let mut text = format!("#{}\n0!\n", 2 * self.cycle * self.clock_ps / 2);
        for (index, digits) in cells.iter().enumerate() {
            if self.before.get(index) != Some(digits) {
                let (_, bits) = signals(Port::ALL[index / 6])[index % 6];
                let id = identifier(index);
                if bits == 1 {
                    let _ = writeln!(text, "{digits}{id}");
                } else {
                    let _ = writeln!(text, "b{} {id}", binary(digits));
                }
            }
        }
        let _ = write!(text, "#{}\n1!\n", self.cycle * self.clock_ps + self.clock_ps / 2);
        self.before = cells;
        to.write_all(text.as_bytes())
    }
}

/// The identifier of a signal: `"` and up; `!` is the clock.
fn identifier(index: usize) -> char {
    char::from(b'"' + index as u8)
}

/// Binary digits without leading zeros.
fn binary(hex: &str) -> String {
    let digits: String =
        hex.chars().map(|digit| format!("{:04b}", digit.to_digit(16).unwrap_or(0))).collect();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() { "0".to_owned() } else { digits.to_owned() }
}

impl Encoder for Streams {
    fn begin(&mut self, facts: &Facts, to: &mut dyn Write) -> io::Result<()> {
        if self.as_changes {
            let origin = if facts.simulated == Some(true) { "pcielab, simulated" } else { "pcielab" };
            let mut text = format!(
                "$version {origin} $end\n$timescale 1 ps $end\n$scope module pcie $end\n$var wire 1 ! user_clk $end\n"
            );
            for (index, port) in Port::ALL.into_iter().enumerate() {
                for (number, (name, bits)) in signals(port).into_iter().enumerate() {
                    let range = if bits > 1 { format!(" [{}:0]", bits - 1) } else { String::new() };
                    let id = identifier(6 * index + number);
                    let _ = writeln!(text, "$var wire {bits} {id} {}_{name}{range} $end", prefix(port));
                }
            }
            text += "$upscope $end\n$enddefinitions $end\n";
            return to.write_all(text.as_bytes());
        }
        let mut names = "Sample in Buffer,Sample in Window,TRIGGER".to_owned();
        let mut bases = "Radix - UNSIGNED,UNSIGNED,UNSIGNED".to_owned();
        for port in Port::ALL {
            for (name, bits) in signals(port) {
                let range = if bits > 1 { format!("[{}:0]", bits - 1) } else { String::new() };
                let _ = write!(names, ",{}_{name}{range}", prefix(port));
                bases += ",HEX";
            }
        }
        writeln!(to, "{names}\n{bases}")
    }

    fn event(&mut self, event: &Event, written: &mut Written, to: &mut dyn Write) -> io::Result<()> {
        let Packet::Tlp(tlp) = &event.packet else {
            written.leave_out("DLLP or ordered set");
            return Ok(());
        };
        let Some(port) = event.direction.and_then(|direction| Port::of(direction, tlp.kind)) else {
            written.leave_out("TLP without an interface");
            return Ok(());
        };
        if tlp.tag.is_some_and(|tag| tag > 255) {
            written.leave_out("upper bits of a tag");
        }
        let cycle = event.time_ps.map_or(self.cycle, |time| time.div_ceil(self.clock_ps)).max(self.cycle);
        self.until(cycle, to)?;
        self.push(port, tlp, cycle);
        written.events += 1;
        while let Some(full) = self.waiting.iter().find(|beats| beats.len() > WAITING_MOST) {
            let next = full.front().map_or(self.cycle, |beat| beat.cycle) + 1;
            self.until(next, to)?;
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Written, to: &mut dyn Write) -> io::Result<()> {
        let end = self.free.into_iter().max().unwrap_or(0) + 1;
        self.until(end, to)
    }
}
