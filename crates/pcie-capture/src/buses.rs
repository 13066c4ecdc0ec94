//! Packets from samples of the buses of hard blocks, found by the names of signals.
//!
//! AMD UltraScale and later: `*_rq_tdata` and so on, likewise `rc`, `cq`, `cc`. 7 series: `s_axis_tx_*`, `m_axis_rx_*`. Intel
//! Stratix 10 and older: `tx_st_data`, `rx_st_data` with headers in the data; P-tile and later with `*_st_hdr`.
//! Intel's own manuals 683111 and 683059, AMD PG054 and PG213.

use crate::event::{Direction, Event, Facts, LinkError, Packet};
use crate::header;
use crate::input::{End, Take, give};
use crate::ultrascale::{self, Port};
use pcie_refusal::{Kind, Refusal};
use std::collections::VecDeque;

/// Words of the longest packet, with room for what alignment adds.
const PACKET_DW_MOST: usize = 1024 + 64;
/// Widest bus in bits.
pub(crate) const BITS_MOST: usize = 4096;

/// A signal: its name without its range, its bits and its net.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    pub(crate) name: String,
    pub(crate) bits: usize,
    /// Number of the signal itself, or of another name of the same net.
    pub(crate) net: usize,
}

/// Values of signals at a sample, in words of 64 bits from bit 0 up.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    words: Vec<u64>,
    starts: Vec<usize>,
}

impl Values {
    pub(crate) fn of(signals: &[Signal]) -> Self {
        let mut starts = vec![0];
        for signal in signals {
            starts.push(starts[starts.len() - 1] + signal.bits.div_ceil(64));
        }
        Self { words: vec![0; starts[starts.len() - 1]], starts }
    }

    pub(crate) fn get(&self, signal: usize) -> &[u64] {
        &self.words[self.starts[signal]..self.starts[signal + 1]]
    }

    pub(crate) fn get_mut(&mut self, signal: usize) -> &mut [u64] {
        &mut self.words[self.starts[signal]..self.starts[signal + 1]]
    }

    fn bit(&self, signal: Option<usize>, bit: usize) -> Option<bool> {
        let words = self.get(signal?);
        Some(words.get(bit / 64)? >> (bit % 64) & 1 != 0)
    }

    fn number(&self, signal: Option<usize>, from: usize, bits: usize) -> Option<u64> {
        let words = self.get(signal?);
        let value = words.get(from / 64)? >> (from % 64);
        Some(value & ((1 << bits) - 1))
    }
}

/// A family of interfaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bus {
    UltraScale(Port),
    /// 7 series.
    Series7(Direction),
    /// Intel Avalon.
    Avalon(Direction),
}

/// Roles of signals, in the order of [`Interface::signals`].
const ROLES: [&str; 10] = ["data", "keep", "valid", "ready", "last", "user", "sop", "eop", "empty", "hdr"];
const DATA: usize = 0;
const KEEP: usize = 1;
const VALID: usize = 2;
const READY: usize = 3;
const LAST: usize = 4;
const USER: usize = 5;
const SOP: usize = 6;
const EOP: usize = 7;
const EMPTY: usize = 8;
const HDR: usize = 9;

/// An interface that was found.
struct Interface {
    bus: Bus,
    port: u16,
    signals: [Option<usize>; 10],
    width_dw: usize,
    user_bits: usize,
    /// Words of the packet so far.
    words: Vec<u32>,
    header: Vec<u32>,
    enables: Option<(u8, u8)>,
    /// Time and record of its start.
    begun: Option<(Option<u64>, u64)>,
    /// Whether a packet has ended: the first one may have lost its start.
    has_ended: bool,
}

/// The interfaces of a capture.
pub(crate) struct Buses {
    interfaces: Vec<Interface>,
    /// Events that wait for packets which started before them, by their records.
    held: VecDeque<Event>,
    pub(crate) events: u64,
}

/// A signal's family, prefix and role by its name.
fn role(name: &str) -> Option<(Bus, String, usize)> {
    let lower = name.to_ascii_lowercase();
    let base = lower.trim_end_matches("_o").trim_end_matches("_i");
    let index = |role: &str| ROLES.iter().position(|known| *known == role);
    if let Some((front, role)) = base.rsplit_once("_t")
        && let Some(role) = index(role)
    {
        let last = front.rsplit(['_', '/', '.']).next()?;
        if let Some(port) = Port::ALL.into_iter().find(|port| port.word() == last) {
            return Some((Bus::UltraScale(port), front.to_owned(), role));
        }
        let direction = if front.ends_with("axis_tx") {
            Direction::Upstream
        } else if front.ends_with("axis_rx") {
            Direction::Downstream
        } else {
            return None;
        };
        return Some((Bus::Series7(direction), front.to_owned(), role));
    }
    let (front, role) = base.rsplit_once('_')?;
    let role = index(role)?;
    let stem = front.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let direction = if stem.ends_with("tx_st") {
        Direction::Upstream
    } else if stem.ends_with("rx_st") {
        Direction::Downstream
    } else {
        return None;
    };
    Some((Bus::Avalon(direction), front.to_owned(), role))
}

