//! Lists: CSV with every field of an event, and the cells of a protocol analyser.

use super::{Encoder, Written, stated};
use crate::event::{Direction, Dllp, Event, Facts, Packet, Tlp};
use crate::fields::Field;
use crate::words::{dllp_word, id_word, kind_word, status_word};
use std::fmt::Write as _;
use std::io::{self, Write};

/// Columns of the CSV after the time.
const COLUMNS: [Field; 28] = [
    Field::Direction,
    Field::Port,
    Field::Type,
    Field::Length,
    Field::DataBytes,
    Field::Requester,
    Field::Completer,
    Field::Tag,
    Field::FirstEnables,
    Field::LastEnables,
    Field::Address,
    Field::Status,
    Field::ByteCount,
    Field::LowerAddress,
    Field::MessageCode,
    Field::TrafficClass,
    Field::Attributes,
    Field::Digest,
    Field::Poisoned,
    Field::Sequence,
    Field::Error,
    Field::Channel,
    Field::HeaderCredits,
    Field::DataCredits,
    Field::HeaderScale,
    Field::DataScale,
    Field::Data,
    Field::Record,
];

/// The text of a field; empty: the event does not have it.
fn value(event: &Event, ports: &[String], field: Field) -> String {
    let number = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
    let flag = |value: Option<bool>| value.map(|value| u8::from(value).to_string()).unwrap_or_default();
    match field {
        Field::Record => return event.record.to_string(),
        Field::Direction => return event.direction.map(Direction::word).unwrap_or_default().to_owned(),
        Field::Port => return ports.get(usize::from(event.port)).cloned().unwrap_or_default(),
        Field::Error => return event.error.map(|error| error.word().to_owned()).unwrap_or_default(),
        _ => {}
    }
    match &event.packet {
        Packet::Tlp(tlp) => match field {
            Field::Type => kind_word(tlp),
            Field::Length => tlp.length_dw.to_string(),
            Field::DataBytes => tlp.data_bytes.to_string(),
            Field::Requester => tlp.requester.map(id_word).unwrap_or_default(),
            Field::Completer => tlp.completer.map(id_word).unwrap_or_default(),
            Field::Tag => number(tlp.tag.map(u64::from)),
            Field::FirstEnables => {
                tlp.first_enables.map(|enables| format!("{enables:04b}")).unwrap_or_default()
            }
            Field::LastEnables => {
                tlp.last_enables.map(|enables| format!("{enables:04b}")).unwrap_or_default()
            }
            Field::Address => tlp.address.map(|address| format!("{address:#x}")).unwrap_or_default(),
            Field::Status => tlp.status.map(status_word).unwrap_or_default(),
            Field::ByteCount => number(tlp.byte_count.map(u64::from)),
            Field::LowerAddress => tlp.lower_address.map(|low| format!("{low:#x}")).unwrap_or_default(),
            Field::MessageCode => tlp.message_code.map(|code| format!("{code:#x}")).unwrap_or_default(),
            Field::TrafficClass => number(tlp.traffic_class.map(u64::from)),
            Field::Attributes => number(tlp.attributes.map(u64::from)),
            Field::Digest => flag(tlp.digest),
            Field::Poisoned => flag(tlp.poisoned),
            Field::Sequence => number(tlp.sequence.map(u64::from)),
            Field::Data => tlp.data.iter().fold(String::new(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            }),
            Field::DataWords => words(tlp),
            _ => String::new(),
        },
        Packet::Dllp(dllp) => match (field, *dllp) {
            (Field::Type, dllp) => dllp_word(dllp),
            (Field::Sequence, Dllp::Ack { sequence } | Dllp::Nak { sequence }) => sequence.to_string(),
            (field, Dllp::Credits { channel, header, data, header_scale, data_scale, .. }) => match field {
                Field::Channel => channel.to_string(),
                Field::HeaderCredits => header.to_string(),
                Field::DataCredits => data.to_string(),
                Field::HeaderScale => header_scale.to_string(),
                Field::DataScale => data_scale.to_string(),
                _ => String::new(),
            },
            _ => String::new(),
        },
        Packet::Other => {
            if field == Field::Type {
                "other".to_owned()
            } else {
                String::new()
            }
        }
    }
}

/// The data as double words, the first byte lowest.
fn words(tlp: &Tlp) -> String {
    let words = tlp.data.chunks(4).map(|four| {
        four.iter().rev().fold(String::new(), |mut text, byte| {
            let _ = write!(text, "{byte:02X}");
            text
        })
    });
    let words: Vec<_> = words.collect();
    if words.is_empty() { String::new() } else { format!("0: {}", words.join(" ")) }
}

