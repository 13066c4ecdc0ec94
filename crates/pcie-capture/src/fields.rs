//! Fields of packets by their names in lists: analysers, dissectors and this crate's own CSV.

use crate::event::{DATA_MOST, Direction, Dllp, Event, Facts, Kind, LinkError, Packet, Tlp};
use crate::header::{carries_data, kind_of};
use crate::words;

/// What a column or a cell is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each is the field of Event with its name")]
pub enum Field {
    Record,
    Time,
    Direction,
    Port,
    Type,
    /// Fmt as a number, beside a type as a number.
    Format,
    Length,
    /// Length in bytes.
    LengthBytes,
    DataBytes,
    Requester,
    Completer,
    Tag,
    /// Bit 8 of a tag.
    Tag8,
    /// Bit 9 of a tag.
    Tag9,
    FirstEnables,
    LastEnables,
    Address,
    /// Register of a configuration request.
    Register,
    Status,
    ByteCount,
    LowerAddress,
    MessageCode,
    TrafficClass,
    /// All three bits.
    Attributes,
    /// Bits 1 and 0.
    AttributesLow,
    /// Bit 2.
    AttributesHigh,
    Digest,
    Poisoned,
    Sequence,
    Error,
    Channel,
    HeaderCredits,
    DataCredits,
    HeaderScale,
    DataScale,
    /// Bytes.
    Data,
    /// Double words as numbers, the first byte lowest.
    DataWords,
}

/// Words of fields, and the names of columns that stand for them, plain: see [`words::plain`].
const NAMES: [(Field, &str, &[&str]); 37] = [
    (Field::Record, "record", &["packet", "pkt", "no", "frame", "framenumber", "index", "pcierecord"]),
    (
        Field::Time,
        "time",
        &[
            "timestamp",
            "starttime",
            "abstime",
            "start",
            "timeps",
            "timens",
            "timeus",
            "times",
            "frametimerelative",
            "timestampns",
            "timestampps",
        ],
    ),
    (Field::Direction, "direction", &["dir", "pciedirection"]),
    (Field::Port, "port", &["channel", "link", "frameinterfacename"]),
    (Field::Type, "type", &["tlptype", "pkttype", "packettype", "fmttype", "tlpkind", "kind", "dllptype"]),
    (Field::Format, "fmt", &["format", "tlpfmt"]),
    (Field::Length, "length", &["len", "dw", "lengthdw", "tlplen", "tlplength"]),
    (Field::LengthBytes, "length-bytes", &["lengthb", "bytes"]),
    (Field::DataBytes, "data-bytes", &["payloadbytes"]),
    (Field::Requester, "requester", &["requesterid", "reqid", "req", "rid", "tlpreq"]),
    (Field::Completer, "completer", &["completerid", "cplid", "cpl", "cid", "tlpcpl", "dev", "deviceid"]),
    (Field::Tag, "tag", &["tlptag", "tag70", "tlptag70"]),
    (Field::Tag8, "t8", &["tlpt8"]),
    (Field::Tag9, "t9", &["tlpt9"]),
    (Field::FirstEnables, "first-be", &["1stbe", "fbe", "firstdwbe", "tlpfirstdwbe", "tlpfbe", "1stdwbe"]),
    (Field::LastEnables, "last-be", &["lbe", "lastdwbe", "tlplastdwbe", "tlplbe"]),
    (Field::Address, "address", &["addr", "tlpaddr", "tlpaddress"]),
    (Field::Register, "register", &["reg", "tlpreg"]),
    (Field::Status, "status", &["cplstatus", "st", "tlpcplstatus", "complstatus"]),
    (Field::ByteCount, "byte-count", &["bytecnt", "bc", "count", "cplbytecount", "tlpcplbytecount"]),
    (
        Field::LowerAddress,
        "lower-address",
        &["loweraddr", "lwraddr", "lowaddr", "la", "cplloweraddr", "tlpcplloweraddr"],
    ),
    (Field::MessageCode, "message-code", &["msgcode", "tlpmsgcode", "code"]),
    (Field::TrafficClass, "traffic-class", &["tc", "tlptc"]),
    (Field::Attributes, "attributes", &["attr", "attrs"]),
    (Field::AttributesLow, "attr10", &["tlpattr10"]),
    (Field::AttributesHigh, "attr2", &["tlpattr2"]),
    (Field::Digest, "digest", &["td", "tlptd"]),
    (Field::Poisoned, "poisoned", &["ep", "tlpep"]),
    (
        Field::Sequence,
        "sequence",
        &["seq", "tlp", "frametlpseq", "acknakseqnum", "dllpacknakseq", "seqnum", "tlpseq"],
    ),
    (Field::Error, "error", &["errors", "state"]),
    (Field::Channel, "vc", &["virtualchannel", "vcid"]),
    (Field::HeaderCredits, "header-credits", &["hdrfc", "dllpinitupdatefchdrfc"]),
    (Field::DataCredits, "data-credits", &["datafc", "dllpinitupdatefcdatafc"]),
    (Field::HeaderScale, "header-scale", &["hdrscale", "dllpinitupdatefchdrscale"]),
    (Field::DataScale, "data-scale", &["datascale", "dllpinitupdatefcdatascale"]),
    (Field::Data, "data", &["payload", "tlppayload"]),
    (Field::DataWords, "data-words", &["datadw"]),
];

