//! pcap-ng with a private link type: plain TLPs, or the records of [`crate::frames`], which hold DLLPs and sequence numbers.
//!
//! Data that an event does not have are cut off as a snap length does; the packet's own length is stated beside. Errors that
//! pcap-ng has no flag for are comments.

use super::{Encoder, Written, stated};
use crate::dllp;
use crate::event::{Direction, Event, Facts, LinkError, Packet, Tlp};
use crate::frames::{COM, EDB, END, HEADER_BYTES, SDP, SPEEDS, STP, SYMBOL_ERROR, UPSTREAM};
use crate::header;
use crate::pcap::{
    BYTE_ORDER, COMMENT, CRC_ERROR, FLAGS, INBOUND, INTERFACE, NAME, OUTBOUND, PACKET, PROGRAM, RESOLUTION,
    SECTION, SYMBOL_ERROR as SYMBOL_FLAG,
};
use std::io::{self, Write};

/// Times in 10^-12 s.
const PICOSECONDS: u8 = 12;

/// Writes blocks.
pub(super) struct Blocks {
    link_type: u16,
    as_records: bool,
    interfaces: usize,
    comment: String,
    speed: u32,
    width: u32,
    number: u32,
    /// The next sequence number of each way, for TLPs without one.
    sequences: [u16; 2],
    /// The packet and the block in the making.
    packet: Vec<u8>,
    block: Vec<u8>,
}

impl Blocks {
    pub(super) fn new(link_type: u16, as_records: bool) -> Self {
        Self {
            link_type,
            as_records,
            interfaces: 0,
            comment: String::new(),
            speed: 1,
            width: 0,
            number: 0,
            sequences: [0; 2],
            packet: Vec::new(),
            block: Vec::new(),
        }
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(usize::from(u16::MAX))];
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Frames the block and writes it.
    fn flush(&mut self, kind: u32, to: &mut dyn Write) -> io::Result<()> {
        let length = (self.block.len() as u32 + 4).to_le_bytes();
        self.block.extend(length);
        self.block[..4].copy_from_slice(&kind.to_le_bytes());
        self.block[4..8].copy_from_slice(&length);
        to.write_all(&self.block)
    }

    fn start(&mut self) {
        self.block.clear();
        self.block.extend([0; 8]);
    }

    fn interface(&mut self, name: &str, to: &mut dyn Write) -> io::Result<()> {
        self.start();
        self.block.extend(self.link_type.to_le_bytes());
        self.block.extend([0; 6]);
        let comment = self.comment.clone();
        self.option(COMMENT, comment.as_bytes());
        self.option(NAME, name.as_bytes());
        self.option(RESOLUTION, &[PICOSECONDS]);
        self.option(0, &[]);
        self.interfaces += 1;
        self.flush(INTERFACE, to)
    }

    /// The bytes of a packet, and its length with what is cut off.
    fn bytes(&mut self, event: &Event) -> Option<usize> {
        self.packet.clear();
        if !self.as_records {
            let Packet::Tlp(tlp) = &event.packet else { return None };
            return self.plain(tlp);
        }
        let upstream = event.direction == Some(Direction::Upstream);
        let error = if event.error == Some(LinkError::BadSymbol) { SYMBOL_ERROR } else { 0 };
        let flags = self.width | self.speed << 8 | error | if upstream { UPSTREAM } else { 0 };
        self.packet.extend(self.number.to_le_bytes());
        self.packet.extend((event.time_ps.unwrap_or(0) / 1000).to_le_bytes());
        self.packet.extend([0; 4]);
        self.packet.extend(flags.to_le_bytes());
        let wrong = event.error == Some(LinkError::BadCrc);
        match &event.packet {
            Packet::Tlp(tlp) => {
                self.packet.push(STP);
                // Equal numbers would be read as a TLP that is sent again.
                let next = &mut self.sequences[usize::from(upstream)];
                let sequence = tlp.sequence.unwrap_or(*next) & 0xfff;
                *next = (sequence + 1) & 0xfff;
                self.packet.extend(sequence.to_be_bytes());
                let size = self.plain(tlp)?;
                let whole = HEADER_BYTES + 3 + size + 5;
                if self.packet.len() + 5 < whole {
                    return Some(whole);
                }
                let mut crc = crc32fast::hash(&self.packet[HEADER_BYTES + 1..]);
                let nullified = event.error == Some(LinkError::Nullified);
                if wrong || nullified {
                    crc = !crc;
                }
                self.packet.extend(crc.to_le_bytes());
                self.packet.push(if nullified { EDB } else { END });
            }
            Packet::Dllp(dllp) => {
                self.packet.push(SDP);
                let mut bytes = dllp::encode(*dllp);
                if wrong {
                    bytes[4] ^= 0xff;
                }
                self.packet.extend(bytes);
                self.packet.push(END);
            }
            Packet::Other => self.packet.push(COM),
        }
        Some(self.packet.len())
    }