/// A name in a cell: without what would end it.
fn safe(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_control() || "\",()\n".contains(letter) { '_' } else { letter })
        .collect()
}

/// The CSV.
#[derive(Default)]
pub(super) struct List {
    ports: Vec<String>,
}

impl Encoder for List {
    fn begin(&mut self, facts: &Facts, to: &mut dyn Write) -> io::Result<()> {
        self.ports = facts.ports.iter().map(|name| safe(name)).collect();
        let names: Vec<_> = COLUMNS.iter().map(|field| field.word()).collect();
        writeln!(to, "# pcielab list of packets{}\ntime_ps,{}", stated(facts), names.join(","))
    }

    fn event(&mut self, event: &Event, written: &mut Written, to: &mut dyn Write) -> io::Result<()> {
        let mut line = event.time_ps.map(|time| time.to_string()).unwrap_or_default();
        for field in COLUMNS {
            line.push(',');
            line += &value(event, &self.ports, field);
        }
        written.events += 1;
        writeln!(to, "{line}")
    }

    fn end(&mut self, _: &mut Written, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}

/// Names of cells in the order of analysers.
const CELLS: [(Field, &str); 23] = [
    (Field::Length, "Length"),
    (Field::DataBytes, "Data bytes"),
    (Field::Requester, "RequesterID"),
    (Field::Tag, "Tag"),
    (Field::Completer, "CompleterID"),
    (Field::Address, "Address"),
    (Field::FirstEnables, "1st BE"),
    (Field::LastEnables, "Last BE"),
    (Field::Status, "Status"),
    (Field::ByteCount, "Byte Cnt"),
    (Field::LowerAddress, "Lwr Addr"),
    (Field::MessageCode, "Message code"),
    (Field::TrafficClass, "TC"),
    (Field::Attributes, "Attr"),
    (Field::Digest, "TD"),
    (Field::Poisoned, "EP"),
    (Field::Channel, "VC"),
    (Field::HeaderCredits, "HdrFC"),
    (Field::DataCredits, "DataFC"),
    (Field::HeaderScale, "HdrScale"),
    (Field::DataScale, "DataScale"),
    (Field::Error, "Error"),
    (Field::DataWords, "Data"),
];

/// The cells.
#[derive(Default)]
pub(super) struct Cells {
    ports: Vec<String>,
    speed: String,
}

impl Encoder for Cells {
    fn begin(&mut self, facts: &Facts, to: &mut dyn Write) -> io::Result<()> {
        self.ports = facts.ports.iter().map(|name| safe(name)).collect();
        if let (Some(rate), Some(lanes)) = (facts.rate_tenths, facts.lanes) {
            self.speed = format!("{}.{} x{lanes}", rate / 10, rate % 10);
        }
        writeln!(to, "# pcielab list of packets{}", stated(facts))
    }

    fn event(&mut self, event: &Event, written: &mut Written, to: &mut dyn Write) -> io::Result<()> {
        let mut line = format!("Packet({})", event.record);
        let arrow = match event.direction {
            Some(Direction::Downstream) => " R->",
            Some(Direction::Upstream) => " R<-",
            None => "",
        };
        if !arrow.is_empty() {
            line += &format!("{arrow}({})", self.speed);
        }
        let kind = value(event, &self.ports, Field::Type);
        match &event.packet {
            Packet::Tlp(tlp) => {
                if let Some(sequence) = tlp.sequence {
                    line += &format!(" TLP({sequence})");
                }
                line += &if kind.ends_with(')') { format!(" {kind}") } else { format!(" Type({kind})") };
            }
            Packet::Dllp(Dllp::Ack { sequence } | Dllp::Nak { sequence }) => {
                line += &format!(" DLLP {kind} AckNak_Seq_Num({sequence})");
            }
            Packet::Dllp(_) if kind.ends_with(')') => line += &format!(" {kind}"),
            _ => line += &format!(" Type({kind})"),
        }
        for (field, name) in CELLS {
            let text = value(event, &self.ports, field);
            if !text.is_empty() {
                line += &format!(" {name}({text})");
            }
        }
        let port = value(event, &self.ports, Field::Port);
        if !port.is_empty() {
            line += &format!(" Channel({port})");
        }
        if let Some(time) = event.time_ps {
            let (seconds, rest) = (time / 1_000_000_000_000, time % 1_000_000_000_000);
            let part = |exponent: u32| rest / 1000_u64.pow(exponent) % 1000;
            line += &format!(
                " Time Stamp({seconds:04} . {:03} {:03} {:03} {:03} s)",
                part(3),
                part(2),
                part(1),
                part(0)
            );
        }
        written.events += 1;
        writeln!(to, "{line}")
    }

    fn end(&mut self, _: &mut Written, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