impl Buses {
    /// Finds the interfaces among signals.
    pub(crate) fn find(signals: &[Signal], facts: &mut Facts) -> Result<Self, Refusal> {
        let mut interfaces: Vec<(String, Interface)> = Vec::new();
        for (index, signal) in signals.iter().enumerate() {
            let Some((bus, prefix, role)) = role(&signal.name) else { continue };
            let known = interfaces.iter().position(|(name, one)| *name == prefix && one.bus == bus);
            let known = match known {
                Some(known) => known,
                None => {
                    let interface = Interface {
                        bus,
                        port: 0,
                        signals: [None; 10],
                        width_dw: 0,
                        user_bits: 0,
                        words: Vec::new(),
                        header: Vec::new(),
                        enables: None,
                        begun: None,
                        has_ended: false,
                    };
                    interfaces.push((prefix, interface));
                    interfaces.len() - 1
                }
            };
            interfaces[known].1.signals[role].get_or_insert(index);
        }
        let bits = |signal: Option<usize>| signal.map_or(0, |signal| signals[signal].bits);
        let mut found = Vec::new();
        for (name, mut interface) in interfaces {
            interface.width_dw = bits(interface.signals[DATA]) / 32;
            interface.user_bits = bits(interface.signals[USER]);
            if interface.width_dw == 0 || interface.signals[VALID].is_none() {
                facts.skip("interface without data or valid", 1);
                continue;
            }
            // The same ports, seen from another module.
            let net = |interface: &Interface| interface.signals[DATA].map(|signal| signals[signal].net);
            let is_seen = |other: &Interface| other.bus == interface.bus && net(other) == net(&interface);
            if !found.iter().any(is_seen) {
                interface.port = facts.port(&name);
                found.push(interface);
            }
        }
        if found.is_empty() {
            let names: Vec<_> =
                signals.iter().take(40).map(|signal| format!("{:.60}", signal.name)).collect();
            return Err(Refusal::new(format!("no interface of a hard block among {}", names.join(", ")))
                .kind(Kind::Missing)
                .remedy("capture tdata, tkeep, tvalid, tready, tlast and tuser under names like `s_axis_rq_tdata`"));
        }
        Ok(Self { interfaces: found, held: VecDeque::new(), events: 0 })
    }

    /// The signals that the interfaces need.
    pub(crate) fn needs(&self, signal: usize) -> bool {
        self.interfaces.iter().any(|interface| interface.signals.contains(&Some(signal)))
    }

    /// Takes a sample.
    pub(crate) fn sample(
        &mut self,
        values: &Values,
        time_ps: Option<u64>,
        record: u64,
        facts: &mut Facts,
        take: Take<'_>,
    ) -> Result<(), End> {
        let mut events = Vec::new();
        for interface in &mut self.interfaces {
            interface.beat(values, (time_ps, record), facts, &mut events);
        }
        self.events += events.len() as u64;
        for event in events {
            let at = self.held.partition_point(|held| held.record <= event.record);
            self.held.insert(at, event);
        }
        let open =
            self.interfaces.iter().filter_map(|interface| interface.begun).map(|(_, record)| record).min();
        self.give(open.unwrap_or(u64::MAX), take)
    }

    /// Hands over what started before a record.
    fn give(&mut self, before: u64, take: Take<'_>) -> Result<(), End> {
        while self.held.front().is_some_and(|event| event.record < before) {
            if let Some(event) = self.held.pop_front() {
                give(take, event)?;
            }
        }
        Ok(())
    }

    /// Hands the last events over, and counts packets that the end of the capture cut.
    pub(crate) fn end(&mut self, facts: &mut Facts, take: Take<'_>) -> Result<(), End> {
        for (_, record) in self.interfaces.iter().filter_map(|interface| interface.begun) {
            facts.skip("packet cut by the end of the capture", record);
        }
        self.give(u64::MAX, take)
    }
}

type At = (Option<u64>, u64);

