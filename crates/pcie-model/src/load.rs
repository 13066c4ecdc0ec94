//! The cost of one unit of work at each resource.

use std::ops::{Add, Mul};

use pcie_wire::{Accounting, CompletionPolicy, LinkConfiguration, PAGE_BYTES, Piece, SplitAt, TlpKind};

/// Bytes of one data credit.
const DATA_CREDIT_BYTES: u32 = 16;
/// Bytes of a cache line of the host.
const LINE_BYTES: u64 = 64;

/// The cost of a unit of work. Work that several packets share gives fractions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Load {
    /// Bytes of TLPs from the device to the host.
    pub upstream_bytes: f64,
    /// Bytes of TLPs from the host to the device.
    pub downstream_bytes: f64,
    /// Read requests of the device: each holds a tag and a non-posted header credit.
    pub read_requests: f64,
    /// Cache lines that these requests touch.
    pub read_lines: f64,
    /// Headers that these requests reserve in the device's buffer for completions.
    pub reserved_headers: f64,
    /// Bytes that they reserve there, in whole credits of 16.
    pub reserved_bytes: f64,
    /// Write TLPs of the device: each holds a posted header credit.
    pub write_tlps: f64,
    /// Posted data credits, of 16 B, of those TLPs.
    pub write_data_credits: f64,
    /// Cache lines that those TLPs touch.
    pub write_lines: f64,
    /// Completions with the data of the device's reads.
    pub completions: f64,
    /// DMAs that the device starts.
    pub dmas: f64,
}

impl Load {
    /// The device reads host memory, with requests as large as MRRS allows.
    pub fn dma_read(link: &LinkConfiguration, accounting: Accounting, address: u64, length: u64) -> Self {
        let completions = CompletionPolicy::AsLargeAsMps;
        Self::dma_read_split(link, accounting, address, length, SplitAt::TransferSize, completions)
    }

    /// The device reads host memory; `split_at` cuts requests and `completions` the host's answers. From an
    /// unaligned address, cutting at multiples of MRRS can take one more request and fewer completions.
    pub fn dma_read_split(
        link: &LinkConfiguration,
        accounting: Accounting,
        address: u64,
        length: u64,
        split_at: SplitAt,
        completions: CompletionPolicy,
    ) -> Self {
        let read = Read::of(link, accounting, address, length, split_at, completions);
        Self {
            upstream_bytes: read.request_bytes,
            downstream_bytes: read.completion_bytes,
            read_requests: read.requests,
            read_lines: read.lines,
            reserved_headers: read.reserved_headers,
            reserved_bytes: read.reserved_bytes,
            completions: read.completions,
            dmas: 1.0,
            ..Self::default()
        }
    }

    /// The device writes host memory.
    pub fn dma_write(link: &LinkConfiguration, accounting: Accounting, address: u64, length: u64) -> Self {
        Self { dmas: 1.0, ..Self::message(link, accounting, address, length) }
    }

    /// The device interrupts the host: a write that bypasses its DMA engine.
    pub fn message(link: &LinkConfiguration, accounting: Accounting, address: u64, length: u64) -> Self {
        let mut load = Self::default();
        for piece in link.writes(address, length, SplitAt::TransferSize) {
            load.upstream_bytes += accounting.tlp_bytes(link, TlpKind::MemoryWrite, piece);
            load = load + Self::received(piece);
        }
        load
    }

    /// The cost of a write TLP at the root complex that receives it, without its bytes on the link.
    pub fn received(piece: Piece) -> Self {
        Self {
            write_tlps: 1.0,
            write_data_credits: f64::from(piece.padded_bytes().div_ceil(DATA_CREDIT_BYTES)),
            write_lines: lines_of(piece),
            ..Self::default()
        }
    }

    /// The host reads a device register.
    pub fn mmio_read(link: &LinkConfiguration, accounting: Accounting, address: u64, length: u64) -> Self {
        let completions = CompletionPolicy::AsLargeAsMps;
        let read = Read::of(link, accounting, address, length, SplitAt::TransferSize, completions);
        Self {
            upstream_bytes: read.completion_bytes,
            downstream_bytes: read.request_bytes,
            ..Self::default()
        }
    }

    /// The host writes a device register.
    pub fn mmio_write(link: &LinkConfiguration, accounting: Accounting, address: u64, length: u64) -> Self {
        let downstream_bytes = link
            .writes(address, length, SplitAt::TransferSize)
            .map(|piece| accounting.tlp_bytes(link, TlpKind::MemoryWrite, piece))
            .sum();
        Self { downstream_bytes, ..Self::default() }
    }
}

impl Load {
    /// Combines each cost with that of another load.
    fn zip(self, other: Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        Self {
            upstream_bytes: combine(self.upstream_bytes, other.upstream_bytes),
            downstream_bytes: combine(self.downstream_bytes, other.downstream_bytes),
            read_requests: combine(self.read_requests, other.read_requests),
            read_lines: combine(self.read_lines, other.read_lines),
            reserved_headers: combine(self.reserved_headers, other.reserved_headers),
            reserved_bytes: combine(self.reserved_bytes, other.reserved_bytes),
            write_tlps: combine(self.write_tlps, other.write_tlps),
            write_data_credits: combine(self.write_data_credits, other.write_data_credits),
            write_lines: combine(self.write_lines, other.write_lines),
            completions: combine(self.completions, other.completions),
            dmas: combine(self.dmas, other.dmas),
        }
    }
}

impl Add for Load {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.zip(other, |one, other| one + other)
    }
}

impl Mul<f64> for Load {
    type Output = Self;

    fn mul(self, times: f64) -> Self {
        self.zip(self, |cost, _| cost * times)
    }
}

/// The requests and completions of a read, in either direction.
#[derive(Default)]
struct Read {
    requests: f64,
    lines: f64,
    request_bytes: f64,
    reserved_headers: f64,
    reserved_bytes: f64,
    completions: f64,
    completion_bytes: f64,
}

impl Read {
    fn of(
        link: &LinkConfiguration,
        accounting: Accounting,
        address: u64,
        length: u64,
        split_at: SplitAt,
        policy: CompletionPolicy,
    ) -> Self {
        let mut read = Self::default();
        for request in link.read_requests(address, length, split_at) {
            read.requests += 1.0;
            read.lines += lines_of(request);
            read.request_bytes += accounting.tlp_bytes(link, TlpKind::MemoryRead, request);
            let space = link.completion_space(request);
            read.reserved_headers += f64::from(space.headers);
            read.reserved_bytes += f64::from(space.bytes);
            if accounting == Accounting::Spec {
                link.completions(request, policy).for_each(|piece| read.complete(link, accounting, piece));
            }
        }
        if accounting == Accounting::Sigcomm18 {
            // Equation (3) cuts the whole transfer at MPS, even where MRRS is smaller and each request has
            // its own completions.
            let boundary = match policy {
                CompletionPolicy::Every(bytes) => bytes,
                _ => PAGE_BYTES,
            };
            link.writes_in_parts(address, length, boundary)
                .for_each(|piece| read.complete(link, accounting, piece));
        }
        read
    }

    fn complete(&mut self, link: &LinkConfiguration, accounting: Accounting, piece: Piece) {
        self.completions += 1.0;
        self.completion_bytes += accounting.tlp_bytes(link, TlpKind::CompletionWithData, piece);
    }
}

/// Cache lines that a piece touches.
pub fn lines_of(piece: Piece) -> f64 {
    (piece.address % LINE_BYTES + u64::from(piece.length)).div_ceil(LINE_BYTES) as f64
}
