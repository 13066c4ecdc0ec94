//! Packet types and values as texts write them.

use crate::event::{Direction, Dllp, Kind, Packet, Tlp};

/// The word of a TLP's type, as in the specification: `MRd(64)`, `CplD`, `Msg(0)`.
pub(crate) fn kind_word(tlp: &Tlp) -> String {
    let data = if tlp.data_bytes > 0 { "D" } else { "" };
    let width = match tlp.wide {
        Some(true) if crate::header::is_addressed(tlp.kind) => "(64)",
        Some(false) if crate::header::is_addressed(tlp.kind) => "(32)",
        _ => "",
    };
    let name = match tlp.kind {
        Kind::MemoryRead => "MRd",
        Kind::MemoryReadLocked => "MRdLk",
        Kind::MemoryWrite => "MWr",
        Kind::DeferrableWrite => "DMWr",
        Kind::IoRead => "IORd",
        Kind::IoWrite => "IOWr",
        Kind::ConfigurationRead { r#type } => return format!("CfgRd{}", r#type),
        Kind::ConfigurationWrite { r#type } => return format!("CfgWr{}", r#type),
        Kind::FetchAdd => "FetchAdd",
        Kind::Swap => "Swap",
        Kind::CompareAndSwap => "CAS",
        Kind::Message { routing } => return format!("Msg{data}({routing})"),
        Kind::Completion { locked: false } => return format!("Cpl{data}"),
        Kind::Completion { locked: true } => return format!("Cpl{data}Lk"),
        Kind::Prefix => "Prefix",
    };
    format!("{name}{width}")
}

/// The word of a DLLP's type.
pub(crate) fn dllp_word(dllp: Dllp) -> String {
    match dllp {
        Dllp::Ack { .. } => "Ack".to_owned(),
        Dllp::Nak { .. } => "Nak".to_owned(),
        Dllp::Credits { initial, class, .. } => {
            let class = ["P", "NP", "Cpl"][usize::from(class.min(2))];
            format!("{}-{class}", if initial { "InitFC1" } else { "UpdateFC" })
        }
        Dllp::Other { r#type } => format!("DLLP({type:#04x})"),
    }
}

/// A text in lower case, without spaces and punctuation; at most 40 letters.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_alphanumeric)
        .take(40)
        .map(|letter| letter.to_ascii_lowercase())
        .collect()
}

/// What a type word says.
pub(crate) struct Typed {
    pub(crate) packet: Packet,
    /// Whether it carries data, where the word says so.
    pub(crate) has_data: Option<bool>,
}

fn tlp(kind: Kind, wide: Option<bool>, has_data: Option<bool>) -> Typed {
    let wide = wide.or(crate::header::fixed_width(kind));
    Typed { packet: Packet::Tlp(Tlp { wide, ..Tlp::of(kind) }), has_data }
}

/// The packet that a type word stands for: `MWr(64)`, `Memory Read`, `cpld`, `UpdateFC-NP`.
pub(crate) fn typed(text: &str) -> Option<Typed> {
    let word = plain(text);
    let word = word.strip_prefix("tlp").filter(|rest| !rest.is_empty()).unwrap_or(&word);
    if let Some(hex) = text.trim().strip_prefix("DLLP(0x").and_then(|rest| rest.strip_suffix(')')) {
        let r#type = u8::from_str_radix(hex, 16).ok()?;
        return Some(Typed { packet: Packet::Dllp(Dllp::Other { r#type }), has_data: None });
    }
    let credits = |initial, class| {
        let dllp =
            Dllp::Credits { initial, class, channel: 0, header: 0, data: 0, header_scale: 0, data_scale: 0 };
        Some(Typed { packet: Packet::Dllp(dllp), has_data: None })
    };
    if let Some(rest) = word.strip_prefix("updatefc").or_else(|| word.strip_prefix("initfc")) {
        let rest = rest.trim_start_matches(|letter: char| letter.is_ascii_digit());
        let class = match rest {
            "p" => 0,
            "np" => 1,
            "cpl" => 2,
            _ => return None,
        };
        return credits(word.starts_with("initfc"), class);
    }
    let dllp = |dllp| Some(Typed { packet: Packet::Dllp(dllp), has_data: None });
    match word {
        "ack" | "dllpack" => return dllp(Dllp::Ack { sequence: 0 }),
        "nak" | "dllpnak" => return dllp(Dllp::Nak { sequence: 0 }),
        "other" | "os" | "orderedset" | "ts1" | "ts2" | "skp" => {
            return Some(Typed { packet: Packet::Other, has_data: None });
        }
        _ => {}
    }
    if let Some(rest) = word.strip_prefix("msg").or_else(|| word.strip_prefix("message")) {
        let (has_data, rest) = match rest.strip_prefix('d') {
            Some(rest) => (true, rest),
            None => (false, rest),
        };
        let routing = rest.parse().unwrap_or(0);
        return (routing < 8).then(|| tlp(Kind::Message { routing }, None, Some(has_data)));
    }
    let configuration = [
        ("cfgrd", true),
        ("cfgread", true),
        ("configurationread", true),
        ("cfgwr", false),
        ("cfgwrite", false),
        ("configurationwrite", false),
    ];
    for (start, reads) in configuration {
        if let Some(rest) = word.strip_prefix(start) {
            let r#type = match rest.trim_start_matches("type") {
                "" | "0" => 0,
                "1" => 1,
                _ => return None,
            };
            let kind =
                if reads { Kind::ConfigurationRead { r#type } } else { Kind::ConfigurationWrite { r#type } };
            return Some(tlp(kind, None, Some(!reads)));
        }
    }
    let (name, wide) = match (word.strip_suffix("64"), word.strip_suffix("32")) {
        (Some(name), _) => (name, Some(true)),
        (_, Some(name)) => (name, Some(false)),
        _ => (word, None),
    };
    let name = name.strip_suffix("request").or_else(|| name.strip_suffix("req")).unwrap_or(name);
    let (kind, has_data) = match name {
        "mrd" | "memrd" | "memread" | "memoryread" | "read" | "rd" | "memmrd" => (Kind::MemoryRead, false),
        "mrdlk" | "memoryreadlocked" | "memreadlocked" | "memreadlk" => (Kind::MemoryReadLocked, false),
        "mwr" | "memwr" | "memwrite" | "memorywrite" | "write" | "wr" | "memmwr" => (Kind::MemoryWrite, true),
        "dmwr" | "deferrablememorywrite" => (Kind::DeferrableWrite, true),
        "iord" | "ioread" => (Kind::IoRead, false),
        "iowr" | "iowrite" => (Kind::IoWrite, true),
        "fetchadd" | "fetchandadd" | "fadd" => (Kind::FetchAdd, true),
        "swap" => (Kind::Swap, true),
        "cas" | "compareandswap" => (Kind::CompareAndSwap, true),
        "cpl" | "completion" | "completionwithoutdata" => (Kind::Completion { locked: false }, false),
        "cpld" | "completionwithdata" | "cpldata" | "completiondata" => {
            (Kind::Completion { locked: false }, true)
        }
        "cpllk" | "cpllocked" => (Kind::Completion { locked: true }, false),
        "cpldlk" | "cpllockeddata" => (Kind::Completion { locked: true }, true),
        "prefix" => (Kind::Prefix, false),
        _ => return None,
    };
    let is_unclear = name == "completion";
    let wide = wide.filter(|_| crate::header::is_addressed(kind));
    Some(tlp(kind, wide, (!is_unclear).then_some(has_data)))
}

/// A way in words: `upstream`, `R<-`, `TX` and `RX` of a device.
pub(crate) fn direction(text: &str) -> Option<Direction> {
    let lower = text.trim().to_ascii_lowercase();
    if lower.contains("->") || lower.contains('→') {
        return Some(Direction::Downstream);
    }
    if lower.contains("<-") || lower.contains('←') {
        return Some(Direction::Upstream);
    }
    Some(match plain(&lower).as_str() {
        "upstream" | "up" | "us" | "tx" | "1" | "u" | "devicetohost" => Direction::Upstream,
        "downstream" | "down" | "ds" | "dn" | "rx" | "0" | "d" | "hosttodevice" => Direction::Downstream,
        _ => return None,
    })
}

/// A whole number: hexadecimal behind `0x` or before `h`, else in the given base.
pub(crate) fn number(text: &str, base: u32) -> Option<u64> {
    let text = text.trim();
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u64::from_str_radix(&hex.replace(['_', ' '], ""), 16).ok();
    }
    if let Some(hex) = text.strip_suffix(['h', 'H']) {
        return u64::from_str_radix(hex, 16).ok();
    }
    let text = text.replace([':', '_', ' '], "");
    u64::from_str_radix(&text, base).ok()
}

/// An ID: `03:00.0`, `003:00:0`, `0x0300` or a number.
pub(crate) fn id(text: &str) -> Option<u16> {
    let text = text.trim();
    let parts: Vec<&str> = text.split([':', '.']).collect();
    if let [bus, device, function] = parts[parts.len().saturating_sub(3)..] {
        let part = |text: &str| u16::from_str_radix(text.trim(), 16).ok();
        let (bus, device, function) = (part(bus)?, part(device)?, part(function)?);
        let fits = bus <= 0xff && device <= 0x1f && function <= 7;
        return fits.then_some(bus << 8 | device << 3 | function);
    }
    u16::try_from(number(text, 16)?).ok()
}

/// An ID as tools write it.
pub(crate) fn id_word(id: u16) -> String {
    format!("{:02x}:{:02x}.{}", id >> 8, id >> 3 & 31, id & 7)
}

/// Byte enables: 4 binary digits, or a number.
pub(crate) fn enables(text: &str) -> Option<u8> {
    let text = text.trim();
    let is_binary = text.len() == 4 && text.bytes().all(|digit| matches!(digit, b'0' | b'1'));
    let value = if is_binary { u64::from_str_radix(text, 2).ok()? } else { number(text, 16)? };
    u8::try_from(value).ok().filter(|value| *value < 16)
}

/// A status: `SC`, `UR`, `CRS`, `RRS`, `CA` or its number.
pub(crate) fn status(text: &str) -> Option<u8> {
    let word = plain(text);
    Some(match word.as_str() {
        "sc" | "successful" | "successfulcompletion" => 0,
        "ur" | "unsupportedrequest" => 1,
        "crs" | "rrs" | "requestretrystatus" | "configurationrequestretrystatus" => 2,
        "ca" | "completerabort" => 4,
        _ => u8::try_from(number(text, 16)?).ok().filter(|value| *value < 8)?,
    })
}

/// The word of a status.
pub(crate) fn status_word(status: u8) -> String {
    match status {
        0 => "SC".to_owned(),
        1 => "UR".to_owned(),
        2 => "RRS".to_owned(),
        4 => "CA".to_owned(),
        other => other.to_string(),
    }
}

/// Yes or no in words.
pub(crate) fn truth(text: &str) -> Option<bool> {
    Some(match plain(text).as_str() {
        "1" | "true" | "yes" | "set" => true,
        "0" | "false" | "no" | "notset" => false,
        _ => return None,
    })
}

/// Exponents of ten of units of time in ps.
const UNITS: [(&str, i32); 6] = [("ps", 0), ("ns", 3), ("us", 6), ("ms", 9), ("fs", -3), ("s", 12)];

/// The exponent of ten of a unit of time in ps.
pub(crate) fn unit(text: &str) -> Option<i32> {
    let text = text.trim().trim_matches(['(', ')', '[', ']']);
    let text = if text == "µs" || text == "μs" { "us" } else { text };
    UNITS.iter().find(|(unit, _)| *unit == text).map(|(_, exponent)| *exponent)
}

/// A time in ps, by the unit in the text, else by the given exponent of ten. Digits below a picosecond are cut.
pub(crate) fn time_ps(text: &str, exponent: Option<i32>) -> Option<u64> {
    let text: String =
        text.chars().filter(|letter| !letter.is_whitespace() && *letter != '_').take(60).collect();
    let end = text.find(|letter: char| letter.is_ascii_alphabetic() || letter == 'µ' || letter == 'μ');
    let (digits, named) = text.split_at(end.unwrap_or(text.len()));
    let exponent = if named.is_empty() { exponent? } else { unit(named)? };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if (whole.is_empty() && fraction.is_empty())
        || !whole.bytes().chain(fraction.bytes()).all(|digit| digit.is_ascii_digit())
    {
        return None;
    }
    let mut value: u128 = 0;
    let digits = whole.bytes().chain(fraction.bytes().chain(std::iter::repeat(b'0')));
    let count = i32::try_from(whole.len()).ok()? + exponent;
    for digit in digits.take(usize::try_from(count).unwrap_or(0)) {
        value = value.checked_mul(10)?.checked_add(u128::from(digit - b'0'))?;
    }
    u64::try_from(value).ok()
}

/// Bytes of hexadecimal digits without spaces; None: an odd number of digits, or other letters.
pub(crate) fn hex_bytes(text: &str, most: usize) -> Option<Vec<u8>> {
    let digits = text.trim().as_bytes();
    if !digits.len().is_multiple_of(2) {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks_exact(2).take(most);
    pairs.map(|pair| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_in_the_words_of_many_tools() {
        let kind = |text: &str| match typed(text).unwrap() {
            Typed { packet: Packet::Tlp(tlp), has_data } => (tlp.kind, tlp.wide, has_data),
            _ => panic!("{text} is a TLP"),
        };
        assert_eq!(kind("MRd(32)"), (Kind::MemoryRead, Some(false), Some(false)));
        assert_eq!(kind("Mem write"), (Kind::MemoryWrite, None, Some(true)));
        assert_eq!(kind("TLP MWr64"), (Kind::MemoryWrite, Some(true), Some(true)));
        assert_eq!(kind("Cfg read 1"), (Kind::ConfigurationRead { r#type: 1 }, Some(false), Some(false)));
        assert_eq!(kind("Completion"), (Kind::Completion { locked: false }, Some(false), None));
        assert_eq!(kind("CplD"), (Kind::Completion { locked: false }, Some(false), Some(true)));
        assert_eq!(kind("MsgD(4)"), (Kind::Message { routing: 4 }, Some(true), Some(true)));
        assert!(typed("nonsense").is_none());
    }

    #[test]
    fn values_are_read_with_their_units_and_bases() {
        assert_eq!(time_ps("0000 . 000 001 504 s", None), Some(1_504_000));
        assert_eq!(time_ps("1.25", Some(3)), Some(1_250));
        assert_eq!((time_ps("1.25", None), time_ps("9.s.", None)), (None, None));
        assert_eq!(time_ps("123456 fs", None), Some(123));
        assert_eq!((id("03:00.1"), id("001:00:1"), id("0x0300")), (Some(0x301), Some(0x101), Some(0x300)));
        assert_eq!((id("300:00.0"), id_word(0x1f9)), (None, "01:1f.1".to_owned()));
        assert_eq!((enables("1100"), enables("f"), enables("10")), (Some(12), Some(15), None));
        assert_eq!((number("0x12", 10), number("12h", 10), number("12", 10)), (Some(18), Some(18), Some(12)));
        assert_eq!(hex_bytes("0aFf10", 2), Some(vec![10, 255]));
    }
}
