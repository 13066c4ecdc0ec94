//! The device's side: tags, the data engine, and the limits that follow from it.

use crate::machine::Machine;
use crate::profile::{CardKind, DataEngine, System, TagOrder};
use pcie_time::Picoseconds;
use pcie_wire::Piece;
use pcie_workload::{Operation, PAGE_BYTES, Test, greatest_common_divisor};
use std::ops::Range;

/// Backlog of the uplink at which the device stops adding to it: about two full TLPs.
pub(super) const UPLINK_BACKLOG: Picoseconds = Picoseconds(80_000);

#[derive(Clone, Debug)]
pub(super) enum Tags {
    /// The next request gets the next tag, and waits while that one is in use even if others are free.
    InTurn { in_use: Vec<bool>, next: usize },
    /// The free tags; the next request gets any of them.
    AnyFree(Vec<u32>),
}

impl Tags {
    pub(super) fn new(order: TagOrder, count: u32) -> Self {
        match order {
            TagOrder::InTurn => Self::InTurn { in_use: vec![false; count as usize], next: 0 },
            TagOrder::AnyFree => Self::AnyFree((0..count).collect()),
        }
    }

    pub(super) fn take(&mut self) -> Option<u32> {
        match self {
            Self::InTurn { in_use, next } => {
                if in_use[*next] {
                    return None;
                }
                let tag = *next;
                in_use[tag] = true;
                *next = if tag + 1 == in_use.len() { 0 } else { tag + 1 };
                Some(tag as u32)
            }
            Self::AnyFree(free) => free.pop(),
        }
    }

    pub(super) fn release(&mut self, tag: u32) {
        match self {
            Self::InTurn { in_use, .. } => in_use[tag as usize] = false,
            Self::AnyFree(free) => free.push(tag),
        }
    }
}

/// Time of the data engine for a DMA of `bytes` at device address `card`, with `boundaries` inside segments.
///
/// Segments count from the start of the transfer, rounded down to a word. A read both of whose ends lie inside
/// words is shifted: its segments count from its first byte, and one more time empties the shifter. Source: the
/// size and offset rows of the measured systems; see `docs/concepts/simulated-machine.md`.
pub(super) fn data_engine_time(
    engine: &DataEngine,
    write: bool,
    card: u64,
    bytes: u64,
    boundaries: u64,
) -> Picoseconds {
    let word = u64::from(engine.word_bytes);
    let segment = u64::from(engine.segment_bytes);
    let start = card % word;
    let ends_aligned = (card + bytes).is_multiple_of(word);
    let fixed_ns = if write { engine.write_fixed_ns } else { engine.read_fixed_ns };
    if !write && start != 0 && !ends_aligned {
        let segments = bytes.div_ceil(segment);
        return Picoseconds::from_ns(
            fixed_ns + segments as f64 * engine.segment_ns + engine.shifted_flush_ns,
        );
    }
    let whole = (start + bytes) / segment;
    let tail_ns = match (start + bytes) % segment {
        0 => 0.0,
        rest if rest <= word && !write => engine.short_tail_ns,
        rest if start == 0 && ends_aligned && !write => {
            ((rest / word + 1) as f64 * engine.word_ns).min(engine.segment_ns)
        }
        _ => engine.segment_ns,
    };
    let crossed_ns = if write { 0.0 } else { boundaries as f64 * engine.boundary_ns };
    Picoseconds::from_ns(fixed_ns + whole as f64 * engine.segment_ns + tail_ns + crossed_ns)
}

impl Machine {
    /// Time to pull one write TLP of `bytes` after `done_bytes` of its DMA.
    pub(crate) fn pull_time(&self, test: &Test, done_bytes: u64, bytes: u64) -> Picoseconds {
        let upto = |bytes| self.write_engine_time(test, bytes);
        let before = if done_bytes == 0 { Picoseconds::ZERO } else { upto(done_bytes) };
        upto(done_bytes + bytes).since(before)
    }

