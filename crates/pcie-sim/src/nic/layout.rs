//! Addresses of a NIC's rings and buffers in the host buffer.

use super::page_pool::PagePool;
use super::pairs::Pairs;
use super::path::Shape;
use crate::cache::history::TestKey;
use crate::profile::{PageLife, System};
use pcie_model::{Interactions, Kind, Path, Queues, Step, StepBytes};
use pcie_refusal::Refusal;
use pcie_time::Stream;
use pcie_wire::Piece;
use pcie_workload::PAGE_BYTES;

/// Where NICs keep apart, even in the largest pages of the IOMMU.
const SUPER_PAGE_BYTES: u64 = 2 << 20;
/// Bits of a test's number, above which NICs of a test draw apart.
const NIC_SHIFT: u32 = 48;

/// Offsets in the host buffer: the rings of both directions, a page for interrupts, header buffers, buffers,
/// the rings of further queue pairs.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    queues: Queues,
    rings: [u64; 2],
    /// Several queue pairs, and by step where its rings begin and the bytes of each.
    pairs: Option<Pairs>,
    rings_of_pairs: Vec<(u64, u64)>,
    /// Where a driver takes pages from; `None` for buffers that are used in turn.
    pages: Option<PagePool>,
    interrupts: u64,
    headers: u64,
    header_stride: u64,
    buffers: u64,
    end: u64,
}

impl Layout {
    /// The layout of the nth NIC: the buffers of each lie behind those of the one before.
    pub(super) fn new(nic: &Interactions, system: &System, key: TestKey, nth: u32) -> Result<Self, Refusal> {
        let key = TestKey { test: key.test ^ u64::from(nth) << NIC_SHIFT, ..key };
        let first = Self::from(0, nic, system, key)?;
        if nth == 0 {
            return Ok(first);
        }
        Self::from(u64::from(nth) * first.end.next_multiple_of(SUPER_PAGE_BYTES), nic, system, key)
    }

    fn from(base: u64, nic: &Interactions, system: &System, key: TestKey) -> Result<Self, Refusal> {
        let queues = nic.queues;
        let ring = |path| {
            let descriptors = nic.steps.iter().filter(|step| step.path == path && step.kind.is_dma());
            let widest =
                descriptors.map(|step| step.access_bytes(0) / u64::from(step.batch)).max().unwrap_or(0);
            (widest * u64::from(queues.ring_descriptors)).next_multiple_of(PAGE_BYTES)
        };
        let interrupts = base + ring(Path::Tx) + ring(Path::Rx);
        let headers = interrupts + PAGE_BYTES;
        let header_stride = u64::from(queues.header_bytes).next_multiple_of(64);
        let buffers = headers + (header_stride * u64::from(queues.buffers)).next_multiple_of(PAGE_BYTES);
        let end = buffers + u64::from(queues.buffers) * u64::from(queues.buffer_bytes);
        let pairs = Pairs::new(queues.pairs, key.draws(Stream::Queues));
        let (rings_of_pairs, end) = match &pairs {
            Some(_) => rings_of_pairs(nic, end.next_multiple_of(PAGE_BYTES)),
            None => (Vec::new(), end),
        };
        let buffer_bytes = system.buffer_bytes();
        if end > buffer_bytes {
            let has = format!("the system's host buffer has {buffer_bytes}");
            let full = Refusal::new(format!("rings and buffers take {end} B, and {has}"))
                .kind(pcie_refusal::Kind::TooLarge)
                .key("queues");
            return Err(full.remedy("give fewer buffers"));
        }
        let pages = match system.host.iommu.page_life.unwrap_or_default() {
            PageLife::Static => None,
            PageLife::Recycled | PageLife::Unmapped => {
                Some(PagePool::new(&queues, key.draws(Stream::Pages))?)
            }
        };
        let rings = [base, base + ring(Path::Tx)];
        Ok(Self {
            queues,
            rings,
            pairs,
            rings_of_pairs,
            pages,
            interrupts,
            headers,
            header_stride,
            buffers,
            end,
        })
    }

    /// The queue pair of a packet or a batch, and its number there.
    fn pair(&self, number: u64) -> (u64, u64) {
        self.pairs.as_ref().map_or((0, number), |pairs| pairs.of(number))
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.end
    }

    /// The pieces that a group of a step accesses.
    pub(super) fn pieces(&self, path: Path, shape: Shape, group: u64, packet_bytes: u64) -> Vec<Piece> {
        match shape.bytes {
            _ if shape.kind == Kind::Msi => vec![Piece { address: self.interrupts, length: 4 }],
            Some(bytes) => vec![self.descriptors(path, shape, bytes, group)],
            None => self.packet(group, packet_bytes, path == Path::Rx),
        }
    }

    /// The descriptors of a group: batches are contiguous in the ring.
    pub(super) fn descriptors(&self, path: Path, shape: Shape, bytes: u64, group: u64) -> Piece {
        let batches = (u64::from(self.queues.ring_descriptors) / shape.period).max(1);
        let (queue, nth) = self.pair(group);
        let ring = match self.rings_of_pairs.get(shape.step) {
            Some((first, bytes)) => first + queue * bytes,
            None => self.rings[usize::from(path == Path::Rx)],
        };
        Piece { address: ring + nth % batches * bytes, length: bytes as u32 }
    }

    /// The packet: as a whole, or in two pieces if it is received with header split.
    pub(super) fn packet(&self, packet: u64, bytes: u64, received: bool) -> Vec<Piece> {
        if let Some(pages) = self.pages.as_ref().filter(|_| received) {
            let (queue, nth) = self.pair(packet);
            return pages.packet(queue, nth, bytes).map(|piece| self.in_buffers(piece)).collect();
        }
        let number = packet % u64::from(self.queues.buffers);
        let buffer = self.buffers + number * u64::from(self.queues.buffer_bytes);
        let header = u64::from(self.queues.header_bytes);
        if header == 0 || bytes <= header || !received {
            return vec![Piece { address: buffer, length: bytes as u32 }];
        }
        vec![
            Piece { address: self.headers + number * self.header_stride, length: header as u32 },
            Piece { address: buffer, length: (bytes - header) as u32 },
        ]
    }

    fn in_buffers(&self, piece: Piece) -> Piece {
        Piece { address: self.buffers.next_multiple_of(PAGE_BYTES) + piece.address, ..piece }
    }
}

/// By step, where the rings of all queue pairs begin, from `start` on, and the bytes of each; and their end.
fn rings_of_pairs(nic: &Interactions, start: u64) -> (Vec<(u64, u64)>, u64) {
    let mut end = start;
    let of_step = |step: &Step| {
        let bytes = match step.bytes {
            StepBytes::Number(_) => step.access_bytes(0) / u64::from(step.batch),
            StepBytes::Packet(_) => 0,
        };
        let ring = (bytes * u64::from(nic.queues.ring_descriptors)).next_multiple_of(PAGE_BYTES);
        let first = end;
        end += ring * u64::from(nic.queues.pairs);
        (first, ring)
    };
    let rings = nic.steps.iter().map(of_step).collect();
    (rings, end)
}
