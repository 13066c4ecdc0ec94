//! Bytes on a PCI Express link: transfers split into TLPs, their sizes, and the overhead of the link.
//!
//! Pure arithmetic: no time, no I/O, and no allocation except for refusals. Devices: `pcie-model`; time:
//! `pcie-sim`.
//!
//! Sources: PCI Express Base Specification (TLP formats, RCB rules, Ack and UpdateFC latency tables, flits);
//! for [`sigcomm18`], Neugebauer et al., "Understanding PCIe performance for end host networking", SIGCOMM
//! 2018.
//!
//! Nothing here panics: every [`LinkConfiguration`] is valid, and any (address, length) can be split.

mod accounting;
mod completion;
pub mod cxl;
mod dllp;
mod flit;
mod generation;
mod lanes;
mod link;
mod link_words;
mod payload;
pub mod sigcomm18;
mod split;
mod tlp;

pub use accounting::Accounting;
pub use completion::{CompletionPolicy, CompletionSpace, Completions};
pub use dllp::{DLLP_BYTES, DllpIntervals};
pub use flit::{
    DOUBLE_WORD_BYTES, FLIT_BYTES, FLIT_DOUBLE_WORDS, FLIT_TLP_BYTES, FlitEntry, FlitPart, FlitSpan,
    FlitStream,
};
pub use generation::Generation;
pub use lanes::Lanes;
pub use link::{AddressWidth, ByteTime, LinkConfiguration, LinkParameters};
pub use link_words::{Links, generation_and_lanes, generation_of_text, lanes_of_text};
pub use payload::{PayloadSize, ReadCompletionBoundary};
pub use split::{PAGE_BYTES, Piece, Pieces, SplitAt};
pub use tlp::{LINK_BYTES_PER_TLP, TlpKind};