    /// The data engine's time for the first `bytes` of a DMA write, with turns in device memory if the test also
    /// reads.
    fn write_engine_time(&self, test: &Test, bytes: u64) -> Picoseconds {
        let engine = &self.system.device.dma.engine;
        let alone = data_engine_time(engine, true, test.device_offset_bytes, bytes, 0);
        match engine.both_ways_byte_ns {
            Some(byte_ns) if test.operation == Operation::BwRdwr => {
                let in_turn = engine.both_ways_bytes.map_or(bytes, |most| bytes.min(u64::from(most)));
                let rest = (bytes - in_turn) as f64 / f64::from(engine.segment_bytes) * engine.segment_ns;
                let turns_ns = engine.write_fixed_ns + in_turn as f64 * byte_ns + rest;
                alone.max(Picoseconds::from_ns(turns_ns))
            }
            _ => alone,
        }
    }

    /// The data engine's time for a DMA read, in proportion to `bytes` of it.
    pub(crate) fn move_time(&self, test: &Test, offset: u64, bytes: u64) -> Picoseconds {
        let engine = &self.system.device.dma.engine;
        let boundaries = self.boundaries_inside_segments(offset, test.size_bytes);
        let whole = data_engine_time(engine, false, test.device_offset_bytes, test.size_bytes, boundaries);
        Picoseconds(whole.0 * bytes / test.size_bytes)
    }

    /// Request boundaries that are not segment boundaries of the data engine. Segments count from the word
    /// that holds the transfer's first byte.
    fn boundaries_inside_segments(&self, offset: u64, bytes: u64) -> u64 {
        let segment = u64::from(self.system.device.dma.engine.segment_bytes);
        if bytes > PAGE_BYTES {
            // Whole pages: equal requests, which end at a segment boundary every lcm(request, segment) bytes.
            let request = u64::from(self.system.link.mrrs_bytes).min(PAGE_BYTES);
            let both = request / greatest_common_divisor(request, segment) * segment;
            return (bytes - 1) / request - (bytes - 1) / both;
        }
        let starts = self.read_requests(offset, bytes).skip(1).map(|piece| piece.address - offset);
        starts.filter(|start| !start.is_multiple_of(segment)).count() as u64
    }

    /// Unit to which the uplink pads behind a TLP of a write to `written`, and then leaves idle; 0: none.
    pub(crate) fn write_gap_bytes(&self, written: Range<u64>, tlp: Piece) -> u32 {
        let engine = &self.system.device.dma.engine;
        let part = u64::from(engine.write_part_bytes);
        let end = tlp.address + u64::from(tlp.length);
        let starts_part = tlp.address == written.start || tlp.address.is_multiple_of(part);
        let ends_part = end == written.end || end.is_multiple_of(part);
        if starts_part && ends_part { engine.write_gap_bytes } else { 0 }
    }

    /// Least time between two TLPs of the device: one clock where it hands requests straight to its core.
    pub(super) fn request_clock(&self) -> Picoseconds {
        let timer = self.system.device.timer;
        match self.system.device.kind {
            CardKind::Queued => Picoseconds::ZERO,
            CardKind::Direct => Picoseconds(timer.numerator_ns * 1000 / (timer.denominator * timer.cycles)),
        }
    }

    /// From the arrival of a request's last completion until its tag is free.
    pub(crate) fn tag_return(&self) -> Picoseconds {
        Picoseconds::from_ns(self.system.device.dma.tag_return_ns)
    }

