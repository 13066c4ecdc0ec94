//! What a host lacks, and what mends it.

use pcie_refusal::Refusal;
use thiserror::Error;

/// Why a host cannot do what it is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HostError {
    /// Fewer huge pages are free than the buffer takes.
    #[error(
        "host.page_bytes is {page_bytes}: {free} such pages are free{place}, the buffer needs {needed}: \
         `echo {needed} | sudo tee {file}` reserves them, or give host.page_bytes=4096"
    )]
    TooFewPages {
        /// Their size.
        page_bytes: u64,
        /// Those that there are.
        free: u64,
        /// Those that it takes.
        needed: u64,
        /// On which node, as ` on node 1`.
        place: String,
        /// The kernel's file that sets their number.
        file: String,
    },
    /// Less memory is there than the buffer takes.
    #[error(
        "host.buffer_bytes is {bytes}: {available} bytes of memory are available here: give a smaller buffer"
    )]
    TooLittleMemory {
        /// What it takes.
        bytes: u64,
        /// What there is.
        available: u64,
    },
    /// The kernel has no pages of that size.
    #[error("host.page_bytes is {0}: this kernel has no pages of that size: give 4096")]
    NoSuchPages(u64),
    /// The buffer is no whole number of pages.
    #[error(
        "host.buffer_bytes is {bytes}: give a multiple of the page size, {page_bytes}, and at least one page"
    )]
    NotWholePages {
        /// The size asked for.
        bytes: u64,
        /// The page size.
        page_bytes: u64,
    },
    /// There is no such node.
    #[error("host.node is {asked}: this machine has {known}")]
    NoSuchNode {
        /// The node asked for.
        asked: u32,
        /// Those that there are.
        known: String,
    },
    /// The pages are elsewhere than they were asked for.
    #[error("host.node is {asked}: {found}: leave host.node out, or free memory on that node")]
    WrongNode {
        /// The node asked for.
        asked: u32,
        /// What became of it.
        found: String,
    },
    /// The program may not run on that core.
    #[error("host.core is {asked}: this program may run on {allowed}: give one of them")]
    NoSuchCore {
        /// The core asked for.
        asked: u32,
        /// Those that there are.
        allowed: String,
    },
    /// The processor has no instruction that flushes a line.
    #[error("host.cold is flush: this processor cannot flush single lines from here: give host.cold=thrash")]
    NoFlush,
    /// Memory cannot be kept in place.
    #[error(
        "the limit on locked memory is {limit} bytes, the buffer takes {needed}: `ulimit -l {kib}` in a shell that may, \
         or a larger `memlock` in /etc/security/limits.conf"
    )]
    LockedMemory {
        /// The limit.
        limit: u64,
        /// What it takes.
        needed: u64,
        /// The same in KiB, as the shell takes it.
        kib: u64,
    },
    /// The kernel refused something.
    #[error("{what}: {reason}")]
    Refused {
        /// What was asked for.
        what: String,
        /// What the kernel said.
        reason: String,
    },
    /// Not a system that this is made for.
    #[error("the real host is there on Linux only: give --device sim")]
    NotLinux,
}

/// What a host lacks is the user's to mend.
impl From<HostError> for Refusal {
    fn from(error: HostError) -> Self {
        Self::new(error)
    }
}