impl Interface {
    fn beat(&mut self, values: &Values, at: At, facts: &mut Facts, events: &mut Vec<Event>) {
        if let Bus::Avalon(_) = self.bus {
            return self.avalon(values, at, facts, events);
        }
        let moves = values.bit(self.signals[VALID], 0) == Some(true)
            && values.bit(self.signals[READY], 0) != Some(false);
        if !moves {
            return;
        }
        let ends = values.bit(self.signals[LAST], 0);
        let user = self.signals[USER].map_or(&[][..], |signal| values.get(signal));
        let bounds = match self.bus {
            Bus::UltraScale(port) => {
                ultrascale::bounds(port, self.width_dw, self.user_bits, user, self.begun.is_some())
            }
            _ => self.series7_bounds(user),
        };
        let lanes = self.lanes(values);
        match bounds {
            Some(bounds) if !bounds.is_silent => {
                let mut ends = bounds.ends.iter().copied().peekable();
                let mut starts = bounds.starts.iter().copied().enumerate().peekable();
                let mut lane = 0;
                while lane < self.width_dw {
                    if self.begun.is_none() {
                        let Some((packet, start)) = starts.next() else { break };
                        if start < lane || start >= self.width_dw {
                            break;
                        }
                        lane = start;
                        self.begin(at, bounds.enables.get(packet).copied());
                    }
                    while ends.next_if(|end| *end < lane).is_some() {}
                    let end = ends.next_if(|end| {
                        // A start before this end means that the packet's own end is missing.
                        *end < self.width_dw
                    });
                    let stop = end.map_or(self.width_dw, |end| end + 1);
                    self.extend(values, lane, stop);
                    lane = stop;
                    if end.is_some() {
                        self.finish(facts, events);
                    }
                }
            }
            bounds => {
                if self.begun.is_none() {
                    self.begin(at, bounds.and_then(|bounds| bounds.enables.first().copied()));
                }
                self.extend(values, 0, lanes);
                if ends == Some(true) {
                    self.finish(facts, events);
                }
            }
        }
        if self.words.len() > PACKET_DW_MOST {
            self.drop_packet("packet without an end", facts);
        }
    }

    /// Words of the beat that `tkeep` marks.
    fn lanes(&self, values: &Values) -> usize {
        let Some(keep) = self.signals[KEEP] else { return self.width_dw };
        let ones: u32 = values.get(keep).iter().map(|word| word.count_ones()).sum();
        let words = if matches!(self.bus, Bus::Series7(_)) { ones.div_ceil(4) } else { ones };
        (words as usize).min(self.width_dw)
    }

    /// Starts and ends in `tuser` of the 7 series at 128 bits, from the link.
    fn series7_bounds(&self, user: &[u64]) -> Option<ultrascale::Bounds> {
        if self.bus != Bus::Series7(Direction::Downstream) || self.width_dw != 4 || self.user_bits < 22 {
            return None;
        }
        let user = *user.first()?;
        let mut bounds = ultrascale::Bounds::default();
        if user >> 14 & 1 != 0 {
            bounds.starts.push((user >> 12 & 3) as usize);
        }
        if user >> 21 & 1 != 0 {
            bounds.ends.push((user >> 19 & 3) as usize);
        }
        Some(bounds)
    }

    fn begin(&mut self, at: At, enables: Option<(u8, u8)>) {
        self.words.clear();
        self.begun = Some(at);
        self.enables = enables;
    }

    fn extend(&mut self, values: &Values, from: usize, to: usize) {
        let Some(signal) = self.signals[DATA] else { return };
        let data = values.get(signal);
        self.words
            .extend((from..to).filter_map(|lane| Some((data.get(lane / 2)? >> (32 * (lane % 2))) as u32)));
    }

    fn drop_packet(&mut self, why: &str, facts: &mut Facts) {
        if let Some((_, record)) = self.begun.take() {
            facts.skip(why, record);
        }
        self.words.clear();
        self.has_ended = true;
    }

    /// Makes an event of a whole packet.
    fn finish(&mut self, facts: &mut Facts, events: &mut Vec<Event>) {
        let Some((time_ps, record)) = self.begun else { return };
        let read = match self.bus {
            Bus::UltraScale(port) => self.ultrascale(port),
            Bus::Series7(direction) => self.numeric(direction, true),
            Bus::Avalon(direction) => self.numeric(direction, false),
        };
        let is_first = !self.has_ended;
        match read {
            Some((direction, tlp, error)) if !(is_first && error == Some(LinkError::Malformed)) => {
                let direction = Some(direction);
                let packet = Packet::Tlp(tlp);
                events.push(Event { time_ps, direction, port: self.port, record, packet, error });
                self.begun = None;
                self.words.clear();
                self.has_ended = true;
            }
            _ if is_first => self.drop_packet("packet cut by the start of the capture", facts),
            _ => self.drop_packet("packet that is no TLP", facts),
        }
    }

