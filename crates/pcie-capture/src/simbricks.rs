//! Logs of a NIC that SimBricks simulates (`nicbm.cc` with `DEBUG_NICBM`): messages of its PCIe interface, no TLPs.
//!
//! A DMA is known to read or write once it is done, so that what follows its start waits until then. Its tag is the lowest
//! that no DMA in flight has: a pointer identifies it in the log.

use crate::event::{Direction, Event, Facts, Kind, Packet, Tlp};
use crate::format::{Format, Options};
use crate::input::{End, Input, Take, ended, give};
use crate::words::number;
use pcie_refusal::{Kind as RefusalKind, Refusal};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Most events that wait for a DMA of unknown kind.
const WAITING_MOST: usize = 1 << 16;

/// Whether a line is from the log of a `nicbm` device.
pub(crate) fn is_line(line: &str) -> bool {
    line.trim_start().starts_with("main_time = ") && line.contains("nicbm: ")
}

/// A request for bytes at any address, by double words and byte enables.
pub(crate) fn request(kind: Kind, address: u64, bytes: u64) -> Tlp {
    let lead = address & 3;
    let end = address.saturating_add(bytes);
    let dwords = end.div_ceil(4).saturating_sub(address / 4).max(1);
    let behind = (4 - end % 4) % 4;
    let (first, last) = (0xf_u8 << lead & 15, 0xf_u8 >> behind);
    let length_dw = u16::try_from(dwords).unwrap_or(u16::MAX);
    let is_write = kind == Kind::MemoryWrite;
    Tlp {
        length_dw,
        data_bytes: if is_write { 4 * u32::from(length_dw) } else { 0 },
        address: Some(address & !3),
        first_enables: Some(if dwords == 1 { first & last } else { first }),
        last_enables: Some(if dwords == 1 { 0 } else { last }),
        ..Tlp::of(kind)
    }
}

/// Reads a log.
pub(crate) fn read(mut input: Input<'_>, options: &Options, take: Take<'_>) -> Result<Facts, Refusal> {
    let mut facts = Facts {
        format: Format::SimBricks.word().to_owned(),
        ports: vec!["nicbm".to_owned()],
        resolution_ps: Some(1),
        simulated: Some(true),
        ..Facts::default()
    };
    let mut reader = Reader::new(options);
    let result = reader.lines(&mut input, take, &mut facts);
    ended(result, facts)
}

/// A DMA in flight.
struct Dma {
    tag: u16,
    address: u64,
    bytes: u64,
    /// Number of its start among all that ever waited.
    slot: u64,
    /// Its start, of a kind that is not known yet.
    begun: Event,
}

struct Reader<'o> {
    options: &'o Options,
    start: Option<u64>,
    /// Events in the order of the log; None: the start of a DMA that is not done.
    waiting: VecDeque<Option<Event>>,
    /// Number of the first of them.
    first: u64,
    flying: HashMap<u64, Dma>,
    free: BTreeSet<u16>,
    tags: u16,
    events: u64,
}

impl<'o> Reader<'o> {
    fn new(options: &'o Options) -> Self {
        Self {
            options,
            start: None,
            waiting: VecDeque::new(),
            first: 0,
            flying: HashMap::new(),
            free: BTreeSet::new(),
            tags: 0,
            events: 0,
        }
    }

    fn lines(&mut self, input: &mut Input<'_>, take: Take<'_>, facts: &mut Facts) -> Result<(), End> {
        while let Some(line) = input.line()? {
            let line = String::from_utf8_lossy(line).into_owned();
            let number = input.line_number();
            let Some((time, text)) = split(&line) else { continue };
            if self.line(time, text, number).is_none() {
                facts.skip("line of another kind", number);
            }
            if self.waiting.len() > WAITING_MOST {
                self.drop_first(facts);
            }
            self.flush(take)?;
        }
        while !self.waiting.is_empty() {
            self.drop_first(facts);
            self.flush(take)?;
        }
        if self.events == 0 {
            return Err(Refusal::new("no access or DMA of a NIC")
                .kind(RefusalKind::Missing)
                .remedy("give a log of a nicbm device that was compiled with DEBUG_NICBM")
                .into());
        }
        Ok(())
    }

