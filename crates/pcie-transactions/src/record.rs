//! Captures of simulated transfers: what an analyser at the device would see of accesses on a calibrated host.
//!
//! The device has the tags of the system's link, cuts at multiples of MRRS and MPS as [`pcie_port::Requester`] does,
//! and sends each access as early as its time, a tag and credits allow. Packets begin when their first byte passes
//! the device's end of the link. DLLPs take time on the simulated link, but are no packets of the capture, except
//! UpdateFCs on request.

use pcie_capture::{Direction, Dllp, Event, Facts, Kind, Packet, Tlp};
use pcie_port::trace::Line;
use pcie_port::{Endpoint, Event as PortEvent, Kind as PortKind, Tlp as PortTlp, TlpError};
use pcie_refusal::Refusal;
use pcie_time::Picoseconds;
use pcie_wire::{Generation, Piece, TlpKind};
use std::collections::BTreeMap;

/// The device's and the root complex's IDs.
const REQUESTER: u16 = 0x0300;
const COMPLETER: u16 = 0;
const FS_PER_PS: u64 = 1000;
/// Sequence numbers of the data link layer.
const SEQUENCES: u16 = 1 << 12;

/// A capture of `lines`, sent one after the other: its events in the order of time.
///
/// `update_credits`: include an UpdateFC whenever credits come back. `stopped` is called before each access, and ends the
/// recording by returning true.
///
/// # Errors
/// The host refuses an access: outside its buffer, or later than it simulates.
pub fn record(
    lines: &[Line],
    endpoint: Endpoint,
    update_credits: bool,
    stopped: &mut dyn FnMut() -> bool,
) -> Result<(Vec<Event>, Facts), Refusal> {
    let system = endpoint.port().system();
    let link = system.link.clone();
    let generation = Generation::try_from(link.generation)?;
    let facts = Facts {
        format: "pcielab".into(),
        ports: vec!["device".into()],
        rate_tenths: u16::try_from(generation.megatransfers_per_second() / 100).ok(),
        lanes: u8::try_from(link.lanes).ok(),
        resolution_ps: Some(1),
        simulated: Some(true),
        ..Facts::default()
    };
    let tags = link.tags as u16;
    let mut recorder = Recorder {
        byte_fs: endpoint.port().uplink_byte_fs(),
        endpoint,
        free: (0..tags).rev().collect(),
        now: Picoseconds::ZERO,
        events: BTreeMap::new(),
        order: 0,
        update_credits,
        sent: [0; 2],
    };
    let most = [u64::from(link.mrrs_bytes), u64::from(link.mps_bytes)];
    for line in lines.iter().take_while(|_| !stopped()) {
        recorder.access(line, most[usize::from(line.write)]).map_err(Refusal::new)?;
    }
    recorder.drain().map_err(Refusal::new)?;
    let mut sequences = [0_u16; 2];
    let mut numbered = |(mut event, record): (Event, u64)| {
        if let (Packet::Tlp(tlp), Some(direction)) = (&mut event.packet, event.direction) {
            let sequence = &mut sequences[direction as usize];
            tlp.sequence = Some(*sequence);
            *sequence = (*sequence + 1) % SEQUENCES;
        }
        Event { record, ..event }
    };
    Ok((recorder.events.into_values().zip(1..).map(&mut numbered).collect(), facts))
}

struct Recorder {
    endpoint: Endpoint,
    byte_fs: u64,
    free: Vec<u16>,
    now: Picoseconds,
    /// By start and order of finding.
    events: BTreeMap<(u64, u64), Event>,
    order: u64,
    update_credits: bool,
    /// Credits returned so far: posted headers, posted data.
    sent: [u32; 2],
}

impl Recorder {
    fn access(&mut self, line: &Line, most: u64) -> Result<(), TlpError> {
        let (mut offset, mut left) = (line.offset, line.bytes);
        while left > 0 {
            // As pcie_port::Requester cuts: one TLP if it fits, else up to a multiple of the limit.
            let fits = offset % 4 + left <= most && offset % 4096 + left <= 4096;
            let length = if fits { left } else { left.min(most - offset % most) };
            self.piece(line, offset, length)?;
            offset += length;
            left -= length;
        }
        Ok(())
    }

    fn piece(&mut self, line: &Line, offset: u64, length: u64) -> Result<(), TlpError> {
        let kind = if line.write { PortKind::Write } else { PortKind::Read };
        let address = self.endpoint.port().buffer().address(offset);
        let address = address.ok_or(TlpError::OutsideBuffer { address: offset })?;
        self.now = self.now.max(line.ready);
        self.pass(self.now)?;
        loop {
            let tag = if line.write { Some(0) } else { self.free.last().copied() };
            if let Some(tag) = tag {
                let tlp = PortTlp { kind, tag, address, length: length as u32, relaxed: false };
                if self.endpoint.has_room(&tlp) {
                    return self.send(&tlp);
                }
            }
            let Some(next) = self.endpoint.next_at() else {
                return Err(TlpError::NoCredits("any"));
            };
            self.pass(next.max(self.now))?;
        }
    }

