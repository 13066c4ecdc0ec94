//! Captures in pcap-ng and pcap, by link type.
//!
//! Blocks are those of the pcap-ng draft (draft-ietf-opsawg-pcapng): section header, interface description, enhanced,
//! simple and old packets; records of pcap those of draft-ietf-opsawg-pcap. The link types 125 (`PCI_EXP`) and 147 to
//! 162 (`USER0` to `USER15`) hold TLPs, or the records of [`crate::frames`]: no public document says which, so
//! that the packets decide. Ethernet and IP hold TLPs only as NetTLP sends them.

use crate::event::{Direction, Event, Facts, LinkError, Packet};
use crate::format::{Format, Options};
use crate::frames::{self, Records};
use crate::header::{self, Malformed};
use crate::input::{End, Input, LONGEST, Take, ended, give, malformed};
use crate::nettlp;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use std::ops::RangeInclusive;

pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE: u32 = 1;
const OLD_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
pub(crate) const PACKET: u32 = 6;
pub(crate) const BYTE_ORDER: u32 = 0x1a2b_3c4d;
/// Options of any block, of an interface and of an enhanced packet.
pub(crate) const COMMENT: u16 = 1;
pub(crate) const NAME: u16 = 2;
pub(crate) const RESOLUTION: u16 = 9;
const HARDWARE: u16 = 15;
/// Seconds to add to all times of an interface.
const OFFSET: u16 = 14;
pub(crate) const FLAGS: u16 = 2;
/// Of a section: the program that wrote it.
pub(crate) const PROGRAM: u16 = 4;
pub(crate) const INBOUND: u32 = 1;
pub(crate) const OUTBOUND: u32 = 2;
pub(crate) const CRC_ERROR: u32 = 1 << 24;
pub(crate) const SYMBOL_ERROR: u32 = 1 << 31;
/// First words of pcap, with the units of its times in a second.
const OLD_MAGIC: [(u32, u64); 2] = [(0xa1b2_c3d4, 1_000_000), (0xa1b2_3c4d, 1_000_000_000)];
const OLD_HEADER_BYTES: usize = 24;
const OLD_RECORD_BYTES: usize = 16;
/// The link type is in the lower bits; higher ones tell of frame check sequences.
const LINK_TYPE_BITS: u32 = (1 << 28) - 1;
const PICOSECONDS: u128 = 1_000_000_000_000;
/// The link type that libpcap reserves for PCI Express.
const PCI_EXP: u32 = 125;
/// Link types without a public meaning, `USER0` to `USER15`.
pub(crate) const USER: RangeInclusive<u32> = 147..=162;
/// Least size of an Ethernet frame without its check sequence: shorter ones are padded.
const LEAST_FRAME: usize = 60;
const INTERFACES_MOST: usize = 1 << 16;

/// Whether a file starts as pcap-ng or pcap does.
pub(crate) fn is_capture(start: &[u8]) -> bool {
    let Some(word) = start.first_chunk().copied() else { return false };
    u32::from_le_bytes(word) == SECTION || old_format(word).is_some()
}

/// Byte order and units of a pcap by its first word.
fn old_format(word: [u8; 4]) -> Option<(bool, u64)> {
    OLD_MAGIC.iter().find_map(|&(magic, units)| {
        let little = magic.to_le_bytes() == word;
        (little || magic.to_be_bytes() == word).then_some((little, units))
    })
}

/// What the packets of an interface hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Unknown,
    Raw,
    Records,
    NetTlp,
}

/// An interface of a section.
#[derive(Clone, Debug)]
struct Interface {
    link_type: u32,
    units_per_second: u128,
    /// Picoseconds of a unit, where they are whole.
    unit_ps: Option<u64>,
    offset_ps: i128,
    port: u16,
    content: Content,
}

impl Interface {
    fn new(link_type: u32, units_per_second: u128, port: u16) -> Self {
        let unit_ps = PICOSECONDS
            .is_multiple_of(units_per_second)
            .then(|| u64::try_from(PICOSECONDS / units_per_second).ok())
            .flatten();
        Self { link_type, units_per_second, unit_ps, offset_ps: 0, port, content: Content::Unknown }
    }

