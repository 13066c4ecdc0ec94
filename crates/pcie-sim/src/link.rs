//! The link between card and root complex: its two ports, what is asked of them, what is in flight, and what decides how
//! transfers are cut into TLPs. The bytes of a TLP are `pcie-wire`'s.

pub(crate) mod alignment;
pub(crate) mod asked_for;
pub(crate) mod credits;
pub(crate) mod port;
pub(crate) mod slots;