    /// Appends a TLP's header and known data; its whole size.
    fn plain(&mut self, tlp: &Tlp) -> Option<usize> {
        let before = self.packet.len();
        header::encode(tlp, &mut self.packet);
        let size = header::size(tlp);
        let given = self.packet.len() - before;
        if given == 0 {
            return None;
        }
        // Behind whole data, a digest: unknown, so that it is cut, or zero in a record.
        if tlp.data.len() == tlp.data_bytes as usize && self.as_records {
            self.packet.resize(before + size, 0);
        }
        Some(size)
    }
}

impl Encoder for Blocks {
    fn begin(&mut self, facts: &Facts, to: &mut dyn Write) -> io::Result<()> {
        let kind = if self.as_records {
            "symbols of packets, each behind 20 bytes as in cyrozap's agilent-pcie-analyzer-re"
        } else {
            "TLPs, each from the first byte of its header"
        };
        self.comment = format!("private link type {} of pcielab: {kind};{}", self.link_type, stated(facts));
        let speed = SPEEDS.iter().find(|(_, tenths)| facts.rate_tenths == Some(*tenths));
        self.speed = speed.map_or(1, |(code, _)| *code);
        self.width = facts.lanes.map_or(0, |lanes| lanes.checked_ilog2().unwrap_or(0).min(4));
        self.start();
        self.block.extend(BYTE_ORDER.to_le_bytes());
        self.block.extend([1, 0, 0, 0]);
        self.block.extend([0xff; 8]);
        self.option(PROGRAM, b"pcielab");
        self.option(0, &[]);
        self.flush(SECTION, to)?;
        if facts.ports.is_empty() {
            self.interface("link", to)?;
        }
        for name in &facts.ports {
            self.interface(name, to)?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, written: &mut Written, to: &mut dyn Write) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        let Some(whole) = self.bytes(event) else {
            written.leave_out(match event.packet {
                Packet::Tlp(_) => "prefix",
                Packet::Dllp(_) => "DLLP",
                Packet::Other => "ordered set",
            });
            return Ok(());
        };
        while usize::from(event.port) >= self.interfaces {
            self.interface(&format!("port {}", self.interfaces), to)?;
        }
        if event.time_ps.is_none() {
            written.leave_out("missing time, written as 0");
        }
        let time = event.time_ps.unwrap_or(0);
        self.start();
        self.block.extend(u32::from(event.port).to_le_bytes());
        self.block.extend(((time >> 32) as u32).to_le_bytes());
        self.block.extend((time as u32).to_le_bytes());
        self.block.extend((self.packet.len() as u32).to_le_bytes());
        self.block.extend((whole as u32).to_le_bytes());
        self.block.extend(&self.packet);
        self.pad();
        let way = match event.direction {
            Some(Direction::Upstream) => INBOUND,
            Some(Direction::Downstream) => OUTBOUND,
            None => 0,
        };
        let (error, comment) = match event.error {
            Some(LinkError::BadCrc) => (CRC_ERROR, None),
            Some(LinkError::BadSymbol) => (SYMBOL_FLAG, None),
            error => (0, error.map(LinkError::word)),
        };
        if way | error != 0 {
            self.option(FLAGS, &(way | error).to_le_bytes());
        }
        if let Some(word) = comment {
            self.option(COMMENT, word.as_bytes());
        }
        if way | error != 0 || comment.is_some() {
            self.option(0, &[]);
        }
        written.events += 1;
        self.flush(PACKET, to)
    }

    fn end(&mut self, _: &mut Written, _: &mut dyn Write) -> io::Result<()> {
        Ok(())
    }
}