impl Field {
    /// Its word in options and in the CSV that this crate writes.
    #[must_use]
    pub fn word(self) -> &'static str {
        NAMES.iter().find(|(field, _, _)| *field == self).map_or("", |(_, word, _)| *word)
    }

    /// The field of a word.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        NAMES.iter().find(|(_, known, _)| *known == word).map(|(field, _, _)| *field)
    }

    /// Every word.
    pub fn words() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, word, _)| *word)
    }

    /// The field that a column's or cell's name stands for, by its synonyms.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = name.trim();
        let name = name.strip_prefix("pcie.").or_else(|| name.strip_prefix("nettlp.")).unwrap_or(name);
        // A unit in brackets belongs to the values.
        let bare = name.split(['(', '[']).next().unwrap_or(name);
        let name = words::plain(if bare.trim().is_empty() { name } else { bare });
        NAMES
            .iter()
            .find(|(_, word, names)| words::plain(word) == name || names.contains(&name.as_str()))
            .map(|(field, _, _)| *field)
    }
}

/// A packet, from its cells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Row {
    /// The number that the source gives the packet.
    record: Option<u64>,
    time_ps: Option<u64>,
    direction: Option<Direction>,
    port: Option<String>,
    typed: Option<Packet>,
    has_data: Option<bool>,
    /// Fmt and type where they are numbers.
    format: Option<u8>,
    number: Option<u8>,
    tlp: Option<Tlp>,
    length_bytes: bool,
    data_bytes: Option<u32>,
    sequence: Option<u16>,
    channel: u8,
    credits: [u16; 2],
    scales: [u8; 2],
    error: Option<LinkError>,
}

impl Row {
    fn tlp(&mut self) -> &mut Tlp {
        self.tlp.get_or_insert_with(|| Tlp::of(Kind::Prefix))
    }

    /// Whether a type was seen.
    pub(crate) fn is_typed(&self) -> bool {
        self.typed.is_some() || self.number.is_some()
    }

    /// The type of the packet by its word; false: an unknown word.
    pub(crate) fn set_type(&mut self, text: &str) -> bool {
        match words::typed(text) {
            Some(typed) => {
                self.typed = Some(typed.packet);
                self.has_data = typed.has_data;
                true
            }
            None => false,
        }
    }

