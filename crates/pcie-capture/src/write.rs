//! Writers: events to files that the readers of this crate, and other tools, read.

mod blocks;
mod streams;
mod texts;

use crate::event::{Event, Facts};
use crate::format::Format;
use pcie_refusal::{Kind, Refusal};
use std::io::{self, Write};

/// How to write a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteOptions {
    /// In pcap-ng: the private link type of the packets, one of 147 to 162. By default 147 (`USER0`) for plain TLPs,
    /// and 158 (`USER11`) for records.
    pub link_type: Option<u16>,
    /// In samples and value changes: period of the clock in ps.
    pub clock_ps: u64,
}

impl Default for WriteOptions {
    fn default() -> Self {
        Self { link_type: None, clock_ps: 4000 }
    }
}

/// What a writer has written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Events in the file.
    pub events: u64,
    /// What the format cannot hold, with its count.
    pub left_out: Vec<(&'static str, u64)>,
}

impl Written {
    fn leave_out(&mut self, what: &'static str) {
        match self.left_out.iter_mut().find(|(known, _)| *known == what) {
            Some((_, count)) => *count += 1,
            None => self.left_out.push((what, 1)),
        }
    }
}

/// Formats that can be written.
pub const WRITTEN: [Format; 6] =
    [Format::Raw, Format::Cyrozap, Format::List, Format::Text, Format::IlaCsv, Format::Vcd];

/// The part of a writer that differs between formats.
trait Encoder {
    fn begin(&mut self, facts: &Facts, to: &mut dyn Write) -> io::Result<()>;
    fn event(&mut self, event: &Event, written: &mut Written, to: &mut dyn Write) -> io::Result<()>;
    fn end(&mut self, written: &mut Written, to: &mut dyn Write) -> io::Result<()>;
}

/// Writes events, in the order of time.
pub struct Writer<W: Write> {
    encoder: Box<dyn Encoder>,
    written: Written,
    to: W,
}

impl<W: Write> Writer<W> {
    /// Starts a file.
    ///
    /// # Errors
    /// The format is only read, or an option is out of range; the target fails.
    pub fn new(format: Format, facts: &Facts, options: &WriteOptions, mut to: W) -> Result<Self, Refusal> {
        if let Some(link_type) = options.link_type
            && !(147..=162).contains(&link_type)
        {
            let remedy = "give one of 147 to 162 (USER0 to USER15): no public link type is of TLPs";
            return Err(Refusal::of("link_type", link_type, remedy).kind(Kind::OutOfRange));
        }
        if options.clock_ps == 0 || options.clock_ps > 1_000_000_000 {
            let remedy = "give 1 to 1000000000 ps";
            return Err(Refusal::of("clock_ps", options.clock_ps, remedy).kind(Kind::OutOfRange));
        }
        let mut encoder: Box<dyn Encoder> = match format {
            Format::Raw => Box::new(blocks::Blocks::new(options.link_type.unwrap_or(147), false)),
            Format::Cyrozap => Box::new(blocks::Blocks::new(options.link_type.unwrap_or(158), true)),
            Format::List => Box::new(texts::List::default()),
            Format::Text => Box::new(texts::Cells::default()),
            Format::IlaCsv => Box::new(streams::Streams::new(options.clock_ps, false)),
            Format::Vcd => Box::new(streams::Streams::new(options.clock_ps, true)),
            _ => {
                let words: Vec<_> = WRITTEN.iter().map(|format| format.word()).collect();
                return Err(Refusal::of(
                    "format",
                    format.word(),
                    format!("write one of {}", words.join(", ")),
                )
                .problem("this format is only read")
                .kind(Kind::Unsupported));
            }
        };
        encoder.begin(facts, &mut to).map_err(failed)?;
        Ok(Self { encoder, written: Written::default(), to })
    }

    /// Writes an event. What the format cannot hold is left out and counted.
    ///
    /// # Errors
    /// The target fails.
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.encoder.event(event, &mut self.written, &mut self.to)
    }

    /// Ends the file; returns what it holds, and the target.
    ///
    /// # Errors
    /// The target fails.
    pub fn finish(mut self) -> io::Result<(Written, W)> {
        self.encoder.end(&mut self.written, &mut self.to)?;
        self.to.flush()?;
        Ok((self.written, self.to))
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn failed(error: io::Error) -> Refusal {
    Refusal::new(format!("cannot write: {error}")).kind(Kind::NotAllowed)
}

/// What a file says of itself, as pairs that the readers take over.
fn stated(facts: &Facts) -> String {
    let mut text = String::new();
    let mut say = |key: &str, value: Option<String>| {
        if let Some(value) = value {
            text += &format!(" {key}={value}");
        }
    };
    say("rate-tenths", facts.rate_tenths.map(|rate| rate.to_string()));
    say("lanes", facts.lanes.map(|lanes| lanes.to_string()));
    say("simulated", facts.simulated.map(|simulated| simulated.to_string()));
    say("resolution-ps", facts.resolution_ps.map(|step| step.to_string()));
    text
}