    /// Least time between two DMAs (read-write pairs, where the test does both) that the device itself
    /// allows. Read requests that end inside a segment are not charged, because that depends on the address.
    pub(crate) fn card_interval(&self, test: &Test) -> Picoseconds {
        let System { device, link, .. } = &self.system;
        let read = data_engine_time(&device.dma.engine, false, test.device_offset_bytes, test.size_bytes, 0);
        let write = self.write_engine_time(test, test.size_bytes);
        let requests = test.size_bytes.div_ceil(u64::from(link.mrrs_bytes));
        let tlps = test.size_bytes.div_ceil(u64::from(link.mps_bytes));
        let (engine, issued) = match test.operation {
            Operation::BwWr => (write, tlps),
            Operation::BwRdwr => (write.max(read), requests + tlps),
            Operation::BwRd | Operation::LatRd | Operation::LatWrrd | Operation::LatChase => (read, requests),
        };
        let requests = if test.operation == Operation::BwWr { 0 } else { requests };
        let requested = Picoseconds::from_ns(requests as f64 * device.dma.busy_request_interval_ns);
        engine.max(Picoseconds(issued * self.request_clock().0)).max(requested)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nfp() -> DataEngine {
        DataEngine {
            read_fixed_ns: 4.0,
            write_fixed_ns: 4.08,
            segment_bytes: 128,
            segment_ns: 17.0,
            word_bytes: 8,
            word_ns: 1.0,
            short_tail_ns: 6.0,
            shifted_flush_ns: 17.0,
            boundary_ns: 1.0,
            write_gap_bytes: 16,
            write_part_bytes: 512,
            both_ways_byte_ns: None,
            both_ways_bytes: None,
        }
    }

    #[test]
    fn data_engine_times_match_the_measured_rows() {
        let time = |write, card, bytes| data_engine_time(&nfp(), write, card, bytes, 0).as_ns();
        // 407 B reads take 72.00 ns on every E5 system; writes of 64 and 129 B 21.08 and 38.04.
        assert!((time(false, 0, 407) - 72.0).abs() < 0.01);
        assert!((time(true, 0, 64) - 21.08).abs() < 0.01);
        assert!((time(true, 0, 129) - 38.08).abs() < 0.01);
        assert!((time(false, 1, 1024) - 157.0).abs() < 0.01);
        assert!((time(true, 1, 64) - 21.08).abs() < 0.01);
        assert!((time(false, 1, 64) - 38.0).abs() < 0.01);
        // Shifted reads of 407 and 416 B take alike: four segments, and the flush.
        assert!((time(false, 2, 407) - 89.0).abs() < 0.01);
        assert!((time(false, 2, 416) - 89.0).abs() < 0.01);
        // One unaligned end shifts nothing: 82.5 and 82.6 ns with requests that are cut, at device offsets 0 and 1.
        assert!((time(false, 1, 407) - time(false, 0, 407)).abs() < 0.01);
    }

    #[test]
    fn writes_take_turns_with_reads_in_device_memory() {
        let mut system: System = serde_json::from_str(include_str!("../../tests/fixtures/snb.json")).unwrap();
        system.device.dma.engine =
            DataEngine { both_ways_byte_ns: Some(0.1795), both_ways_bytes: Some(1024), ..nfp() };
        let machine = Machine::new(system).unwrap();
        let time = |operation: &str, bytes: u64| {
            let text = format!(
                r#"{{"cache":"cold","details":false,"device_offset_bytes":0,"host_offset_bytes":0,"operation":"{operation}","outstanding":null,"path":"dma","pattern":"random","size_bytes":{bytes},"stride_units":1,"transactions":1,"window_bytes":8192}}"#
            );
            let test: Test = serde_json::from_str(&text).unwrap();
            let tlps = bytes.div_ceil(256);
            let pulled: Vec<_> = (0..tlps)
                .map(|tlp| machine.pull_time(&test, tlp * 256, (bytes - tlp * 256).min(256)).as_ns())
                .collect();
            assert!(
                (pulled.iter().sum::<f64>() - machine.write_engine_time(&test, bytes).as_ns()).abs() < 1e-9
            );
            pulled.iter().sum::<f64>()
        };
        // Pairs of 512 and 1024 B take 96.0 and 186.9 ns on every E5 system; of 129 B, 38.0: the engine's time.
        assert!((time("bw-rdwr", 512) - 95.98).abs() < 0.05);
        assert!((time("bw-rdwr", 1024) - 187.9).abs() < 0.05);
        assert!((time("bw-rdwr", 129) - 38.08).abs() < 0.05);
        // Behind the first 1024 B, a segment takes its own time; 1536 B leave as fast as the link takes them.
        assert!((time("bw-rdwr", 1536) - time("bw-rdwr", 1024) - 4.0 * 17.0).abs() < 0.05);
        // Writes alone never wait.
        assert!((time("bw-wr", 512) - 72.08).abs() < 0.05);
    }

    #[test]
    fn card_interval_is_the_slowest_of_engine_clock_and_request_queue() {
        let mut system: System = serde_json::from_str(include_str!("../../tests/fixtures/snb.json")).unwrap();
        system.device.dma.engine = nfp();
        let interval = |system: &System, operation, size_bytes: u64| {
            let text = r#"{"cache":"cold","details":false,"device_offset_bytes":0,"host_offset_bytes":0,"operation":"bw-rd","outstanding":null,"path":"dma","pattern":"random","size_bytes":64,"stride_units":1,"transactions":1,"window_bytes":8192}"#;
            let test = Test { operation, size_bytes, ..serde_json::from_str(text).unwrap() };
            Machine::new(system.clone()).unwrap().card_interval(&test).as_ns()
        };
        assert!((interval(&system, Operation::BwWr, 64) - 21.08).abs() < 1e-9);
        assert!((interval(&system, Operation::BwRd, 2048) - 276.0).abs() < 1e-9);
        assert!((interval(&system, Operation::BwRdwr, 2048) - 276.08).abs() < 1e-9);
        // Its queue issues a read request every 14 ns.
        assert!((interval(&system, Operation::BwRd, 16) - 14.0).abs() < 1e-9);
        system.device.dma.busy_request_interval_ns = 0.0;
        // A direct device issues a TLP every 4 ns: 2048 B are 4 read requests and 8 writes.
        system.device.kind = CardKind::Direct;
        system.device.timer = crate::profile::Timer { numerator_ns: 4, denominator: 1, cycles: 1 };
        system.device.dma.engine.segment_ns = 0.0;
        assert!((interval(&system, Operation::BwRdwr, 2048) - 48.0).abs() < 1e-9);
    }

    #[test]
    fn uplink_idles_behind_a_part_of_a_single_tlp() {
        let machine = crate::test_systems::snb();
        let gaps = |start: u64, bytes: u64| -> Vec<bool> {
            let tlps = machine.write_tlps(start, bytes);
            tlps.map(|tlp| machine.write_gap_bytes(start..start + bytes, tlp) > 0).collect()
        };
        assert_eq!(gaps(0, 256), [true]);
        assert_eq!(gaps(0, 512), [false, false]);
        assert_eq!(gaps(0, 768), [false, false, true]);
        // Parts of 128 and 384 B: one TLP, then two.
        assert_eq!(gaps(384, 512), [true, false, false]);
    }

    #[test]
    fn boundary_count_of_long_transfers_matches_enumeration() {
        let system: System = serde_json::from_str(include_str!("../../tests/fixtures/snb.json")).unwrap();
        for (segment_bytes, mrrs_bytes) in [(128, 512), (1000, 512), (96, 256), (4096, 128), (3, 4096)] {
            let mut system = system.clone();
            system.device.dma.engine.segment_bytes = segment_bytes;
            system.link.mrrs_bytes = mrrs_bytes;
            let machine = Machine::new(system).unwrap();
            let bytes = 7 * PAGE_BYTES;
            let starts = machine.read_requests(0, bytes).skip(1).map(|piece| piece.address);
            let counted =
                starts.filter(|start| !start.is_multiple_of(u64::from(segment_bytes))).count() as u64;
            assert_eq!(machine.boundaries_inside_segments(0, bytes), counted, "{segment_bytes} {mrrs_bytes}");
        }
    }

    #[test]
    fn tags_are_reused_in_turn_or_as_they_become_free() {
        let mut tags = Tags::new(TagOrder::InTurn, 2);
        assert_eq!((tags.take(), tags.take(), tags.take()), (Some(0), Some(1), None));
        tags.release(1);
        assert_eq!(tags.take(), None, "tag 0 comes first, and is in use");
        tags.release(0);
        assert_eq!((tags.take(), tags.take()), (Some(0), Some(1)));
        let mut tags = Tags::new(TagOrder::AnyFree, 2);
        let taken = [tags.take(), tags.take()];
        assert!(taken.contains(&Some(0)) && taken.contains(&Some(1)), "{taken:?}");
        tags.release(1);
        assert_eq!((tags.take(), tags.take()), (Some(1), None));
    }
}