    /// Takes a cell; `unit`: exponent of ten of a time without a unit, in ps. None: the value is no value of the field.
    pub(crate) fn set(&mut self, field: Field, text: &str, unit: Option<i32>) -> Option<()> {
        let text = text.trim();
        if text.is_empty() || text == "-" {
            return Some(());
        }
        let small = |base| words::number(text, base).and_then(|value| u8::try_from(value).ok());
        let middle = |base| words::number(text, base).and_then(|value| u16::try_from(value).ok());
        match field {
            Field::Record => self.record = words::number(text, 10),
            Field::Time => self.time_ps = Some(words::time_ps(text, unit)?),
            Field::Direction => self.direction = Some(words::direction(text)?),
            Field::Port => self.port = Some(text.chars().take(80).collect()),
            Field::Type => {
                if !self.set_type(text) {
                    self.number = Some(small(10)?);
                }
            }
            Field::Format => self.format = Some(small(10)?),
            Field::Length | Field::LengthBytes => {
                let value = words::number(text, 10)?;
                self.length_bytes |= field == Field::LengthBytes;
                let dw = if self.length_bytes { value.div_ceil(4) } else { value };
                self.tlp().length_dw = u16::try_from(dw).ok()?;
            }
            Field::DataBytes => self.data_bytes = Some(u32::try_from(words::number(text, 10)?).ok()?),
            Field::Requester => self.tlp().requester = Some(words::id(text)?),
            Field::Completer => self.tlp().completer = Some(words::id(text)?),
            Field::Tag => {
                let value = middle(10).or_else(|| middle(16))?;
                let tlp = self.tlp();
                tlp.tag = Some(tlp.tag.unwrap_or(0) | value);
            }
            Field::Tag8 | Field::Tag9 => {
                let bit = if field == Field::Tag8 { 8 } else { 9 };
                let set = words::truth(text)?;
                let tlp = self.tlp();
                if set {
                    tlp.tag = Some(tlp.tag.unwrap_or(0) | 1 << bit);
                }
            }
            Field::FirstEnables => self.tlp().first_enables = Some(words::enables(text)?),
            Field::LastEnables => self.tlp().last_enables = Some(words::enables(text)?),
            Field::Address => {
                // Lower addresses of completions, in lists with one column for both.
                match text.strip_prefix("...") {
                    Some(low) => self.tlp().lower_address = Some(u8::from_str_radix(low, 16).ok()?),
                    None => self.tlp().address = Some(words::number(text, 16)?),
                }
            }
            Field::Register => self.tlp().address = Some(words::number(text, 16)?),
            Field::Status => self.tlp().status = Some(words::status(text)?),
            Field::ByteCount => {
                let value = middle(10)?;
                self.tlp().byte_count = Some(if value == 0 { 4096 } else { value });
            }
            Field::LowerAddress => self.tlp().lower_address = Some(small(16)?),
            Field::MessageCode => self.tlp().message_code = Some(small(16)?),
            Field::TrafficClass => self.tlp().traffic_class = Some(small(10)?),
            Field::Attributes => self.tlp().attributes = Some(small(10).filter(|value| *value < 8)?),
            Field::AttributesLow => {
                let low = small(10)? & 3;
                let tlp = self.tlp();
                tlp.attributes = Some(tlp.attributes.unwrap_or(0) | low);
            }
            Field::AttributesHigh => {
                let high = if words::truth(text)? { 4 } else { 0 };
                let tlp = self.tlp();
                tlp.attributes = Some(tlp.attributes.unwrap_or(0) | high);
            }
            Field::Digest => self.tlp().digest = Some(words::truth(text)?),
            Field::Poisoned => self.tlp().poisoned = Some(words::truth(text)?),
            Field::Sequence => self.sequence = Some(middle(10)?),
            Field::Error => self.error = error_of(text),
            Field::Channel => self.channel = small(10)?,
            Field::HeaderCredits => self.credits[0] = middle(10)?,
            Field::DataCredits => self.credits[1] = middle(10)?,
            Field::HeaderScale => self.scales[0] = small(10)?,
            Field::DataScale => self.scales[1] = small(10)?,
            Field::Data => self.tlp().data = data_of(text, false)?,
            Field::DataWords => self.tlp().data = data_of(text, true)?,
        }
        Some(())
    }

    /// Way of the packet, if it is known already.
    pub(crate) fn set_direction(&mut self, direction: Direction) {
        self.direction = Some(direction);
    }

