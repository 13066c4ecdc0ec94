//! Why a machine refuses a TLP or an answer.

use crate::tlp::TlpError;
use pcie_fabric::NodeId;
use thiserror::Error;

/// Why a machine refuses what it is asked for. It is as before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum MachineError {
    /// What a port refuses, too.
    #[error(transparent)]
    Tlp(#[from] TlpError),
    /// A number that no host or device has.
    #[error("node {0} is no host or device: use the number that its name gives")]
    Node(NodeId),
    /// An address that nobody has, or a range that does not end where it should.
    #[error("address {address:#x}: give one within a host's memory or a BAR, the whole range in one of them")]
    Address {
        /// The address.
        address: u64,
    },
    /// No way over PCIe.
    #[error("no PCIe route from node {from} to node {to}: give an address of another node on the tree")]
    Route {
        /// The sender.
        from: NodeId,
        /// Who has the address.
        to: NodeId,
    },
    /// A read that the node cannot answer.
    #[error(
        "read {0} has nothing to answer here: give the number of a read event of a device that is attached"
    )]
    Request(u64),
}
