//! Bytes on a PCI Express link: how transfers split into TLPs, what each occupies, and what the link itself takes.
//!
//! Pure arithmetic: no time, no I/O, no allocation but for what is refused. It does not know what a device does with the link (`pcie-model`)
//! nor when anything happens (`pcie-sim`).
//!
//! Sources: PCI Express Base Specification (TLP formats, RCB rules, Ack and UpdateFC latency tables, flits); for
//! [`sigcomm18`], Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM 2018.
//!
//! Nothing here panics: whatever a [`LinkConfiguration`] admits is valid, and any (address, length) can be split.

mod accounting;
mod completion;
mod dllp;
mod flit;
mod generation;
mod lanes;
mod link;
mod payload;
pub mod sigcomm18;
mod split;
mod tlp;

pub use accounting::Accounting;
pub use completion::{CompletionPolicy, Completions};
pub use dllp::{DLLP_BYTES, DllpIntervals};
pub use flit::{FLIT_BYTES, FLIT_TLP_BYTES};
pub use generation::Generation;
pub use lanes::Lanes;
pub use link::{AddressWidth, ByteTime, LinkConfiguration, LinkParameters};
pub use payload::{PayloadSize, ReadCompletionBoundary};
pub use split::{PAGE_BYTES, Piece, Pieces, SplitAt};
pub use tlp::{LINK_BYTES_PER_TLP, TlpKind};