    /// The event; the time is as the row has it, `record` counts where the source gives no number. None: the row has no type.
    pub(crate) fn event(self, record: u64, facts: &mut Facts) -> Option<Event> {
        let typed = match (self.typed, self.number) {
            (Some(packet), _) => packet,
            (None, Some(number)) => {
                let first = self.format.map_or(number, |format| format << 5 | number & 31);
                Packet::Tlp(Tlp { wide: Some(first & 0x20 != 0), ..Tlp::of(kind_of(first)?) })
            }
            (None, None) => return None,
        };
        let has_data = self.has_data.or(self.format.map(|format| format & 2 != 0));
        let (header, data) = (self.credits[0], self.credits[1]);
        let sequence = self.sequence;
        let packet = match typed {
            Packet::Tlp(typed) => {
                let mut tlp =
                    Tlp { kind: typed.kind, wide: typed.wide, sequence, ..self.tlp.unwrap_or(typed.clone()) };
                let has_data = carries_data(tlp.kind).or(has_data);
                let has_data = has_data.unwrap_or(!tlp.data.is_empty() || tlp.length_dw > 0);
                tlp.data_bytes =
                    self.data_bytes.unwrap_or(if has_data { 4 * u32::from(tlp.length_dw) } else { 0 });
                if !has_data {
                    tlp.data.clear();
                    if carries_data(tlp.kind).is_none() {
                        tlp.length_dw = 0;
                    }
                }
                Packet::Tlp(tlp)
            }
            Packet::Dllp(Dllp::Ack { .. }) => Packet::Dllp(Dllp::Ack { sequence: sequence.unwrap_or(0) }),
            Packet::Dllp(Dllp::Nak { .. }) => Packet::Dllp(Dllp::Nak { sequence: sequence.unwrap_or(0) }),
            Packet::Dllp(Dllp::Credits { initial, class, .. }) => Packet::Dllp(Dllp::Credits {
                initial,
                class,
                channel: self.channel,
                header,
                data,
                header_scale: self.scales[0],
                data_scale: self.scales[1],
            }),
            packet => packet,
        };
        let port = self.port.map_or(0, |name| facts.port(&name));
        let record = self.record.unwrap_or(record);
        Some(Event {
            time_ps: self.time_ps,
            direction: self.direction,
            port,
            record,
            packet,
            error: self.error,
        })
    }
}

/// An error by its word, or by what analysers call it.
fn error_of(text: &str) -> Option<LinkError> {
    let word = words::plain(text);
    LinkError::ALL.into_iter().find(|error| words::plain(error.word()) == word).or_else(|| {
        let has = |parts: &[&str]| parts.iter().any(|part| word.contains(part));
        if matches!(word.as_str(), "ok" | "none" | "no" | "0") {
            None
        } else if has(&["crc"]) {
            Some(LinkError::BadCrc)
        } else if has(&["symbol", "disp", "encoding", "code"]) {
            Some(LinkError::BadSymbol)
        } else if has(&["edb", "nullified"]) {
            Some(LinkError::Nullified)
        } else if has(&["poison"]) {
            Some(LinkError::Poisoned)
        } else {
            Some(LinkError::Malformed)
        }
    })
}

/// The start of the data: bytes as one word of digits or with colons; or double words, which analysers print as little-endian
/// numbers, each line of them behind its offset.
fn data_of(text: &str, are_words: bool) -> Option<Vec<u8>> {
    let words: Vec<&str> = text
        .split([' ', ',', ';'])
        .filter(|word| !word.is_empty() && !word.ends_with(':'))
        .take(DATA_MOST)
        .collect();
    if let ([one], false) = (&words[..], are_words) {
        let digits = one.strip_prefix("0x").unwrap_or(one).replace(':', "");
        return words::hex_bytes(&digits, DATA_MOST);
    }
    let mut bytes = Vec::new();
    for word in words {
        let mut word = words::hex_bytes(word, 4)?;
        word.reverse();
        bytes.extend(word);
        if bytes.len() >= DATA_MOST {
            break;
        }
    }
    bytes.truncate(DATA_MOST);
    Some(bytes)
}

/// Times of rows, made relative to the first.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Origin(Option<u64>);

impl Origin {
    /// The time after the first record's, which is `first`.
    pub(crate) fn since(&mut self, time: Option<u64>, first: u64) -> Option<u64> {
        let time = time?;
        let start = *self.0.get_or_insert(time);
        Some(first.saturating_add(time).saturating_sub(start))
    }
}
