//! What the host does to the device, and the DMA that follows: evictions of write-combining buffers, doorbells, reads of
//! descriptors, and of the data that they point to.
//!
//! A core with write-combining memory gathers stores to a line of 64 bytes. A line that was filled leaves as one write
//! of 64 bytes; one that was evicted earlier leaves as several writes with some of the bytes (Intel SDM volume 3,
//! section 12.3.1).

use crate::transaction::{Class, Transaction};
use pcie_capture::Direction;
use serde::Serialize;
use std::collections::VecDeque;

/// Bytes of a write-combining buffer.
pub const LINE_BYTES: u64 = 64;
/// Most bytes of a doorbell.
const DOORBELL_BYTES_MOST: u32 = 8;
/// Entries of each list that are kept; the others are counted.
const KEPT_MOST: usize = 1000;
/// Descriptors whose data reads may still come.
const DESCRIPTORS_MOST: usize = 64;
/// Most bytes of a read that may be of descriptors.
const DESCRIPTOR_BYTES_MOST: u32 = 4096;

/// A line of write-combining memory that left a core.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Eviction {
    /// Record of its first write.
    pub record: u64,
    /// Record of its last write.
    pub last_record: u64,
    /// Address of the line.
    pub address: u64,
    /// First byte written.
    pub first_address: u64,
    /// A bit for each of its bytes that was written.
    #[serde(skip)]
    written: u64,
    /// Writes that carried it.
    pub packets: u32,
    /// Bytes that they wrote.
    pub bytes: u32,
    /// Whether one write carried all of it.
    pub full: bool,
    /// Start of the first write, ps.
    pub start_ps: Option<u64>,
    /// Time since the start of the line before, ps.
    pub after_ps: Option<u64>,
}

/// A small write of the host to a device, alone in its line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Doorbell {
    /// Its record.
    pub record: u64,
    /// Where it writes.
    pub address: u64,
    /// How much.
    pub bytes: u32,
    /// When it starts, ps.
    pub start_ps: Option<u64>,
    /// Record of the device's first read after it.
    pub read_record: Option<u64>,
    /// Time from it to the start of that read, ps.
    pub read_after_ps: Option<u64>,
}

/// A read of a descriptor: a read after a doorbell, or one whose data hold the address of a later transfer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DescriptorRead {
    /// Its record.
    pub record: u64,
    /// Record of its last completion.
    pub completion_record: u64,
    /// Where the descriptor is.
    pub address: u64,
    /// Bytes of the descriptor.
    pub bytes: u32,
    /// Record of the doorbell before it.
    pub doorbell_record: Option<u64>,
    /// Time from the start of the read to that of its last completion, ps.
    pub latency_ps: Option<u64>,
    /// Record of the transfer to or from the address that the descriptor holds.
    pub data_record: Option<u64>,
    /// That address.
    pub data_address: Option<u64>,
    /// Bytes of that transfer's first request.
    pub data_bytes: Option<u32>,
    /// Time from the start of the descriptor's last completion to that of the transfer, ps.
    pub data_after_ps: Option<u64>,
    /// Start of the read, ps.
    pub start_ps: Option<u64>,
    #[serde(skip)]
    data: Vec<u8>,
}

/// Lists of what was found, with their whole counts.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Stores {
    /// Lines that one write carried whole.
    pub full_lines: u64,
    /// Lines that left in parts, or not whole.
    pub partial_lines: u64,
    /// Writes of those.
    pub partial_writes: u64,
    /// Mean time from a line to the next, ns, where lines follow each other.
    pub line_interval_ns: Option<f64>,
    /// Doorbells.
    pub doorbell_count: u64,
    /// Reads of descriptors.
    pub descriptor_count: u64,
    /// The first lines.
    pub evictions: Vec<Eviction>,
    /// The first doorbells.
    pub doorbells: Vec<Doorbell>,
    /// The first reads of descriptors.
    pub descriptor_reads: Vec<DescriptorRead>,
}

/// Follows the host's writes and the device's DMA.
#[derive(Debug, Default)]
pub(crate) struct StoreWatch {
    found: Stores,
    line: Option<Eviction>,
    /// Start of the line before.
    line_before: Option<u64>,
    intervals: (u64, u128),
    /// The first read of the device after that line, if it may be a doorbell, and the time up to it.
    answer: Option<(u64, Option<u64>)>,
    /// Reads that a doorbell started: record, doorbell.
    expected: VecDeque<(u64, u64)>,
    descriptors: VecDeque<DescriptorRead>,
}

