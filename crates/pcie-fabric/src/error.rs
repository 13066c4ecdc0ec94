//! What can be wrong with a fabric or its flows. Messages name the item and say what would be right.

/// Why a description is no fabric, or why a flow cannot exist in it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FabricError {
    /// A fabric without nodes.
    #[error("nodes: there are none: give at least one")]
    Empty,
    /// Two nodes of one name.
    #[error("node {0}: there are two of this name: names are unique")]
    SameName(String),
    /// A link to a node that is not there.
    #[error("link {link}: {key} = {name}: there is no such node: {known}")]
    UnknownEnd {
        /// The link as `upper-lower`.
        link: String,
        /// `upper` or `lower`.
        key: &'static str,
        /// The name given.
        name: String,
        /// The nodes there are.
        known: String,
    },
    /// More than one node without a link upwards.
    #[error("nodes {0} and {1}: both are roots: link one below the other, as a fabric is one tree")]
    TwoRoots(String, String),
    /// A node with two links upwards.
    #[error("node {node}: is below both {first} and {second}: a node of a tree has one link upwards")]
    TwoParents {
        /// The node.
        node: String,
        /// Its first upper node.
        first: String,
        /// Its second upper node.
        second: String,
    },
    /// Links that lead back to where they started.
    #[error("node {0}: its links upwards lead back to itself: a fabric is a tree, without a cycle")]
    Cycle(String),
    /// More levels than any fabric has buses.
    #[error(
        "node {node}: is {level} levels below the root: a fabric has at most {most}, as a tree has 256 buses"
    )]
    TooDeep {
        /// The first node that is.
        node: String,
        /// Its level.
        level: u32,
        /// The lowest that there can be.
        most: u32,
    },
    /// A number that must be above zero.
    #[error("{item}: {key} = {value}: give a number above 0")]
    NotPositive {
        /// The node or link.
        item: String,
        /// The key.
        key: &'static str,
        /// The value given.
        value: f64,
    },
    /// A number that must not be negative.
    #[error("{item}: {key} = {value}: give 0 or more")]
    Negative {
        /// The node or link.
        item: String,
        /// The key.
        key: &'static str,
        /// The value given.
        value: f64,
    },
    /// A link that PCIe does not have.
    #[error("link {link}: {source}")]
    Link {
        /// The link as `upper-lower`.
        link: String,
        /// What is wrong.
        source: pcie_wire::ConfigurationError,
    },
    /// A host without, or a switch with, the keys of a host; devices likewise.
    #[error("node {node}: {problem}")]
    Kind {
        /// The node.
        node: String,
        /// What is missing or too much.
        problem: &'static str,
    },
    /// A completion that does not fit into a TLP.
    #[error(
        "node {node}: engine.completion_bytes = {completion_bytes}: it is one TLP: give at most {mps_bytes}, the MPS"
    )]
    CompletionBeyondMps {
        /// The device.
        node: String,
        /// What it writes when a command is done.
        completion_bytes: u32,
        /// What a TLP may carry.
        mps_bytes: u32,
    },
    /// Two memories of a device of one name.
    #[error("node {node}: memory {memory}: there are two of this name: names are unique on a device")]
    SameMemory {
        /// The device.
        node: String,
        /// The memory.
        memory: String,
    },
    /// An alignment that memory is not allocated at.
    #[error("{item}: alignment_bytes = {alignment_bytes}: give a power of two of 1 to 64")]
    Alignment {
        /// The memory.
        item: String,
        /// What was given.
        alignment_bytes: u32,
    },
    /// A window of addresses that is larger or smaller than what is behind it.
    #[error(
        "node {node}: memory {memory}: its BAR of {bar_bytes} bytes is larger than the memory of {size_bytes}: \
         map at most what is there"
    )]
    BarBeyondMemory {
        /// The device.
        node: String,
        /// The memory.
        memory: String,
        /// Length of the BAR.
        bar_bytes: u64,
        /// Length of the memory.
        size_bytes: u64,
    },
    /// A BAR that ends beyond the address space.
    #[error("node {node}: memory {memory}: its BAR at {address:#x} ends beyond 2^64: give a lower address")]
    BarBeyondAddresses {
        /// The device.
        node: String,
        /// The memory.
        memory: String,
        /// First address.
        address: u64,
    },
    /// Two windows on the same addresses.
    #[error(
        "BAR of {second} at {second_address:#x}: overlaps the BAR of {first} at {first_address:#x}: move one of them"
    )]
    OverlappingBars {
        /// Device and memory of the lower one.
        first: String,
        /// Its first address.
        first_address: u64,
        /// Device and memory of the other one.
        second: String,
        /// Its first address.
        second_address: u64,
    },
    /// A flow from or to a node that is not there.
    #[error("flow {flow}: {key} = {name}: there is no such node: {known}")]
    UnknownNode {
        /// The flow.
        flow: String,
        /// `source` or `destination`.
        key: &'static str,
        /// The name given.
        name: String,
        /// The nodes there are.
        known: String,
    },
    /// A flow between what are not endpoints, or from a node to itself.
    #[error("flow {flow}: {problem}")]
    Flow {
        /// The flow.
        flow: String,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A demand that is no number from zero on.
    #[error("flow {flow}: standalone_gbytes_per_s = {value}: give 0 or more, or leave it out")]
    Standalone {
        /// The flow.
        flow: String,
        /// The value given.
        value: f64,
    },
    /// It was told to stop.
    #[error("stopped before it was complete")]
    Stopped,
}
