//! Formats of captures, how each is known by its content, and the one way to read any of them.

use crate::event::{Event, Facts};
use crate::fields::Field;
use crate::input::Input;
use crate::{cells, cocotb, kernel_log, list, pcap, pcileech, signal_csv, simbricks, trace_text, vcd};
use pcie_refusal::{Kind, Refusal};
use std::io::Read;
use std::ops::ControlFlow;

/// A format of captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// TLPs in pcap-ng or pcap, each from its first header byte on.
    Raw,
    /// The records of Agilent analysers in pcap-ng, as cyrozap's tools write them.
    Cyrozap,
    /// TLPs in UDP, as NetTLP sends them.
    NetTlp,
    /// A protocol analyser's list of `Name(value)` cells.
    Text,
    /// A list with a line of column names: CSV, or fields of a dissector.
    List,
    /// Vivado's CSV of an integrated logic analyser.
    IlaCsv,
    /// Quartus' CSV of SignalTap.
    SignalTap,
    /// Value changes of a logic analyser or an RTL simulator.
    Vcd,
    /// A log of cocotbext-pcie.
    Cocotb,
    /// What PCILeech prints with `-vvv`.
    PciLeech,
    /// `TLP Header:` lines of a Linux kernel.
    KernelLog,
    /// A log of a NIC behind SimBricks' `nicbm`.
    SimBricks,
    /// A trace of `pcielab trace`.
    Trace,
}

impl Format {
    /// Every format.
    pub const ALL: [Self; 13] = [
        Self::Raw,
        Self::Cyrozap,
        Self::NetTlp,
        Self::Text,
        Self::List,
        Self::IlaCsv,
        Self::SignalTap,
        Self::Vcd,
        Self::Cocotb,
        Self::PciLeech,
        Self::KernelLog,
        Self::SimBricks,
        Self::Trace,
    ];

    /// Its word in options and facts.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Cyrozap => "cyrozap",
            Self::NetTlp => "nettlp",
            Self::Text => "text",
            Self::List => "list",
            Self::IlaCsv => "ila-csv",
            Self::SignalTap => "signaltap",
            Self::Vcd => "vcd",
            Self::Cocotb => "cocotb",
            Self::PciLeech => "pcileech",
            Self::KernelLog => "kernel-log",
            Self::SimBricks => "simbricks",
            Self::Trace => "trace",
        }
    }

    /// The format of a word.
    ///
    /// # Errors
    /// No format has the word; names those that exist.
    pub fn of_word(word: &str) -> Result<Self, Refusal> {
        Self::ALL.into_iter().find(|format| format.word() == word).ok_or_else(|| {
            let words = Self::ALL.map(Self::word).join(", ");
            Refusal::of("format", format!("{word:.40}"), format!("give one of {words}"))
                .kind(Kind::WrongValue)
        })
    }
}

/// How to read a capture. The defaults detect everything.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The format; None: the one that the content shows.
    pub format: Option<Format>,
    /// In pcap-ng and pcap: bytes of each packet before its TLP.
    pub skip_bytes: usize,
    /// In pcap-ng and pcap: link type of the packets that hold TLPs; None: 125 and 147 to 162, and NetTLP's in networks.
    pub link_type: Option<u32>,
    /// Time of the first record; 0 unless later ones may lie before it.
    pub first_time_ps: u64,
    /// In lists: the column of a field by its name there, and the unit of a time.
    pub columns: Vec<(Field, String)>,
    /// Unit of times without one: `ps`, `ns`, `us`, `ms` or `s`.
    pub time_unit: Option<String>,
    /// In samples of a logic analyser: ps between them. None: no times.
    pub clock_ps: Option<u64>,
    /// In value changes: name of the clock.
    pub clock: Option<String>,
}

/// Reads a capture and hands over its packets in the order of the file, until `take` breaks.
///
/// Memory does not grow with the file. A file compressed by gzip is unpacked on the way.
///
/// # Errors
/// The format is unknown, or the file does not follow it, or holds no packet; names the byte, line or record.
pub fn read(
    source: &mut dyn Read,
    options: &Options,
    take: &mut dyn FnMut(Event) -> ControlFlow<()>,
) -> Result<Facts, Refusal> {
    let mut input = Input::open(source)?;
    let start = input.peek(LOOKED_AT)?;
    let format = match options.format {
        Some(format) => format,
        None => detect(start).ok_or_else(|| unknown_format(start))?,
    };
    match format {
        Format::Raw | Format::Cyrozap | Format::NetTlp => pcap::read(input, options, take),
        Format::Text => cells::read(input, options, take),
        Format::List => list::read(input, options, take),
        Format::IlaCsv | Format::SignalTap => signal_csv::read(input, options, take, format),
        Format::Vcd => vcd::read(input, options, take),
        Format::Cocotb => cocotb::read(input, options, take),
        Format::PciLeech => pcileech::read(input, options, take),
        Format::KernelLog => kernel_log::read(input, options, take),
        Format::SimBricks => simbricks::read(input, options, take),
        Format::Trace => trace_text::read(input, options, take),
    }
}

/// Bytes at the start of a file that show its format.
const LOOKED_AT: usize = 1 << 16;

/// The format that the start of a file shows. A log may begin with other lines.
#[must_use]
pub fn detect(start: &[u8]) -> Option<Format> {
    if pcap::is_capture(start) {
        return Some(Format::Raw);
    }
    if start.iter().take(4096).filter(|byte| **byte < 9).count() > 4 {
        return None;
    }
    let text = String::from_utf8_lossy(start);
    if text.starts_with(trace_text::HEADER) {
        return Some(Format::Trace);
    }
    let text = text.trim_start_matches('\u{feff}');
    let first = text.trim_start();
    if first.starts_with("Sample in Buffer") || first.starts_with("\"Sample in Buffer") {
        return Some(Format::IlaCsv);
    }
    if first.starts_with('$')
        && ["$timescale", "$var", "$scope", "$enddefinitions"].iter().any(|word| text.contains(word))
    {
        return Some(Format::Vcd);
    }
    let mut cell_lines = 0;
    for line in text.lines() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("Data:") || trimmed.starts_with("\"Data:") {
            return Some(Format::SignalTap);
        }
        let format = if cocotb::is_line(line) {
            Format::Cocotb
        } else if kernel_log::is_line(line) {
            Format::KernelLog
        } else if simbricks::is_line(line) {
            Format::SimBricks
        } else if pcileech::is_line(line) {
            Format::PciLeech
        } else if list::is_header(line) {
            Format::List
        } else {
            cell_lines += u32::from(cells::is_line(line));
            if cell_lines < 2 {
                continue;
            }
            Format::Text
        };
        return Some(format);
    }
    (cell_lines > 0).then_some(Format::Text)
}

fn unknown_format(start: &[u8]) -> Refusal {
    let problem = if start.is_empty() { "the file is empty" } else { "no known format of captures" };
    let words: Vec<_> = Format::ALL.map(Format::word).into();
    Refusal::new(problem).kind(if start.is_empty() { Kind::Missing } else { Kind::Unsupported }).remedy(
        format!(
            "give a capture in pcap-ng or another known format, or name its format: {}",
            words.join(", ")
        ),
    )
}