    fn picoseconds(&self, units: u64) -> i128 {
        let units = u128::from(units);
        let ps = match self.unit_ps {
            Some(unit) => units * u128::from(unit),
            None => units * PICOSECONDS / self.units_per_second,
        };
        i128::try_from(ps).unwrap_or(i128::MAX).saturating_add(self.offset_ps)
    }
}

/// A packet of the file.
struct Captured<'a> {
    at: Option<i128>,
    bytes: &'a [u8],
    /// Bytes before the capture cut it.
    whole: usize,
    flags: u32,
    comment: &'a [u8],
}

/// What becomes packets.
struct Reader<'o> {
    options: &'o Options,
    facts: Facts,
    interfaces: Vec<Interface>,
    records: Records,
    /// Packets so far.
    number: u64,
    start: Option<i128>,
    events: u64,
    /// Link type of the first packet that is not taken.
    foreign: Option<u32>,
    taken: u64,
}

/// Reads a capture in pcap-ng or pcap.
pub(crate) fn read(mut input: Input<'_>, options: &Options, take: Take<'_>) -> Result<Facts, Refusal> {
    let mut reader = Reader {
        options,
        facts: Facts { format: "pcapng".to_owned(), ..Facts::default() },
        interfaces: Vec::new(),
        records: Records::default(),
        number: 0,
        start: None,
        events: 0,
        foreign: None,
        taken: 0,
    };
    let first = input.peek(4)?.first_chunk().copied().unwrap_or_default();
    let result = match old_format(first) {
        Some((little, units)) => reader.old(&mut input, little, units, take),
        None => reader.blocks(&mut input, take),
    };
    if result.is_ok() {
        reader.check()?;
    }
    let content = reader.interfaces.iter().find(|interface| interface.content != Content::Unknown);
    let format = match content.map(|interface| interface.content) {
        Some(Content::Records) => Format::Cyrozap,
        Some(Content::NetTlp) => Format::NetTlp,
        _ => Format::Raw,
    };
    let program = reader.facts.format.strip_prefix("pcapng").unwrap_or_default().to_owned();
    reader.facts.format = format!("{}{program}", format.word());
    ended(result, reader.facts)
}

fn word(little: bool, bytes: &[u8], at: usize) -> Option<u32> {
    let word = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(if little { u32::from_le_bytes(word) } else { u32::from_be_bytes(word) })
}

fn half(little: bool, bytes: &[u8], at: usize) -> Option<u16> {
    let half = bytes.get(at..at + 2)?.try_into().ok()?;
    Some(if little { u16::from_le_bytes(half) } else { u16::from_be_bytes(half) })
}

/// The options at the end of a block.
fn options(little: bool, mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (code, length) = (half(little, bytes, 0)?, usize::from(half(little, bytes, 2)?));
        let value = bytes.get(4..4 + length).filter(|_| code != 0)?;
        bytes = bytes.get(4 + length.next_multiple_of(4)..).unwrap_or_default();
        Some((code, value))
    })
}

fn damaged(at: u64, problem: &str) -> Refusal {
    malformed(&format!("byte {at}"), problem).remedy("give a whole capture in pcap-ng or pcap")
}

