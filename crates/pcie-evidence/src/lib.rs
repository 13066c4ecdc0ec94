//! A machine's PCIe tree, from whatever shows it: lspci in any verbosity and order, hex dumps, kernel logs, topologies.
//!
//! A reader keeps what its source shows and nothing else: a value that could not be read is `None`, never a guess,
//! and [`Tree::unseen`] lists what is missing with the command that would show it. Judging the machine is another
//! crate's work. Names of bits and registers are those of the PCI Express base specification, chapter 7.

mod bus_tree;
mod config_space;
mod forms;
mod kernel_log;
mod letters;
mod lspci;
mod matrix;
mod nccl_topology;
mod pasted;
mod pattern;
mod saved;
mod stop;
#[cfg(unix)]
mod sysfs;
pub mod tree;

pub use lspci::COMMAND;
pub use nccl_topology::read_nccl;
pub use pasted::{machine_of_text, machine_of_text_until, read_lspci, read_lspci_until};
pub use saved::{read_saved, saved};
pub use stop::Stop;
#[cfg(unix)]
pub use sysfs::{read_sysfs, read_sysfs_until};
pub use tree::{
    Bridges, Control, ErrorReporting, Function, Host, IommuPages, Kind, Link, LinkEnd, LogEvent, LogKind,
    Peer, Piece, ResizableBar, Tree,
};
