//! Errors of the host, each with its fix.

use pcie_refusal::Refusal;
use thiserror::Error;

/// Why the host cannot be set up as requested.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// Fewer huge pages are free than the buffer takes.
    #[error(
        "host.page_bytes is {page_bytes}: {free} pages of this size are free{location}, the buffer needs {needed}: \
         `echo {needed} | sudo tee {file}` reserves them, or give host.page_bytes=4096"
    )]
    TooFewPages {
        /// Page size, bytes.
        page_bytes: u64,
        /// Free pages.
        free: u64,
        /// Pages of the buffer.
        needed: u64,
        /// The node, as ` on node 1`; empty for none.
        location: String,
        /// The kernel's file that sets the number of pages.
        file: String,
    },
    /// Less memory is available than the buffer takes.
    #[error(
        "host.buffer_bytes is {bytes}: {available} bytes of memory are available here: give a smaller buffer"
    )]
    TooLittleMemory {
        /// Size of the buffer.
        bytes: u64,
        /// Available memory, bytes.
        available: u64,
    },
    /// The kernel has no pages of that size.
    #[error("host.page_bytes is {0}: this kernel has no pages of that size: give 4096")]
    NoPagesOfSize(u64),
    /// The buffer is not a whole number of pages.
    #[error(
        "host.buffer_bytes is {bytes}: give a multiple of the page size, {page_bytes}, and at least one page"
    )]
    NotWholePages {
        /// Requested size.
        bytes: u64,
        /// The page size.
        page_bytes: u64,
    },
    /// The machine does not have the node.
    #[error("host.node is {asked}: this machine has {known}")]
    UnknownNode {
        /// Requested node.
        asked: u32,
        /// The machine's nodes, in words.
        known: String,
    },
    /// The kernel put the pages on another node.
    #[error("host.node is {asked}: {found}: leave host.node out, or free memory on that node")]
    WrongNode {
        /// Requested node.
        asked: u32,
        /// Where the pages are.
        found: String,
    },
    /// This program may not run on the core.
    #[error("host.core is {asked}: this program may run on {allowed}: give one of them")]
    UnknownCore {
        /// Requested core.
        asked: u32,
        /// Cores that it may run on.
        allowed: String,
    },
    /// The processor cannot flush single cache lines.
    #[error("host.cold is flush: this processor cannot flush single cache lines: give host.cold=thrash")]
    NoFlush,
    /// Memory cannot be locked.
    #[error(
        "the limit on locked memory is {limit} bytes, the buffer takes {needed}: `ulimit -l {kib}` in a privileged \
         shell, or a larger `memlock` in /etc/security/limits.conf"
    )]
    LockedMemory {
        /// The limit, bytes.
        limit: u64,
        /// Memory to lock, bytes.
        needed: u64,
        /// The same in KiB, the unit of `ulimit`.
        kib: u64,
    },
    /// The kernel refused a call.
    #[error("{request}: {reason}")]
    Refused {
        /// The request.
        request: String,
        /// The kernel's error.
        reason: String,
    },
    /// This system is not Linux.
    #[error("the real host needs Linux: give --device sim")]
    NotLinux,
}

impl From<HostError> for Refusal {
    fn from(error: HostError) -> Self {
        Self::new(error)
    }
}