impl Reader<'_> {
    fn damaged(&self, at: u64, problem: &str) -> Refusal {
        damaged(at, &format!("{problem} after {} packets", self.number))
    }

    fn blocks(&mut self, input: &mut Input<'_>, take: Take<'_>) -> Result<(), End> {
        let mut little = true;
        loop {
            let at = input.at();
            let start = input.peek(12)?;
            if start.is_empty() {
                return Ok(());
            }
            if start.len() < 12 {
                return Err(self.damaged(at, "half a block").into());
            }
            if start[..4] == SECTION.to_le_bytes() {
                little = start[8..12] == BYTE_ORDER.to_le_bytes();
                if !little && start[8..12] != BYTE_ORDER.to_be_bytes() {
                    return Err(self.damaged(at, "no byte order of pcap-ng").into());
                }
                self.interfaces.clear();
            } else if at == 0 {
                return Err(self.damaged(at, "no section header of pcap-ng, and no header of pcap").into());
            }
            let kind = word(little, start, 0).unwrap_or_default();
            let length = word(little, start, 4).unwrap_or_default() as usize;
            if length < 12 || !length.is_multiple_of(4) || length > LONGEST {
                return Err(self.damaged(at, "a block with a wrong length").into());
            }
            let block = input.peek(length)?;
            if block.len() < length {
                return Err(self.damaged(at, "half a block").into());
            }
            let body = &block[8..length - 4];
            match kind {
                SECTION => self.section(little, body),
                INTERFACE => self.interface(little, at, body)?,
                PACKET => self.enhanced(little, at, body, take)?,
                OLD_PACKET => self.old_packet(little, at, body, take)?,
                SIMPLE_PACKET => self.simple(little, at, body, take)?,
                _ => {}
            }
            input.consume(length);
        }
    }

    fn section(&mut self, little: bool, body: &[u8]) {
        for (code, value) in options(little, body.get(16..).unwrap_or_default()) {
            if code == PROGRAM && self.facts.format == "pcapng" {
                let program: String = String::from_utf8_lossy(value).chars().take(60).collect();
                self.facts.format = format!("pcapng by {program}");
            }
        }
    }

    /// Notes an interface: its link type, its name, and its units of time (microseconds unless an option says otherwise).
    fn interface(&mut self, little: bool, at: u64, body: &[u8]) -> Result<(), End> {
        let Some(link_type) = half(little, body, 0) else {
            return Err(self.damaged(at, "half an interface").into());
        };
        if self.interfaces.len() >= INTERFACES_MOST {
            return Err(self.damaged(at, "more than 65,536 interfaces").into());
        }
        let mut units_per_second = 1_000_000;
        let (mut name, mut offset) = (String::new(), 0_i64);
        for (code, value) in options(little, body.get(8..).unwrap_or_default()) {
            match (code, value) {
                (RESOLUTION, [value, ..]) => {
                    let exponent = u32::from(value & 0x7f);
                    units_per_second =
                        if value & 0x80 == 0 { 10_u128.pow(exponent.min(18)) } else { 1 << exponent.min(60) };
                }
                (NAME, name_bytes) => {
                    name = String::from_utf8_lossy(name_bytes).chars().take(80).collect();
                }
                (HARDWARE, module) if self.facts.format == "pcapng" => {
                    let module: String = String::from_utf8_lossy(module).chars().take(60).collect();
                    self.facts.format = format!("pcapng of {module}");
                }
                (OFFSET, seconds) => {
                    let seconds = seconds.try_into().unwrap_or_default();
                    offset = if little { i64::from_le_bytes(seconds) } else { i64::from_be_bytes(seconds) };
                }
                (COMMENT, comment) => self.stated(comment),
                _ => {}
            }
        }
        if name.is_empty() {
            name = format!("interface {}", self.interfaces.len());
        }
        let port = self.facts.port(&name);
        let unit = (PICOSECONDS / units_per_second) as u64;
        self.facts.resolution_ps =
            Some(self.facts.resolution_ps.map_or(unit.max(1), |least| least.min(unit.max(1))));
        let offset_ps = i128::from(offset) * PICOSECONDS as i128;
        let interface = Interface::new(link_type.into(), units_per_second, port);
        self.interfaces.push(Interface { offset_ps, ..interface });
        Ok(())
    }

    /// Takes over what the comment of a writer of this crate says.
    fn stated(&mut self, comment: &[u8]) {
        let text = std::str::from_utf8(comment).unwrap_or_default();
        for pair in text.split_whitespace() {
            match pair.split_once('=') {
                Some(("rate-tenths", value)) => self.facts.rate_tenths = value.parse().ok(),
                Some(("lanes", value)) => self.facts.lanes = value.parse().ok(),
                Some(("simulated", value)) => self.facts.simulated = value.parse().ok(),
                _ => {}
            }
        }
    }

    fn enhanced(&mut self, little: bool, at: u64, body: &[u8], take: Take<'_>) -> Result<(), End> {
        let fields = (word(little, body, 0), word(little, body, 4), word(little, body, 8));
        let sizes = (word(little, body, 12), word(little, body, 16));
        let ((Some(interface), Some(high), Some(low)), (Some(captured), Some(whole))) = (fields, sizes)
        else {
            return Err(self.damaged(at, "half a packet").into());
        };
        let end = 20 + captured as usize;
        let Some(bytes) = body.get(20..end) else { return Err(self.damaged(at, "half a packet").into()) };
        let (mut flags, mut comment) = (0, &[][..]);
        for (code, value) in options(little, body.get(end.next_multiple_of(4)..).unwrap_or_default()) {
            match code {
                FLAGS => flags = word(little, value, 0).unwrap_or(0),
                COMMENT => comment = value,
                _ => {}
            }
        }
        let time = u64::from(high) << 32 | u64::from(low);
        self.of_interface(interface, at, take, |interface| Captured {
            at: Some(interface.picoseconds(time)),
            bytes,
            whole: (whole as usize).max(bytes.len()),
            flags,
            comment,
        })
    }

    fn old_packet(&mut self, little: bool, at: u64, body: &[u8], take: Take<'_>) -> Result<(), End> {
        let fields = (half(little, body, 0), word(little, body, 4), word(little, body, 8));
        let sizes = (word(little, body, 12), word(little, body, 16));
        let ((Some(interface), Some(high), Some(low)), (Some(captured), Some(whole))) = (fields, sizes)
        else {
            return Err(self.damaged(at, "half a packet").into());
        };
        let Some(bytes) = body.get(20..20 + captured as usize) else {
            return Err(self.damaged(at, "half a packet").into());
        };
        let time = u64::from(high) << 32 | u64::from(low);
        let whole = (whole as usize).max(bytes.len());
        self.of_interface(interface.into(), at, take, |interface| Captured {
            at: Some(interface.picoseconds(time)),
            bytes,
            whole,
            flags: 0,
            comment: &[],
        })
    }

    fn simple(&mut self, little: bool, at: u64, body: &[u8], take: Take<'_>) -> Result<(), End> {
        let Some(whole) = word(little, body, 0) else {
            return Err(self.damaged(at, "half a packet").into());
        };
        let bytes = &body[4..];
        let bytes = bytes.get(..whole as usize).unwrap_or(bytes);
        let whole = whole as usize;
        self.of_interface(0, at, take, |_| Captured { at: None, bytes, whole, flags: 0, comment: &[] })
    }

    fn of_interface<'b>(
        &mut self,
        index: u32,
        at: u64,
        take: Take<'_>,
        packet: impl FnOnce(&Interface) -> Captured<'b>,
    ) -> Result<(), End> {
        let index = index as usize;
        let Some(interface) = self.interfaces.get(index) else {
            return Err(self.damaged(at, "a packet of an unknown interface").into());
        };
        let packet = packet(interface);
        self.packet(index, &packet, take)
    }

    /// The packets of a pcap.
    fn old(&mut self, input: &mut Input<'_>, little: bool, units: u64, take: Take<'_>) -> Result<(), End> {
        let header = input.peek(OLD_HEADER_BYTES)?;
        let is_version_2 = half(little, header, 4) == Some(2);
        let network = word(little, header, 20).filter(|_| is_version_2);
        let Some(network) = network else { return Err(damaged(4, "no header of pcap 2").into()) };
        input.consume(OLD_HEADER_BYTES);
        self.facts.port("interface 0");
        self.facts.resolution_ps = Some(1_000_000_000_000 / units);
        self.interfaces.push(Interface::new(network & LINK_TYPE_BITS, units.into(), 0));
        loop {
            let at = input.at();
            let start = input.peek(OLD_RECORD_BYTES)?;
            if start.is_empty() {
                return Ok(());
            }
            let fields = (word(little, start, 0), word(little, start, 4));
            let sizes = (word(little, start, 8), word(little, start, 12));
            let ((Some(seconds), Some(fraction)), (Some(captured), Some(whole))) = (fields, sizes) else {
                return Err(self.damaged(at, "half a packet").into());
            };
            let length = OLD_RECORD_BYTES + captured as usize;
            if length > LONGEST {
                return Err(self.damaged(at, "a packet with a wrong length").into());
            }
            let record = input.peek(length)?;
            if record.len() < length {
                return Err(self.damaged(at, "half a packet").into());
            }
            let bytes = &record[OLD_RECORD_BYTES..];
            let time =
                u128::from(seconds) * PICOSECONDS + u128::from(fraction) * (PICOSECONDS / u128::from(units));
            let at = i128::try_from(time).ok();
            let whole = (whole as usize).max(bytes.len());
            self.packet(0, &Captured { at, bytes, whole, flags: 0, comment: &[] }, take)?;
            input.consume(length);
        }
    }

    /// Whether packets of a link type are looked at.
    fn takes(&self, link_type: u32) -> bool {
        match self.options.link_type {
            Some(wanted) => wanted == link_type,
            None => link_type == PCI_EXP || USER.contains(&link_type) || nettlp::is_network(link_type),
        }
    }

    fn packet(&mut self, index: usize, packet: &Captured<'_>, take: Take<'_>) -> Result<(), End> {
        self.number += 1;
        let (link_type, port) = (self.interfaces[index].link_type, self.interfaces[index].port);
        if !self.takes(link_type) {
            self.foreign.get_or_insert(link_type);
            self.facts.skip("packet of another link type", self.number);
            return Ok(());
        }
        self.taken += 1;
        let known = self.interfaces[index].content;
        let content = if known == Content::Unknown { self.sniff(link_type, packet) } else { known };
        let read = match content {
            Content::Unknown => None,
            Content::Records => self
                .records
                .read(packet.bytes, packet.whole, &mut self.facts)
                .map(|record| (Some(record.direction), record.packet, record.error)),
            Content::NetTlp => nettlp::find(link_type, packet.bytes).and_then(|found| {
                let read = header::decode(found.tlp).ok()?;
                let direction = found.direction(read.tlp.kind);
                Some((Some(direction), Packet::Tlp(read.tlp), None))
            }),
            Content::Raw => self.raw(link_type, packet),
        };
        let Some((direction, content_packet, error)) = read else {
            self.facts.skip("packet that is no TLP", self.number);
            return Ok(());
        };
        self.interfaces[index].content = content;
        let time_ps = packet.at.map(|at| {
            let since = at - *self.start.get_or_insert(at) + i128::from(self.options.first_time_ps);
            u64::try_from(since.max(0)).unwrap_or(u64::MAX)
        });
        self.events += 1;
        let event = Event {
            time_ps,
            direction: direction.or(match packet.flags & 3 {
                INBOUND => Some(Direction::Upstream),
                OUTBOUND => Some(Direction::Downstream),
                _ => None,
            }),
            port,
            record: self.number,
            packet: content_packet,
            error: marked(packet).or(error),
        };
        give(take, event)
    }

    /// A TLP behind the bytes that the options skip.
    fn raw(
        &self,
        link_type: u32,
        packet: &Captured<'_>,
    ) -> Option<(Option<Direction>, Packet, Option<LinkError>)> {
        let skip = self.options.skip_bytes;
        let bytes = packet.bytes.get(skip..)?;
        let whole = packet.whole - skip;
        match header::decode(bytes) {
            Ok(read) => {
                let is_exact = read.bytes == whole
                    || (packet.whole == LEAST_FRAME && read.bytes < whole)
                    || read.bytes + 4 == whole;
                if nettlp::is_network(link_type) && !is_exact {
                    return None;
                }
                let digest = if read.tlp.digest == Some(true) { 4 } else { 0 };
                let error = (whole + digest < read.bytes).then_some(LinkError::Malformed);
                Some((None, Packet::Tlp(read.tlp), error))
            }
            Err(Malformed::Short | Malformed::Reserved(_)) => None,
        }
    }

    /// What a packet holds.
    fn sniff(&self, link_type: u32, packet: &Captured<'_>) -> Content {
        match self.options.format {
            Some(Format::Raw) => return Content::Raw,
            Some(Format::Cyrozap) => return Content::Records,
            Some(Format::NetTlp) => return Content::NetTlp,
            _ => {}
        }
        if self.options.skip_bytes > 0 {
            return Content::Raw;
        }
        let raw = header::decode(packet.bytes).ok();
        if nettlp::find(link_type, packet.bytes)
            .is_some_and(|found| header::decode(found.tlp).is_ok_and(|read| read.bytes <= found.tlp.len()))
        {
            Content::NetTlp
        } else if raw.as_ref().is_some_and(|raw| raw.bytes == packet.whole) {
            if nettlp::is_network(link_type) && self.options.link_type.is_none() {
                Content::Unknown
            } else {
                Content::Raw
            }
        } else if frames::is_record(packet.bytes) {
            Content::Records
        } else if raw.is_some() && !nettlp::is_network(link_type) {
            Content::Raw
        } else {
            Content::Unknown
        }
    }

    /// Refuses a whole capture without a packet that can be read.
    fn check(&self) -> Result<(), Refusal> {
        if self.number == 0 || self.events > 0 {
            return Ok(());
        }
        let network = self.interfaces.iter().map(|interface| interface.link_type);
        let network = network.filter(|link_type| self.takes(*link_type)).find(|t| nettlp::is_network(*t));
        match (self.taken, network.or(self.foreign), self.options.link_type) {
            (0, Some(link_type), wanted) => Err(foreign(link_type, wanted)),
            (_, Some(link_type), None) if nettlp::is_network(link_type) => Err(foreign(link_type, None)),
            _ => {
                let skip = self.options.skip_bytes;
                let at = network.map(|t| format!(" of {}", link_name(t))).unwrap_or_default();
                Err(Refusal::new(format!(
                    "none of its {} packets{at} holds a TLP at byte {skip}",
                    self.taken
                ))
                .kind(RefusalKind::Missing)
                .remedy("give the bytes before each TLP (--skip), or another link type or format"))
            }
        }
    }
}

