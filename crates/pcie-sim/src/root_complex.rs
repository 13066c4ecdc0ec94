//! The root complex, and the IOMMU and memory behind it: what becomes of a request between the two directions of the link.

mod completer;
pub(crate) mod conflict;
pub(crate) mod cuts;
pub(crate) mod idle;
pub(crate) mod line_costs;
mod pending_walks;
pub(crate) mod refresh;
mod times;
pub(crate) mod under_load;
mod walks;
pub(crate) mod write_gate;
