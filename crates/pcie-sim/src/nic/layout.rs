//! Addresses of a NIC's rings and buffers in the host buffer.

use super::path::Shape;
use pcie_model::{Interactions, Kind, Path, Queues};
use pcie_refusal::Refusal;
use pcie_wire::Piece;
use pcie_workload::PAGE_BYTES;

/// Offsets in the host buffer: the rings of both directions, a page for interrupts, header buffers, buffers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    queues: Queues,
    rings: [u64; 2],
    interrupts: u64,
    headers: u64,
    header_stride: u64,
    buffers: u64,
    end: u64,
}

impl Layout {
    pub(super) fn new(nic: &Interactions, buffer_bytes: u64) -> Result<Self, Refusal> {
        let queues = nic.queues;
        let ring = |path| {
            let descriptors = nic.steps.iter().filter(|step| step.path == path && step.kind.is_dma());
            let widest =
                descriptors.map(|step| step.access_bytes(0) / u64::from(step.batch)).max().unwrap_or(0);
            (widest * u64::from(queues.ring_descriptors)).next_multiple_of(PAGE_BYTES)
        };
        let interrupts = ring(Path::Tx) + ring(Path::Rx);
        let headers = interrupts + PAGE_BYTES;
        let header_stride = u64::from(queues.header_bytes).next_multiple_of(64);
        let buffers = headers + (header_stride * u64::from(queues.buffers)).next_multiple_of(PAGE_BYTES);
        let end = buffers + u64::from(queues.buffers) * u64::from(queues.buffer_bytes);
        if end > buffer_bytes {
            let has = format!("the system's host buffer has {buffer_bytes}");
            let full = Refusal::new(format!("rings and buffers take {end} B, and {has}")).key("queues");
            return Err(full.remedy("give fewer buffers"));
        }
        Ok(Self { queues, rings: [0, ring(Path::Tx)], interrupts, headers, header_stride, buffers, end })
    }

    pub(super) fn used_bytes(&self) -> u64 {
        self.end
    }

    /// The pieces that a group of a step accesses.
    pub(super) fn pieces(&self, path: Path, shape: Shape, group: u64, packet_bytes: u64) -> Vec<Piece> {
        match shape.bytes {
            _ if shape.kind == Kind::Msi => vec![Piece { address: self.interrupts, length: 4 }],
            Some(bytes) => vec![self.descriptors(path, shape.period, bytes, group)],
            None => self.packet(group, packet_bytes, path == Path::Rx),
        }
    }

    /// The descriptors of a group: batches are contiguous in the ring.
    pub(super) fn descriptors(&self, path: Path, period: u64, bytes: u64, group: u64) -> Piece {
        let batches = (u64::from(self.queues.ring_descriptors) / period).max(1);
        let address = self.rings[usize::from(path == Path::Rx)] + group % batches * bytes;
        Piece { address, length: bytes as u32 }
    }

    /// The packet: as a whole, or in two pieces if it is received with header split.
    pub(super) fn packet(&self, packet: u64, bytes: u64, received: bool) -> Vec<Piece> {
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
}
