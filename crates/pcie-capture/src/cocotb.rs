//! Logs of cocotbext-pcie: the TLPs, DLLPs and frames that its models print as Python objects.
//!
//! A model logs a packet where it is made, where a port sends it, at each bridge and where it arrives. The first port that sends or
//! receives gives the events, as an analyser at that port would; in a log without ports, the first logger does. What others say
//! of the same packets is counted. Frames of the buses of hard blocks come from their own loggers.

use crate::event::{COPY, DATA_MOST, Direction, Dllp, Event, Facts, Kind, Packet, Tlp};
use crate::fields::Origin;
use crate::format::{Format, Options};
use crate::header;
use crate::input::{End, Input, Take, ended, give};
use crate::ultrascale::{self, Port};
use crate::words;
use pcie_refusal::{Kind as RefusalKind, Refusal};

const OBJECTS: [&str; 6] = ["Tlp(", "Tlp_us(", "Dllp(", "UsPcieFrame(", "S10PcieFrame(", "PTilePcieFrame("];
const LEVELS: [&str; 7] = ["TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "CRITICAL"];
/// Bytes in which a port is looked for.
const AHEAD: usize = 1 << 20;
/// Loggers that are remembered.
const LOGGERS_MOST: usize = 1024;

/// Whether a line has an object of a packet behind what logged it.
pub(crate) fn is_line(line: &str) -> bool {
    object(line).is_some_and(|(at, _)| split(&line[..at]).is_some())
}

/// Position of the object in a line, and its class.
fn object(line: &str) -> Option<(usize, &'static str)> {
    OBJECTS.iter().filter_map(|class| line.find(&format!(" {class}")).map(|at| (at + 1, *class))).min()
}

/// A line's time, logger and message before its object.
fn split(prefix: &str) -> Option<(Option<u64>, &str, &str)> {
    let prefix = prefix.trim_start();
    let (first, rest) = prefix.split_once(char::is_whitespace)?;
    let time = words::time_ps(first, None);
    let rest = rest.trim_start();
    // `1.25 ns INFO`, with a space.
    let (time, rest) = match (time, rest.split_once(char::is_whitespace)) {
        (None, Some((unit, after))) if words::unit(unit).is_some() => {
            (words::time_ps(first, words::unit(unit)), after)
        }
        _ => (time, rest),
    };
    let (level, rest) = rest.trim_start().split_once(char::is_whitespace)?;
    if !LEVELS.contains(&level) {
        return None;
    }
    let (logger, message) = rest.trim_start().split_once(char::is_whitespace)?;
    Some((time, logger, message.trim()))
}

/// The arguments of an object: names and values at the top level.
fn arguments(text: &str) -> Vec<(&str, &str)> {
    let bytes = text.as_bytes();
    let (mut found, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    let mut quote = None;
    let mut at = 0;
    while at < bytes.len() {
        let byte = bytes[at];
        match quote {
            Some(_) if byte == b'\\' => at += 1,
            Some(open) if byte == open => quote = None,
            Some(_) => {}
            None => match byte {
                b'\'' | b'"' => quote = Some(byte),
                b'(' | b'[' => depth += 1,
                b')' | b']' if depth > 0 => depth -= 1,
                b',' | b')' if depth == 0 => {
                    if let Some((name, value)) = text[start..at].split_once('=') {
                        found.push((name.trim(), value.trim()));
                    }
                    start = at + 1;
                    if byte == b')' {
                        break;
                    }
                }
                _ => {}
            },
        }
        at += 1;
    }
    found
}

/// The first bytes of `bytearray(b'..')`.
fn byte_literal(text: &str) -> (Vec<u8>, usize) {
    let Some(start) = text.find("b'").or_else(|| text.find("b\"")) else { return (Vec::new(), 0) };
    let bytes = text.as_bytes();
    let quote = bytes[start + 1];
    let (mut found, mut count, mut at) = (Vec::new(), 0, start + 2);
    while at < bytes.len() && bytes[at] != quote {
        let (byte, length) = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'x')) => {
                let digits = bytes.get(at + 2..at + 4).and_then(|digits| std::str::from_utf8(digits).ok());
                (digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).unwrap_or(0), 4)
            }
            (b'\\', Some(escape)) => (
                match escape {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    other => *other,
                },
                2,
            ),
            (byte, _) => (byte, 1),
        };
        if found.len() < DATA_MOST {
            found.push(byte);
        }
        count += 1;
        at += length;
    }
    (found, count)
}

