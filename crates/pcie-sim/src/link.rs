//! The link between device and root complex: its ports with their overhead and credits, and the alignment
//! classes of transfers. `pcie-wire` computes the bytes of a TLP.

pub(crate) mod alignment;
pub(crate) mod completion_buffer;
pub(crate) mod credits;
pub(crate) mod flits;
pub(crate) mod overhead;
pub(crate) mod port;
pub(crate) mod replay;
pub(crate) mod slots;
