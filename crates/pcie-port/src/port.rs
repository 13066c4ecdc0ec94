//! A root port that checks what a device sends, for a device that keeps its own time.

use crate::addresses::BufferAddresses;
use crate::tlp::{Kind, Outcome, TAGS, Tlp, TlpError};
use pcie_sim::profile::System;
use pcie_sim::{Answer, Machine, RootPort, Sent, State, TestKey};
use pcie_time::Picoseconds;
use pcie_wire::{PAGE_BYTES, Piece, TlpKind};
use pcie_workload::Operation;
use self_cell::self_cell;
use std::sync::Arc;

/// A completion for a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// When its last byte arrives at the device.
    pub at: Picoseconds,
    /// Tag of its request, free again after the last completion.
    pub tag: u16,
    /// Buffer offset of its first byte.
    pub offset: u64,
    /// Bus address of its first byte.
    pub address: u64,
    /// Bytes of data.
    pub length: u32,
    /// Bytes of the request from here on, this completion's included: Byte Count of its header.
    pub byte_count: u32,
    /// Whether it is the last one of its request.
    pub last: bool,
    /// Whether it brings data, and if not, why. A lost one reaches nobody: it only says that nothing else comes.
    pub outcome: Outcome,
}

impl Completion {
    /// Lower Address of its header.
    #[must_use]
    pub fn lower_address(&self) -> u8 {
        (self.address & 127) as u8
    }
}

self_cell!(
    struct OwnedRootPort {
        owner: Arc<Machine>,
        #[covariant]
        dependent: RootPort,
    }
    impl {Debug}
);

/// A read in flight.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// From a buffer offset to its bus address, modulo 2^64.
    shift: u64,
    /// Buffer offset behind its last byte.
    end: u64,
    /// Its bytes.
    length: u32,
    outcome: Outcome,
}

/// A root port with checks.
#[derive(Debug)]
pub struct Port {
    root: OwnedRootPort,
    buffer: BufferAddresses,
    /// Reads in flight by tag.
    open: Vec<Option<Open>>,
    reads: u32,
    answers: Vec<Answer>,
}

impl Port {
    /// The host of a machine, with nothing in flight. `operation` is that of the device, see
    /// [`RootPort::new`]; `BwRdwr` makes no assumption.
    #[must_use]
    pub fn new(machine: Arc<Machine>, key: TestKey, state: State, operation: Operation) -> Self {
        let buffer = BufferAddresses::of(machine.system());
        let root = OwnedRootPort::new(machine, |machine| RootPort::new(machine, key, state, 0, operation));
        Self { root, buffer, open: vec![None; TAGS.into()], reads: 0, answers: Vec::new() }
    }