/// A whole number, or the number that an enumeration's text ends with or stands for.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some(value) = words::number(text, 10) {
        return Some(value);
    }
    let name = text.rsplit('.').next()?;
    let named = match name {
        "SC" | "DIS" | "DEFAULT" => 0,
        "UR" | "NS" | "SF1" => 1,
        "CRS" | "RO" | "SF4" => 2,
        "SF16" => 3,
        "CA" | "IDO" => 4,
        _ => {
            let digits = name.trim_end_matches(')').rsplit(|letter: char| !letter.is_ascii_digit()).next()?;
            return digits.parse().ok();
        }
    };
    Some(named)
}

/// `PcieId(3, 0, 0)`, all decimal.
fn id(text: &str) -> Option<u16> {
    let inner = text.strip_prefix("PcieId(")?.strip_suffix(')')?;
    let parts: Vec<u16> = inner.split(',').filter_map(|part| part.trim().parse().ok()).collect();
    match parts[..] {
        [bus, device, function] if bus <= 255 && device <= 31 && function <= 7 => {
            Some(bus << 8 | device << 3 | function)
        }
        _ => None,
    }
}

fn kind_of(name: &str) -> Option<(Kind, bool, Option<bool>)> {
    let name = name.trim().rsplit('.').next()?;
    let (base, wide) = name.strip_suffix("_64").map_or((name, false), |base| (base, true));
    let (kind, has_data) = match base {
        "MEM_READ" => (Kind::MemoryRead, Some(false)),
        "MEM_READ_LOCKED" => (Kind::MemoryReadLocked, Some(false)),
        "MEM_WRITE" => (Kind::MemoryWrite, Some(true)),
        "IO_READ" => (Kind::IoRead, Some(false)),
        "IO_WRITE" => (Kind::IoWrite, Some(true)),
        "CFG_READ_0" => (Kind::ConfigurationRead { r#type: 0 }, Some(false)),
        "CFG_READ_1" => (Kind::ConfigurationRead { r#type: 1 }, Some(false)),
        "CFG_WRITE_0" => (Kind::ConfigurationWrite { r#type: 0 }, Some(true)),
        "CFG_WRITE_1" => (Kind::ConfigurationWrite { r#type: 1 }, Some(true)),
        "CPL" => (Kind::Completion { locked: false }, Some(false)),
        "CPL_DATA" => (Kind::Completion { locked: false }, Some(true)),
        "CPL_LOCKED" => (Kind::Completion { locked: true }, Some(false)),
        "CPL_LOCKED_DATA" => (Kind::Completion { locked: true }, Some(true)),
        "FETCH_ADD" => (Kind::FetchAdd, Some(true)),
        "SWAP" => (Kind::Swap, Some(true)),
        "CAS" => (Kind::CompareAndSwap, Some(true)),
        _ => {
            let rest = base.strip_prefix("MSG_")?;
            let (has_data, rest) = rest.strip_prefix("DATA_").map_or((false, rest), |rest| (true, rest));
            let routing =
                ["TO_RC", "ADDR", "ID", "BCAST", "LOCAL", "GATHER"].iter().position(|name| *name == rest)?;
            (Kind::Message { routing: routing as u8 }, Some(has_data))
        }
    };
    Some((kind, wide, has_data))
}

fn tlp(arguments: &[(&str, &str)]) -> Option<Tlp> {
    let get = |name: &str| arguments.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let value = |name: &str| get(name).and_then(number);
    let truth = |name: &str| get(name).and_then(words::truth);
    let (kind, wide, has_data) = kind_of(get("fmt_type")?)?;
    let (data, count) = byte_literal(get("data").unwrap_or(""));
    let has_data = has_data.unwrap_or(count > 0);
    let length = value("length").and_then(|length| u16::try_from(length).ok())?;
    let mut tlp = Tlp {
        wide: header::fixed_width(kind),
        length_dw: if header::carries_data(kind).is_none() && !has_data { 0 } else { length },
        data_bytes: if has_data { u32::try_from(count).ok()? } else { 0 },
        requester: get("requester_id").and_then(id),
        tag: value("tag").map(|tag| (tag & 0x3fff) as u16),
        traffic_class: value("tc").map(|class| (class & 7) as u8),
        attributes: get("attr")
            .map(|text| text.split('|').filter_map(number).fold(0, |all, bit| all | (bit & 7) as u8)),
        digest: truth("td"),
        poisoned: truth("ep"),
        sequence: value("seq").map(|sequence| (sequence & 0xfff) as u16),
        data: if has_data { data } else { Vec::new() },
        ..Tlp::of(kind)
    };
    match kind {
        Kind::Completion { .. } => {
            tlp.completer = get("completer_id").and_then(id);
            tlp.status = value("status").map(|status| (status & 7) as u8);
            tlp.byte_count =
                value("byte_count").map(|count| if count == 0 { 4096 } else { count.min(4096) as u16 });
            tlp.lower_address = value("lower_address").map(|low| (low & 0x7f) as u8);
        }
        Kind::Message { .. } => tlp.message_code = value("message_code").map(|code| code as u8),
        _ => {
            tlp.address = value("address");
            tlp.first_enables = value("first_be").map(|enables| (enables & 15) as u8);
            tlp.last_enables = value("last_be").map(|enables| (enables & 15) as u8);
            if matches!(kind, Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. }) {
                tlp.completer = get("completer_id").and_then(id);
            }
            if header::is_addressed(kind) {
                tlp.wide = Some(wide);
            }
        }
    }
    Some(tlp)
}

fn dllp(arguments: &[(&str, &str)]) -> Option<Dllp> {
    let get = |name: &str| arguments.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let value = |name: &str| get(name).and_then(number).unwrap_or(0);
    let sequence = (value("seq") & 0xfff) as u16;
    let name = get("type")?;
    let code = match name.rsplit('.').next()? {
        "ACK" => 0x00,
        "NAK" => 0x10,
        "INIT_FC1_P" => 0x40,
        "INIT_FC1_NP" => 0x50,
        "INIT_FC1_CPL" => 0x60,
        "INIT_FC2_P" => 0xc0,
        "INIT_FC2_NP" => 0xd0,
        "INIT_FC2_CPL" => 0xe0,
        "UPDATE_FC_P" => 0x80,
        "UPDATE_FC_NP" => 0x90,
        "UPDATE_FC_CPL" => 0xa0,
        _ => u8::try_from(words::number(name, 10).unwrap_or(0x31)).ok()?,
    };
    Some(match code {
        0x00 => Dllp::Ack { sequence },
        0x10 => Dllp::Nak { sequence },
        0x40 | 0x50 | 0x60 | 0x80 | 0x90 | 0xa0 | 0xc0 | 0xd0 | 0xe0 => Dllp::Credits {
            initial: code >> 6 != 2,
            class: code >> 4 & 3,
            channel: (value("vc") & 7) as u8,
            header: (value("hdr_fc") & 0xff) as u16,
            data: (value("data_fc") & 0xfff) as u16,
            header_scale: (value("hdr_scale") & 3) as u8,
            data_scale: (value("data_scale") & 3) as u8,
        },
        r#type => Dllp::Other { r#type },
    })
}

/// Words of a list: `[0x0000000f, ...]`.
fn list(text: &str) -> Vec<u32> {
    let inner = text.trim_matches(['[', ']']);
    inner.split(',').take(1100).filter_map(|word| words::number(word, 10)).map(|word| word as u32).collect()
}

/// The packet of a frame of a hard block's bus.
fn frame(class: &str, message: &str, logger: &str, arguments: &[(&str, &str)]) -> Option<(Direction, Tlp)> {
    let get = |name: &str| arguments.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
    let data = list(get("data")?);
    if class == "UsPcieFrame(" {
        let port = message
            .split_whitespace()
            .find_map(|word| Port::ALL.into_iter().find(|port| port.word().eq_ignore_ascii_case(word)))?;
        let enable = |name: &str| get(name).and_then(number).map(|enables| (enables & 15) as u8);
        let descriptor = port.descriptor_dw();
        let enables = enable("first_be").zip(enable("last_be"));
        let (tlp, _) = ultrascale::decode(port, data.get(..descriptor)?, &data[descriptor..], enables)?;
        return Some((port.direction(), tlp));
    }
    let is_tx = logger.to_ascii_lowercase().contains("tx_st");
    let direction = if is_tx { Direction::Upstream } else { Direction::Downstream };
    let hdr = get("hdr").and_then(|hdr| {
        let digits = hdr.strip_prefix("0x")?;
        words::hex_bytes(&format!("{digits:0>32}"), 16)
    });
    let is_numeric = hdr.is_none();
    let bytes = hdr.unwrap_or_else(|| data.iter().take(8).flat_map(|word| word.to_be_bytes()).collect());
    let mut read = header::decode(&bytes).ok()?;
    let header_dw = if is_numeric { (read.bytes - read.tlp.data_bytes as usize) / 4 } else { 0 };
    let header_dw = header_dw - usize::from(is_numeric && read.tlp.digest == Some(true));
    let words = data.get(header_dw..).unwrap_or_default();
    let words = &words[..words.len().min(read.tlp.data_bytes as usize / 4)];
    read.tlp.data = ultrascale::data_bytes(words);
    Some((direction, read.tlp))
}

/// Reads a log.
pub(crate) fn read(mut input: Input<'_>, options: &Options, take: Take<'_>) -> Result<Facts, Refusal> {
    let mut facts = Facts {
        format: Format::Cocotb.word().to_owned(),
        simulated: Some(true),
        resolution_ps: Some(1),
        ..Facts::default()
    };
    let ahead = String::from_utf8_lossy(input.peek(AHEAD)?).into_owned();
    let port = ahead.lines().find_map(|line| {
        let (at, class) = object(line)?;
        let (_, logger, message) = split(&line[..at])?;
        (class == "Tlp(" && of_port(message)).then(|| logger.to_owned())
    });
    drop(ahead);
    let mut reader = Reader {
        port,
        options,
        origin: Origin::default(),
        chosen: Vec::new(),
        of_frames: None,
        events: 0,
        sends: None,
    };
    let result = reader.lines(&mut input, take, &mut facts);
    ended(result, facts)
}

/// Whether a message is of a port: what is sent or received.
fn of_port(message: &str) -> bool {
    matches!(message, "Send TLP" | "Receive TLP" | "Send DLLP" | "Receive DLLP")
}

struct Reader<'o> {
    /// The port whose packets are events.
    port: Option<String>,
    options: &'o Options,
    origin: Origin,
    /// The loggers whose packets are events, with the first word of their messages where it matters.
    chosen: Vec<(String, String)>,
    of_frames: Option<bool>,
    events: u64,
    /// The way of what the chosen logger sends.
    sends: Option<Direction>,
}

impl Reader<'_> {
    fn lines(&mut self, input: &mut Input<'_>, take: Take<'_>, facts: &mut Facts) -> Result<(), End> {
        while let Some(line) = input.line()? {
            let line = String::from_utf8_lossy(line).into_owned();
            let record = input.line_number();
            let Some((at, class)) = object(&line) else { continue };
            let Some((time, logger, message)) = split(&line[..at]) else { continue };
            let arguments = arguments(&line[at + class.len()..]);
            let is_frame = class.ends_with("Frame(");
            if *self.of_frames.get_or_insert(is_frame) != is_frame {
                facts.skip(COPY, record);
                continue;
            }
            let verb = if is_frame { message.split_whitespace().next().unwrap_or("") } else { "" };
            let is_taken = match &self.port {
                Some(port) if !is_frame => port == logger && of_port(message),
                _ => self.takes(logger, verb, is_frame),
            };
            if !is_taken {
                facts.skip(COPY, record);
                continue;
            }
            let read = if is_frame {
                frame(class, message, logger, &arguments)
                    .map(|(direction, tlp)| (Some(direction), Packet::Tlp(tlp)))
            } else if class == "Dllp(" {
                dllp(&arguments).map(|dllp| (None, Packet::Dllp(dllp)))
            } else if message.contains("Completion") || message.starts_with("Routing") {
                // Said again when it is sent.
                continue;
            } else {
                tlp(&arguments).map(|tlp| (None, Packet::Tlp(tlp)))
            };
            let Some((direction, packet)) = read else {
                facts.skip("object that is no packet", record);
                continue;
            };
            let direction = direction.or_else(|| self.direction(logger, message, &packet));
            let port = facts.port(&logger.chars().take(80).collect::<String>());
            let time_ps = self.origin.since(time, self.options.first_time_ps);
            self.events += 1;
            give(take, Event { time_ps, direction, port, record, packet, error: None })?;
        }
        if self.events == 0 {
            return Err(Refusal::new("no TLP, DLLP or frame of cocotbext-pcie")
                .kind(RefusalKind::Missing)
                .remedy("log its models at level DEBUG, or its interfaces at INFO")
                .into());
        }
        Ok(())
    }

    /// Whether a logger's packets are events.
    fn takes(&mut self, logger: &str, verb: &str, is_frame: bool) -> bool {
        match self.chosen.iter().find(|(known, _)| known == logger) {
            Some((_, known)) => known == verb,
            None if self.chosen.is_empty() || (is_frame && self.chosen.len() < LOGGERS_MOST) => {
                self.chosen.push((logger.to_owned(), verb.to_owned()));
                true
            }
            None => false,
        }
    }

    fn direction(&mut self, logger: &str, message: &str, packet: &Packet) -> Option<Direction> {
        let opposite = |direction| match direction {
            Direction::Upstream => Direction::Downstream,
            Direction::Downstream => Direction::Upstream,
        };
        if message.contains("downstream") || message.starts_with("Sending TLP") {
            return Some(Direction::Downstream);
        }
        if message.contains("upstream") || message.starts_with("Got TLP") {
            return Some(Direction::Upstream);
        }
        let is_sent = message.starts_with("Send");
        // Only a root complex sends configuration requests.
        if let Packet::Tlp(Tlp {
            kind: Kind::ConfigurationRead { .. } | Kind::ConfigurationWrite { .. },
            ..
        }) = packet
        {
            self.sends = Some(if is_sent { Direction::Downstream } else { Direction::Upstream });
        }
        if self.sends.is_none() {
            let faces = |names: &[&str]| names.iter().any(|name| logger.contains(name));
            if faces(&["RootPort", "RootComplex", "HostBridge", "DownstreamPort"]) {
                self.sends = Some(Direction::Downstream);
            } else if faces(&["Device", "Endpoint", "UpstreamPort"]) {
                self.sends = Some(Direction::Upstream);
            }
        }
        self.sends.map(|sends| if is_sent { sends } else { opposite(sends) })
    }
}
