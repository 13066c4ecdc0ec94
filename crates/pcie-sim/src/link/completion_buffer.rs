//! The device's buffer for completions, in which each read request reserves space before it is issued.

use crate::machine::Machine;
use pcie_wire::{CompletionSpace, Piece};

/// Free space; a kind of space that the device does not limit is always free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FreeSpace {
    headers: Option<u32>,
    bytes: Option<u32>,
}

impl FreeSpace {
    pub(crate) fn holds(self, space: CompletionSpace) -> bool {
        self.headers.is_none_or(|free| free >= space.headers)
            && self.bytes.is_none_or(|free| free >= space.bytes)
    }

    /// Takes space, which must be free.
    pub(crate) fn take(&mut self, space: CompletionSpace) {
        debug_assert!(self.holds(space), "{space:?} of {self:?}");
        self.headers = self.headers.map(|free| free - space.headers);
        self.bytes = self.bytes.map(|free| free - space.bytes);
    }

    pub(crate) fn give_back(&mut self, space: CompletionSpace) {
        self.headers = self.headers.map(|free| free + space.headers);
        self.bytes = self.bytes.map(|free| free + space.bytes);
    }
}

impl Machine {
    /// The empty buffer; `None` if the device limits no kind of space.
    pub(crate) fn completion_buffer(&self) -> Option<FreeSpace> {
        let path = &self.system.device.dma;
        let (headers, bytes) = (path.completion_buffer_headers, path.completion_buffer_bytes);
        (headers.is_some() || bytes.is_some()).then_some(FreeSpace { headers, bytes })
    }

    /// Space that a read request reserves.
    pub(crate) fn completion_space(&self, request: Piece) -> CompletionSpace {
        self.link().completion_space(request)
    }
}