/// The error that the file marks.
fn marked(packet: &Captured<'_>) -> Option<LinkError> {
    if packet.flags & CRC_ERROR != 0 {
        return Some(LinkError::BadCrc);
    }
    if packet.flags & SYMBOL_ERROR != 0 {
        return Some(LinkError::BadSymbol);
    }
    LinkError::ALL.into_iter().find(|error| packet.comment == error.word().as_bytes())
}

/// The refusal of a capture whose packets have another link type.
fn foreign(link_type: u32, wanted: Option<u32>) -> Refusal {
    let taken = wanted.map_or("125 or 147 to 162".to_owned(), |wanted| wanted.to_string());
    Refusal::new(format!("its packets are {}, not TLPs (link type {taken})", link_name(link_type)))
        .kind(RefusalKind::Unsupported)
        .remedy(format!(
            "export TLPs from the analyser, or say --link-type {link_type} if each packet holds one"
        ))
}

/// A link type in words; see the list of link types at tcpdump.org.
fn link_name(link_type: u32) -> String {
    let name = match link_type {
        0 => "BSD loopback",
        1 => "Ethernet",
        101 | 228 | 229 => "raw IP",
        105 | 127 => "wireless LAN",
        113 | 276 => "Linux cooked capture",
        189 | 220 | 249 => "USB",
        247 => "InfiniBand",
        _ => return format!("of link type {link_type}"),
    };
    format!("{name} (link type {link_type})")
}
