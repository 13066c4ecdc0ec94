//! The root complex with IOMMU and memory: everything between the two directions of the link.

mod completer;
pub(crate) mod conflict;
pub(crate) mod cuts;
pub(crate) mod idle;
pub(crate) mod line_costs;
pub(crate) mod line_pool;
mod memory_queue;
mod pending_walks;
pub(crate) mod refresh;
mod times;
pub(crate) mod under_load;
mod walk_regions;
mod walks;
pub(crate) mod write_gate;