impl StoreWatch {
    /// Takes the request of a transaction, when it is sent.
    pub(crate) fn request(&mut self, request: &Request) {
        match (request.class, request.direction) {
            (Class::Write, Some(Direction::Downstream)) => self.host_write(request),
            (Class::Read, Some(Direction::Upstream)) => {
                self.follow(request);
                self.answer(request);
            }
            (Class::Write, Some(Direction::Upstream)) => self.follow(request),
            _ => {}
        }
    }

    /// Notes that a transfer is to the address that a descriptor holds.
    fn follow(&mut self, request: &Request) {
        let address = request.address;
        let position = self.descriptors.iter().position(|descriptor| points_to(&descriptor.data, address));
        let Some(mut descriptor) = position.and_then(|at| self.descriptors.remove(at)) else { return };
        descriptor.data_record = Some(request.record);
        descriptor.data_address = Some(address);
        descriptor.data_bytes = Some(request.bytes);
        let completed =
            descriptor.latency_ps.zip(descriptor.start_ps).map(|(latency, start)| start + latency);
        descriptor.data_after_ps =
            completed.and_then(|completed| request.start_ps.map(|start| start.saturating_sub(completed)));
        self.keep_descriptor(descriptor);
    }

    fn keep_descriptor(&mut self, descriptor: DescriptorRead) {
        self.found.descriptor_count += 1;
        if self.found.descriptor_reads.len() < KEPT_MOST {
            self.found.descriptor_reads.push(descriptor);
        }
    }

    fn host_write(&mut self, request: &Request) {
        let (address, bytes) = (request.address, request.bytes);
        if bytes == 0 {
            return;
        }
        let line = address / LINE_BYTES * LINE_BYTES;
        let whole = u64::from(bytes).is_multiple_of(LINE_BYTES) && address == line;
        let written = bytes_of_line(address, bytes);
        let same = |open: &&mut Eviction| open.address == line && !whole && !open.full;
        if let Some(open) = self.line.as_mut().filter(|open| same(open) && open.written & written == 0) {
            open.written |= written;
            open.packets += 1;
            open.bytes += bytes;
            open.last_record = request.record;
            return;
        }
        self.end_line();
        let after_ps = self.line_before.and_then(|before| Some(request.start_ps?.saturating_sub(before)));
        self.line_before = request.start_ps;
        self.line = Some(Eviction {
            record: request.record,
            last_record: request.record,
            address: line,
            first_address: address,
            written,
            packets: 1,
            bytes,
            full: whole,
            start_ps: request.start_ps,
            after_ps,
        });
    }

    /// Notes the first read after a write that may be a doorbell.
    fn answer(&mut self, request: &Request) {
        let Some(line) = self.line.as_ref().filter(|line| is_doorbell(line) && self.answer.is_none()) else {
            return;
        };
        let passed = line.start_ps.and_then(|rung| Some(request.start_ps?.saturating_sub(rung)));
        self.answer = Some((request.record, passed));
        self.expected.push_back((request.record, line.record));
        if self.expected.len() > DESCRIPTORS_MOST {
            self.expected.pop_front();
        }
    }

    fn end_line(&mut self) {
        let answer = self.answer.take();
        let Some(line) = self.line.take() else { return };
        if is_doorbell(&line) {
            self.found.doorbell_count += 1;
            if self.found.doorbells.len() < KEPT_MOST {
                self.found.doorbells.push(Doorbell {
                    record: line.record,
                    address: line.first_address,
                    bytes: line.bytes,
                    start_ps: line.start_ps,
                    read_record: answer.map(|(read, _)| read),
                    read_after_ps: answer.and_then(|(_, passed)| passed),
                });
            }
            return;
        }
        if let Some(after) = line.after_ps {
            self.intervals = (self.intervals.0 + 1, self.intervals.1 + u128::from(after));
        }
        if line.full {
            self.found.full_lines += 1;
        } else {
            self.found.partial_lines += 1;
            self.found.partial_writes += u64::from(line.packets);
        }
        if self.found.evictions.len() < KEPT_MOST {
            self.found.evictions.push(line);
        }
    }