    /// Gives up on the DMA at the front.
    fn drop_first(&mut self, facts: &mut Facts) {
        if let Some(None) = self.waiting.front() {
            self.waiting.pop_front();
            let slot = self.first;
            self.first += 1;
            self.flying.retain(|_, dma| dma.slot != slot);
            facts.skip("DMA without an end", slot + 1);
        }
    }

    fn flush(&mut self, take: Take<'_>) -> Result<(), End> {
        while let Some(Some(_)) = self.waiting.front() {
            if let Some(Some(event)) = self.waiting.pop_front() {
                self.first += 1;
                self.events += 1;
                give(take, event)?;
            }
        }
        Ok(())
    }

    fn event(&mut self, time: u64, record: u64, direction: Direction, tlp: Tlp) -> Event {
        let start = *self.start.get_or_insert(time);
        let time_ps = Some(self.options.first_time_ps.saturating_add(time).saturating_sub(start));
        Event { time_ps, direction: Some(direction), port: 0, record, packet: Packet::Tlp(tlp), error: None }
    }

    fn line(&mut self, time: u64, text: &str, record: u64) -> Option<()> {
        if let Some(fields) = text.strip_prefix("read(").or_else(|| text.strip_prefix("write(")) {
            let (mut offset, mut bytes) = (None, None);
            for pair in fields.trim_end_matches(')').split(", ") {
                match pair.split_once('=')? {
                    ("off", value) => offset = number(value, 16),
                    ("len", value) => bytes = value.parse().ok(),
                    _ => {}
                }
            }
            let kind = if text.starts_with('r') { Kind::MemoryRead } else { Kind::MemoryWrite };
            let tlp = request(kind, offset?, bytes?);
            let event = self.event(time, record, Direction::Downstream, tlp);
            self.waiting.push_back(Some(event));
            return Some(());
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        match words[..] {
            ["issuing", "dma", "op", pointer, "addr", address, "len", bytes, ..] => {
                let (pointer, address) = (number(pointer, 16)?, number(address, 16)?);
                let bytes = bytes.parse().ok()?;
                let tag = self.free.pop_first().unwrap_or_else(|| {
                    self.tags = self.tags.saturating_add(1);
                    self.tags - 1
                });
                let slot = self.first + self.waiting.len() as u64;
                let begun = self.event(time, record, Direction::Upstream, Tlp::of(Kind::Prefix));
                let dma = Dma { tag, address, bytes, slot, begun };
                self.waiting.push_back(None);
                if self.flying.insert(pointer, dma).is_some() {
                    return None;
                }
            }
            ["completed", "dma", way @ ("read" | "write"), "op", pointer, ..] => {
                let dma = self.flying.remove(&number(pointer, 16)?)?;
                let kind = if way == "read" { Kind::MemoryRead } else { Kind::MemoryWrite };
                let tlp = Tlp { tag: Some(dma.tag), ..request(kind, dma.address, dma.bytes) };
                let completion = Tlp {
                    length_dw: tlp.length_dw,
                    data_bytes: 4 * u32::from(tlp.length_dw),
                    tag: tlp.tag,
                    ..Tlp::of(Kind::Completion { locked: false })
                };
                let index = usize::try_from(dma.slot.checked_sub(self.first)?).ok()?;
                *self.waiting.get_mut(index)? = Some(Event { packet: Packet::Tlp(tlp), ..dma.begun });
                if kind == Kind::MemoryRead {
                    let event = self.event(time, record, Direction::Downstream, completion);
                    self.waiting.push_back(Some(event));
                }
                self.free.insert(dma.tag);
            }
            ["issue", "MSI" | "MSI-X", "interrupt", "vec", _] | ["set", "intx", "interrupt", _] => {
                // A message of legacy interrupts; MSI and MSI-X are writes to an address that the log does not have.
                let tlp = if words[0] == "set" {
                    Tlp::of(Kind::Message { routing: 4 })
                } else {
                    Tlp { length_dw: 1, data_bytes: 4, ..Tlp::of(Kind::MemoryWrite) }
                };
                let event = self.event(time, record, Direction::Upstream, tlp);
                self.waiting.push_back(Some(event));
            }
            _ => return None,
        }
        Some(())
    }
}

/// Time and message of a line.
fn split(line: &str) -> Option<(u64, &str)> {
    let rest = line.trim().strip_prefix("main_time = ")?;
    let (time, rest) = rest.split_once(':')?;
    let text = rest.trim().strip_prefix("nicbm: ")?;
    Some((time.trim().parse().ok()?, text))
}
