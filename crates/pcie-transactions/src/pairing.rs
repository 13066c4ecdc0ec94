//! Pairs requests with their completions, by requester and tag. What it holds grows with the requests in flight.

use crate::rules::{Rule, StatedLimits, Violations, opposite};
use crate::transaction::{Class, DATA_BYTES_MOST, Range, Transaction, is_posted, range_of};
use pcie_capture::{Direction, Event, Kind, Tlp};
use std::collections::HashMap;

/// Requests in flight at most: four devices with all 14-bit tags.
const OPEN_MOST: usize = 1 << 16;
/// Least boundary at which completions may be cut, bytes.
const LEAST_RCB: u64 = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    requester: u16,
    tag: u16,
    /// 0 upstream, 1 downstream, 2 unknown: of the request.
    way: u8,
}

fn way(direction: Option<Direction>) -> u8 {
    direction.map_or(2, |direction| direction as u8)
}

#[derive(Debug)]
struct Open {
    transaction: Transaction,
    /// Address of the next byte that is due.
    next: u64,
    left_bytes: u32,
    serial: u64,
}

/// What a packet does.
#[derive(Debug, Default)]
pub struct Step {
    /// A transaction that this packet completes: a posted request, or the last completion of another.
    pub done: Option<Transaction>,
    /// Whether the packet opens a read.
    pub opens_read: bool,
    /// Whether it ends one.
    pub ends_read: bool,
    /// Bytes of data that were asked for and that this packet delivers, of reads and writes.
    pub delivered: u32,
    /// The range of a memory request.
    pub range: Option<Range>,
    /// Where this completion ends, if others of its request follow.
    pub cut_at: Option<u64>,
}

/// Requests in flight.
#[derive(Debug, Default)]
pub struct Pairing {
    open: HashMap<Key, Open>,
    serial: u64,
    /// Serial numbers of the reads that were done before an earlier one, at most [`OPEN_MOST`].
    last_done: [u64; 3],
    /// Reads that were done after a later one.
    pub out_of_order: u64,
    /// Requests that were not followed, since too many were in flight.
    pub dropped: u64,
}

impl Pairing {
    /// Takes a TLP.
    pub fn take(&mut self, event: &Event, tlp: &Tlp, limits: &StatedLimits, found: &mut Violations) -> Step {
        if let Kind::Completion { .. } = tlp.kind {
            return self.completion(event, tlp, limits, found);
        }
        let Some(class) = Class::of(tlp.kind) else { return Step::default() };
        self.request(event, tlp, class, found)
    }

    fn request(&mut self, event: &Event, tlp: &Tlp, class: Class, found: &mut Violations) -> Step {
        let range = range_of(tlp);
        let writes = tlp.data_bytes > 0
            || matches!(
                tlp.kind,
                Kind::MemoryWrite | Kind::DeferrableWrite | Kind::IoWrite | Kind::ConfigurationWrite { .. }
            );
        let bytes = match (class, range) {
            (Class::Read | Class::Write, Some(range)) => range.bytes,
            (Class::Read, None) => 4 * u32::from(tlp.length_dw),
            (Class::Io | Class::Configuration, _) => 4,
            _ => tlp.data_bytes,
        };
        let posted = is_posted(tlp.kind);
        let mut transaction = Transaction {
            class,
            writes,
            direction: event.direction,
            record: event.record,
            last_record: event.record,
            requester: tlp.requester,
            tag: tlp.tag,
            address: range.map(|range| range.address).filter(|_| class != Class::Message),
            bytes,
            start_ps: event.time_ps,
            first_ps: None,
            last_ps: None,
            completions: 0,
            last_data_bytes: 0,
            status: None,
            is_done: posted,
            overtaken_by: 0,
            data: Vec::new(),
        };
        if posted {
            transaction.data.clone_from(&tlp.data);
            let delivered = if class == Class::Write { bytes } else { 0 };
            return Step { done: Some(transaction), delivered, range, ..Step::default() };
        }
        let Some(tag) = tlp.tag else {
            return Step { done: Some(transaction), range, ..Step::default() };
        };
        let key = Key { requester: tlp.requester.unwrap_or(0), tag, way: way(event.direction) };
        let mut done = None;
        if let Some(before) = self.open.remove(&key) {
            let first = before.transaction.record;
            found.add(Rule::TagReuse, event.record, || {
                format!("tag {tag:#x} is that of the request in record {first}, which is in flight")
            });
            done = Some(before.transaction);
        }
        if self.open.len() >= OPEN_MOST {
            self.dropped += 1;
            return Step { done, range, ..Step::default() };
        }
        self.serial += 1;
        let next = transaction.address.unwrap_or(0);
        let (left_bytes, serial) = (transaction.bytes, self.serial);
        let replaced = done.as_ref().is_some_and(|before| before.class == Class::Read);
        self.open.insert(key, Open { transaction, next, left_bytes, serial });
        Step { done, opens_read: class == Class::Read && !replaced, range, ..Step::default() }
    }