    fn root(&self) -> &RootPort<'_> {
        self.root.borrow_dependent()
    }

    /// The system that is simulated.
    #[must_use]
    pub fn system(&self) -> &System {
        self.root.borrow_owner().system()
    }

    /// The host buffer.
    #[must_use]
    pub fn buffer(&self) -> &BufferAddresses {
        &self.buffer
    }

    /// Reads in flight.
    #[must_use]
    pub fn reads_in_flight(&self) -> u32 {
        self.reads
    }

    /// Time of a byte from the device to the host, fs.
    #[must_use]
    pub fn uplink_byte_fs(&self) -> u64 {
        self.root().uplink_byte_fs()
    }

    /// See [`RootPort::tlp_bytes`].
    #[must_use]
    pub fn tlp_bytes(&self, kind: TlpKind, piece: Piece) -> u32 {
        self.root().tlp_bytes(kind, piece)
    }

    /// See [`RootPort::flight`].
    #[must_use]
    pub fn flight(&self) -> Picoseconds {
        self.root().flight()
    }

    /// See [`RootPort::uplink_free_at`].
    #[must_use]
    pub fn uplink_free_at(&self) -> Picoseconds {
        self.root().uplink_free_at()
    }

    /// See [`RootPort::reaction`].
    #[must_use]
    pub fn reaction(&self) -> Picoseconds {
        self.root().reaction()
    }

    /// See [`RootPort::silent_until`].
    #[must_use]
    pub fn silent_until(&self) -> Option<Picoseconds> {
        self.root().silent_until()
    }

    /// Whether a tag belongs to a read in flight.
    #[must_use]
    pub fn is_in_use(&self, tag: u16) -> bool {
        self.open.get(usize::from(tag)).is_some_and(Option::is_some)
    }

    /// Sends a TLP that is complete at `ready`.
    ///
    /// # Errors
    /// Names what the TLP violates.
    pub fn submit(&mut self, tlp: &Tlp, ready: Picoseconds) -> Result<Sent, TlpError> {
        self.submit_with(tlp, ready, Outcome::Data)
    }

    /// Sends a TLP; a read gets the given outcome. Host and link have the work of the data in any case, and a
    /// completion without data comes when the last one with data would have come.
    ///
    /// # Errors
    /// Names what the TLP violates, or an outcome other than data of one that is no read.
    pub fn submit_with(&mut self, tlp: &Tlp, ready: Picoseconds, outcome: Outcome) -> Result<Sent, TlpError> {
        if tlp.kind != Kind::Read && outcome != Outcome::Data {
            return Err(TlpError::NoAnswer);
        }
        if tlp.is_signal() {
            tlp.check_signal()?;
            return Ok(self.root.with_dependent_mut(|_, root| root.message(ready)));
        }
        let piece = self.checked(tlp)?;
        if tlp.kind == Kind::Write {
            return Ok(self.root.with_dependent_mut(|_, root| {
                if tlp.relaxed { root.write_relaxed(piece, ready) } else { root.write(piece, ready) }
            }));
        }
        let open = self.open.get_mut(usize::from(tlp.tag)).ok_or(TlpError::Tag(tlp.tag))?;
        if open.is_some() {
            return Err(TlpError::TagInUse(tlp.tag));
        }
        let shift = tlp.address.wrapping_sub(piece.address);
        let Piece { address, length } = piece;
        *open = Some(Open { shift, end: address + u64::from(length), length, outcome });
        self.reads += 1;
        Ok(self.root.with_dependent_mut(|_, root| root.read(tlp.tag.into(), piece, ready)))
    }

    /// The part of the buffer that a memory request is for.
    fn checked(&self, tlp: &Tlp) -> Result<Piece, TlpError> {
        let Tlp { address, length, .. } = *tlp;
        let link = &self.system().link;
        let (most, limit) =
            if tlp.kind == Kind::Read { (link.mrrs_bytes, "MRRS") } else { (link.mps_bytes, "MPS") };
        // Whole double words count, those before an unaligned start included.
        if length == 0 || u64::from(length) + address % 4 > u64::from(most) {
            return Err(TlpError::Length { length, most, limit });
        }
        if address % u64::from(PAGE_BYTES) + u64::from(length) > u64::from(PAGE_BYTES) {
            return Err(TlpError::CrossesPage { address, length });
        }
        let offset = self.buffer.offset(address).ok_or(TlpError::OutsideBuffer { address })?;
        Ok(Piece { address: offset, length })
    }

    /// Appends, in order, the completions that reach the device up to [`Port::reaction`] after `given`. The
    /// device must have sent everything that is ready before `given`.
    pub fn settle(&mut self, given: Picoseconds, completions: &mut Vec<Completion>) {
        let answers = &mut self.answers;
        self.root.with_dependent_mut(|_, root| root.settle(given, answers));
        for Answer { request, piece, last, at } in self.answers.drain(..) {
            let slot = &mut self.open[request as usize];
            let Some(open) = *slot else { continue };
            if last {
                *slot = None;
                self.reads -= 1;
            }
            let has_data = matches!(open.outcome, Outcome::Data | Outcome::Poisoned);
            if !has_data && !last {
                continue;
            }
            let (offset, length) = match has_data {
                true => (piece.address, piece.length),
                false => (open.end - u64::from(open.length), 0),
            };
            completions.push(Completion {
                at,
                tag: request as u16,
                offset,
                address: offset.wrapping_add(open.shift),
                length,
                byte_count: (open.end - offset) as u32,
                last,
                outcome: open.outcome,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machines::snb;

    fn port() -> Port {
        let machine = snb();
        let (key, state) = (TestKey { seed: 1, test: 0 }, machine.boot());
        Port::new(machine, key, state, Operation::BwRdwr)
    }

    fn read(port: &Port, tag: u16, offset: u64, length: u32) -> Tlp {
        let address = port.buffer().address(offset).unwrap();
        Tlp { kind: Kind::Read, tag, address, length, relaxed: false }
    }

    fn drain(port: &mut Port) -> Vec<Completion> {
        let mut found = Vec::new();
        while let Some(until) = port.silent_until() {
            port.settle(until, &mut found);
        }
        found
    }

    #[test]
    fn completions_cover_their_request_in_bus_addresses() {
        let mut port = port();
        // The second piece of the buffer, whose bus address differs from its offset.
        let request = read(&port, 7, (4 << 20) + 60, 300);
        port.submit(&request, Picoseconds::ZERO).unwrap();
        let found = drain(&mut port);
        let mut next = request.address;
        for completion in &found {
            assert_eq!((completion.tag, completion.address), (7, next));
            assert_eq!(u64::from(completion.byte_count), request.address + 300 - next);
            assert_eq!(u64::from(completion.lower_address()), next % 128);
            next += u64::from(completion.length);
        }
        assert_eq!(next, request.address + 300);
        assert!(found.last().unwrap().last && !port.is_in_use(7));
    }

    #[test]
    fn reads_that_fail_get_one_completion_without_data_when_the_last_would_have_come() {
        let answers = |outcome| {
            let mut port = port();
            let request = read(&port, 3, 64, 400);
            port.submit_with(&request, Picoseconds::ZERO, outcome).unwrap();
            let found = drain(&mut port);
            assert!(!port.is_in_use(3), "{outcome:?}");
            (request.address, found)
        };
        let (_, good) = answers(Outcome::Data);
        let (_, poisoned) = answers(Outcome::Poisoned);
        let spoilt = good.iter().map(|one| Completion { outcome: Outcome::Poisoned, ..*one });
        assert!(poisoned == spoilt.collect::<Vec<_>>());
        for outcome in [Outcome::Unsupported, Outcome::Aborted, Outcome::Lost] {
            let (address, found) = answers(outcome);
            let [only] = found[..] else { panic!("{found:?}") };
            assert_eq!((only.outcome, only.length, only.byte_count, only.last), (outcome, 0, 400, true));
            assert_eq!((only.address, only.at), (address, good.last().unwrap().at));
        }
    }

    #[test]
    fn wrong_tlps_are_refused_and_change_nothing() {
        let mut port = port();
        let good = read(&port, 1, 0, 64);
        let refused = [
            Tlp { length: 0, ..good },
            Tlp { length: 513, ..good },
            Tlp { length: 257, kind: Kind::Write, ..good },
            Tlp { address: good.address + 4000, length: 200, ..good },
            Tlp { address: 0, ..good },
            Tlp { address: u64::MAX, length: 1, ..good },
            Tlp { tag: TAGS, ..good },
            Tlp { kind: Kind::Message, ..good },
            Tlp { kind: Kind::Write, address: 0xfee0_0000, length: 8, ..good },
        ];
        for tlp in refused {
            assert!(port.submit(&tlp, Picoseconds::ZERO).is_err(), "{tlp:?}");
        }
        let write = Tlp { kind: Kind::Write, ..good };
        let failed = port.submit_with(&write, Picoseconds::ZERO, Outcome::Lost);
        assert_eq!(failed, Err(TlpError::NoAnswer));
        assert_eq!((port.reads_in_flight(), port.silent_until()), (0, None));
        port.submit(&good, Picoseconds::ZERO).unwrap();
        assert_eq!(port.submit(&good, Picoseconds::ZERO), Err(TlpError::TagInUse(1)));
        assert_eq!(port.reads_in_flight(), 1);
    }
}