    /// Takes a transaction that is done.
    pub(crate) fn done(&mut self, transaction: &Transaction) {
        let device_reads = transaction.class == Class::Read
            && transaction.direction == Some(Direction::Upstream)
            && transaction.bytes <= DESCRIPTOR_BYTES_MOST;
        let Some(address) = transaction.address.filter(|_| device_reads) else { return };
        let rung = self.expected.iter().position(|(read, _)| *read == transaction.record);
        let rung = rung.and_then(|at| self.expected.get(at).map(|(_, doorbell)| *doorbell));
        let descriptor = DescriptorRead {
            record: transaction.record,
            completion_record: transaction.last_record,
            address,
            bytes: transaction.bytes,
            doorbell_record: rung,
            latency_ps: transaction.latency_ps(),
            data_record: None,
            data_address: None,
            data_bytes: None,
            data_after_ps: None,
            start_ps: transaction.start_ps,
            data: transaction.data.clone(),
        };
        self.descriptors.push_back(descriptor);
        if self.descriptors.len() > DESCRIPTORS_MOST {
            self.give_up_descriptor();
        }
    }

    /// The oldest candidate: a descriptor if a doorbell started it.
    fn give_up_descriptor(&mut self) {
        let Some(descriptor) = self.descriptors.pop_front() else { return };
        if descriptor.doorbell_record.is_some() {
            self.keep_descriptor(descriptor);
        }
    }

    pub(crate) fn finish(mut self) -> Stores {
        self.end_line();
        while !self.descriptors.is_empty() {
            self.give_up_descriptor();
        }
        let (count, sum) = self.intervals;
        self.found.line_interval_ns = (count > 0).then(|| sum as f64 / count as f64 / 1000.0);
        self.found.descriptor_reads.sort_by_key(|descriptor| descriptor.record);
        self.found
    }
}

/// A memory request as it is sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request {
    pub class: Class,
    pub direction: Option<Direction>,
    pub record: u64,
    pub address: u64,
    pub bytes: u32,
    pub start_ps: Option<u64>,
}

/// A bit for each byte of a line that a write touches.
fn bytes_of_line(address: u64, bytes: u32) -> u64 {
    let first = address % LINE_BYTES;
    let count = u64::from(bytes).min(LINE_BYTES - first);
    let bits = if count >= LINE_BYTES { u64::MAX } else { (1 << count) - 1 };
    bits << first
}

/// Whether what has left so far may be a doorbell.
fn is_doorbell(line: &Eviction) -> bool {
    !line.full && line.packets == 1 && line.bytes <= DOORBELL_BYTES_MOST
}

/// Whether data hold an address, little endian, at a multiple of 4. Lists print double words in either order of bytes.
fn points_to(data: &[u8], address: u64) -> bool {
    // Zero and small numbers are no addresses of buffers.
    if address < 0x1000 {
        return false;
    }
    let words: Vec<[u8; 4]> = data.chunks_exact(4).filter_map(|word| word.try_into().ok()).collect();
    let holds = |number: fn([u8; 4]) -> u32| {
        let mut high = words.iter().skip(1).map(|word| number(*word)).chain([0]);
        words.iter().any(|word| {
            let high = high.next().unwrap_or(0);
            let low = number(*word);
            u64::from(low) == address || u64::from(high) << 32 | u64::from(low) == address
        })
    };
    holds(u32::from_le_bytes) || holds(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_at_double_words() {
        let data = [0x02, 0x14, 0x60, 0x66, 0, 0, 0, 0, 0x62, 0, 0x30, 0x28, 0, 5, 0x18, 0];
        assert!(points_to(&data, 0x6660_1402));
        assert!(!points_to(&data, 0x6660_1400) && !points_to(&data, 0));
        // As numbers, the first byte lowest.
        let printed: Vec<u8> = data.chunks(4).flat_map(|word| word.iter().rev().copied()).collect();
        assert!(points_to(&printed, 0x6660_1402));
        let high = [0, 0, 0, 0, 0x00, 0x20, 0x00, 0x80, 0x12, 0, 0, 0];
        assert!(points_to(&high, 0x12_8000_2000));
    }
}