    fn completion(
        &mut self,
        event: &Event,
        tlp: &Tlp,
        limits: &StatedLimits,
        found: &mut Violations,
    ) -> Step {
        let record = event.record;
        let Some((key, mut open)) = self.find(event, tlp) else {
            found.add(Rule::UnexpectedCompletion, record, || {
                let requester = tlp.requester.map_or_else(|| "unknown".into(), identifier);
                format!("no request of {requester} with tag {:#x} is in flight", tlp.tag.unwrap_or(0))
            });
            return Step::default();
        };
        let status = tlp.status.unwrap_or(0);
        let transaction = &mut open.transaction;
        transaction.completions += 1;
        transaction.last_data_bytes = tlp.data_bytes;
        transaction.last_record = record;
        transaction.first_ps = transaction.first_ps.or(event.time_ps);
        transaction.last_ps = event.time_ps.or(transaction.last_ps);
        if status != 0 || transaction.status.is_none() {
            transaction.status = Some(status);
        }
        let room = DATA_BYTES_MOST.saturating_sub(transaction.data.len()).min(tlp.data.len());
        transaction.data.extend_from_slice(&tlp.data[..room]);
        let read = transaction.class == Class::Read;
        let mut step = Step::default();
        if read && status == 0 && tlp.data_bytes > 0 {
            check_completion(tlp, record, &open, limits, found);
            let lead = (open.next % 4) as u32;
            let delivered = (4 * u32::from(tlp.length_dw)).saturating_sub(lead).min(open.left_bytes);
            step.delivered = delivered;
            open.left_bytes -= delivered;
            open.next = open.next.wrapping_add(u64::from(delivered));
            if open.left_bytes > 0 {
                step.cut_at = Some(open.next);
            }
        } else {
            open.left_bytes = 0;
        }
        if open.left_bytes > 0 {
            self.open.insert(key, open);
            return step;
        }
        open.transaction.is_done = true;
        step.ends_read = read;
        if read {
            let last = &mut self.last_done[usize::from(key.way)];
            if open.serial < *last {
                self.out_of_order += 1;
                open.transaction.overtaken_by = (*last - open.serial).min(u64::from(u32::MAX)) as u32;
            }
            *last = open.serial.max(*last);
        }
        step.done = Some(open.transaction);
        step
    }

    /// The request of a completion: by requester, tag and the other way; then by what the source gives of them.
    fn find(&mut self, event: &Event, tlp: &Tlp) -> Option<(Key, Open)> {
        let tag = tlp.tag?;
        let ways = match event.direction {
            Some(direction) => [way(Some(opposite(direction))), 2, 2],
            None => [2, 0, 1],
        };
        let requesters = [tlp.requester.unwrap_or(0), 0];
        for requester in requesters {
            for way in ways {
                let key = Key { requester, tag, way };
                if let Some(open) = self.open.remove(&key) {
                    return Some((key, open));
                }
            }
        }
        None
    }

    /// The requests without their last completion, in the order of records.
    #[must_use]
    pub fn into_open(self) -> Vec<Transaction> {
        let mut open: Vec<_> = self.open.into_values().map(|open| open.transaction).collect();
        open.sort_by_key(|transaction| transaction.record);
        open
    }
}

fn check_completion(tlp: &Tlp, record: u64, open: &Open, limits: &StatedLimits, found: &mut Violations) {
    if let Some(count) = tlp.byte_count.filter(|count| u32::from(*count) != open.left_bytes) {
        let left = open.left_bytes;
        found.add(Rule::ByteCount, record, || format!("byte count is {count}: {left} bytes are due"));
    }
    let known = open.transaction.address.is_some();
    let expected = (open.next & 127) as u8;
    if let Some(lower) = tlp.lower_address.filter(|lower| known && lower & 127 != expected) {
        found.add(Rule::LowerAddress, record, || {
            format!("lower address is {lower:#04x}: the next byte is at {expected:#04x}")
        });
    }
    let bytes = 4 * u32::from(tlp.length_dw);
    let lead = (open.next % 4) as u32;
    if bytes.saturating_sub(lead) > open.left_bytes.div_ceil(4) * 4 + 3 {
        found.add(Rule::Data, record, || format!("{bytes} bytes of data: {} bytes are due", open.left_bytes));
    }
    let end = open.next.wrapping_add(u64::from(bytes.saturating_sub(lead)));
    let last = bytes.saturating_sub(lead) >= open.left_bytes;
    let rcb = limits.rcb_bytes.map_or(LEAST_RCB, u64::from);
    if known && !last && !end.is_multiple_of(rcb) {
        found.add(Rule::Rcb, record, || format!("ends at {end:#x}, and others follow: RCB is {rcb}"));
    }
}

/// A requester as bus, device and function.
#[must_use]
pub fn identifier(id: u16) -> String {
    format!("{:02x}:{:02x}.{}", id >> 8, id >> 3 & 31, id & 7)
}