    fn send(&mut self, tlp: &PortTlp) -> Result<(), TlpError> {
        let sent = self.endpoint.submit(tlp, self.now)?;
        let write = tlp.kind == PortKind::Write;
        if !write {
            self.free.pop();
        }
        let piece = Piece { address: tlp.address, length: tlp.length };
        let kind = if write { TlpKind::MemoryWrite } else { TlpKind::MemoryRead };
        let start = self.start(sent.left, kind, piece);
        let padded = piece.padded_bytes();
        let (first_enables, last_enables) = enables(piece);
        let request = Tlp {
            kind: if write { Kind::MemoryWrite } else { Kind::MemoryRead },
            wide: Some(tlp.address >> 32 != 0),
            length_dw: (padded / 4) as u16,
            data_bytes: if write { padded } else { 0 },
            requester: Some(REQUESTER),
            tag: Some(tlp.tag),
            first_enables: Some(first_enables),
            last_enables: Some(last_enables),
            address: Some(tlp.address & !3),
            ..empty()
        };
        self.keep(start, Direction::Upstream, Packet::Tlp(request));
        Ok(())
    }

    /// Moves time on, and notes what arrives.
    fn pass(&mut self, to: Picoseconds) -> Result<(), TlpError> {
        self.endpoint.advance(to)?;
        self.now = self.now.max(to);
        while let Some(event) = self.endpoint.take() {
            match event {
                PortEvent::Completion(completion) => {
                    let piece = Piece { address: completion.address, length: completion.length };
                    let start = self.start(completion.at, TlpKind::CompletionWithData, piece);
                    let padded = piece.padded_bytes();
                    let packet = Tlp {
                        kind: Kind::Completion { locked: false },
                        length_dw: (padded / 4) as u16,
                        data_bytes: padded,
                        requester: Some(REQUESTER),
                        completer: Some(COMPLETER),
                        tag: Some(completion.tag),
                        status: Some(0),
                        byte_count: Some(completion.byte_count as u16),
                        lower_address: Some(completion.lower_address()),
                        ..empty()
                    };
                    self.keep(start, Direction::Downstream, Packet::Tlp(packet));
                    if completion.last {
                        self.free.push(completion.tag);
                    }
                }
                PortEvent::Credits { at, units } if self.update_credits && units.posted_headers > 0 => {
                    self.sent[0] = self.sent[0].wrapping_add(units.posted_headers);
                    self.sent[1] = self.sent[1].wrapping_add(units.posted_data);
                    let packet = Packet::Dllp(Dllp::Credits {
                        initial: false,
                        class: 0,
                        channel: 0,
                        header: (self.sent[0] % 256) as u16,
                        data: (self.sent[1] % 4096) as u16,
                        header_scale: 0,
                        data_scale: 0,
                    });
                    self.keep(at.0, Direction::Downstream, packet);
                }
                PortEvent::Credits { .. } | PortEvent::Message { .. } => {}
            }
        }
        Ok(())
    }

    fn drain(&mut self) -> Result<(), TlpError> {
        while let Some(next) = self.endpoint.next_at() {
            self.pass(next.max(self.now))?;
        }
        Ok(())
    }

    /// When the first byte of a packet passes whose last one passes at `end`, ps.
    fn start(&self, end: Picoseconds, kind: TlpKind, piece: Piece) -> u64 {
        let bytes = u64::from(self.endpoint.port().tlp_bytes(kind, piece));
        end.0.saturating_sub((bytes * self.byte_fs).div_ceil(FS_PER_PS))
    }

    fn keep(&mut self, start: u64, direction: Direction, packet: Packet) {
        self.order += 1;
        let event = Event {
            time_ps: Some(start),
            direction: Some(direction),
            port: 0,
            record: 0,
            packet,
            error: None,
        };
        self.events.insert((start, self.order), event);
    }
}

/// Byte enables of a request.
fn enables(piece: Piece) -> (u8, u8) {
    let lead = (piece.address % 4) as u32;
    let double_words = piece.padded_bytes() / 4;
    let last_bytes = (lead + piece.length - 1) % 4 + 1;
    let first = (15_u32 << lead & 15) as u8;
    let last = ((1_u32 << last_bytes) - 1) as u8;
    if double_words == 1 { (first & last, 0) } else { (first, last) }
}

/// Header fields that the others leave out.
fn empty() -> Tlp {
    Tlp {
        wide: Some(false),
        traffic_class: Some(0),
        attributes: Some(0),
        digest: Some(false),
        poisoned: Some(false),
        ..Tlp::of(Kind::MemoryRead)
    }
}