    fn ultrascale(&self, port: Port) -> Option<(Direction, crate::event::Tlp, Option<LinkError>)> {
        let descriptor = port.descriptor_dw();
        let data_dw = port.data_dw(&self.words)?;
        let words = self.words.get(..descriptor)?;
        // The data follow the descriptor, or begin at the lane of their address in the next beat or quarter.
        let offset = port.data_offset(words) / 4;
        let aligned =
            if self.width_dw == 16 { 4 + offset % 4 } else { self.width_dw + offset % self.width_dw };
        let is_packed = self.words.len() == descriptor + data_dw;
        let is_aligned = !is_packed && data_dw > 0 && self.words.len() == aligned + data_dw;
        let from = if is_aligned { aligned } else { descriptor };
        let (tlp, error) = ultrascale::decode(port, words, &self.words[from..], self.enables)?;
        let fits = is_packed || is_aligned;
        Some((port.direction(), tlp, error.or((!fits).then_some(LinkError::Malformed))))
    }

    /// A TLP whose header is in numbers: first byte highest.
    fn numeric(
        &self,
        direction: Direction,
        data_is_numeric: bool,
    ) -> Option<(Direction, crate::event::Tlp, Option<LinkError>)> {
        let own_header = !self.header.is_empty();
        let words = if own_header { &self.header } else { &self.words };
        let mut bytes: Vec<u8> = words.iter().take(16).flat_map(|word| word.to_be_bytes()).collect();
        bytes.truncate(64);
        let mut read = header::decode(&bytes).ok()?;
        let data_dw = read.tlp.data_bytes as usize / 4;
        let digest = usize::from(read.tlp.digest == Some(true));
        let header_dw = if own_header { 0 } else { read.bytes / 4 - data_dw - digest };
        let whole = header_dw + data_dw;
        let extra = self.words.len().checked_sub(whole);
        // Older devices align data to quad words: one empty word behind the header.
        let gap = usize::from(!data_is_numeric && !own_header && data_dw > 0 && extra == Some(1 + digest));
        let fits = extra.is_some_and(|extra| extra == gap || extra == gap + digest);
        let data = self.words.get(header_dw + gap..).unwrap_or_default();
        let data = &data[..data.len().min(data_dw)];
        read.tlp.data = if data_is_numeric {
            data.iter().take(16).flat_map(|word| word.to_be_bytes()).collect()
        } else {
            ultrascale::data_bytes(data)
        };
        Some((direction, read.tlp, (!fits).then_some(LinkError::Malformed)))
    }

    /// A beat of Avalon: segments of 256 bits, each with its start, end and header.
    fn avalon(&mut self, values: &Values, at: At, facts: &mut Facts, events: &mut Vec<Event>) {
        let segments = (self.width_dw / 8).max(1);
        let lanes = self.width_dw / segments;
        for segment in 0..segments {
            let valid = values.bit(self.signals[VALID], segment).or(values.bit(self.signals[VALID], 0));
            if valid != Some(true) {
                continue;
            }
            if values.bit(self.signals[SOP], segment) == Some(true) {
                if self.begun.is_some() {
                    self.drop_packet("packet without an end", facts);
                }
                self.begin(at, None);
                self.header.clear();
                if let Some(hdr) = self.signals[HDR] {
                    let words = values.get(hdr).get(2 * segment..2 * segment + 2).unwrap_or_default();
                    if let [low, high] = *words {
                        self.header.extend([
                            (high >> 32) as u32,
                            high as u32,
                            (low >> 32) as u32,
                            low as u32,
                        ]);
                    }
                }
            }
            if self.begun.is_none() {
                continue;
            }
            let ends = values.bit(self.signals[EOP], segment) == Some(true);
            let empty = if ends {
                values.number(self.signals[EMPTY], 3 * segment, 3).unwrap_or(0) as usize
            } else {
                0
            };
            self.extend(values, segment * lanes, (segment + 1) * lanes - empty.min(lanes));
            if ends {
                // A header of its own needs no data beat: what is there is no data.
                if !self.header.is_empty()
                    && header::decode(
                        &self.header.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<_>>(),
                    )
                    .is_ok_and(|read| read.tlp.data_bytes == 0)
                {
                    self.words.clear();
                }
                self.finish(facts, events);
            }
            if self.words.len() > PACKET_DW_MOST {
                self.drop_packet("packet without an end", facts);
            }
        }
    }
}
