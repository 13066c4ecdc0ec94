//! Sense of captures of PCI Express: requests paired with their completions, settings, what bound the transfers, where
//! the time went, and which rules are broken.
//!
//! [`explain`] reads a capture as a stream of [`pcie_capture::Event`] and makes a [`Report`]; [`list`] gives its
//! transactions one by one; [`record`] makes a capture of accesses on a simulated host. Memory grows with what is
//! in flight, not with the file.
//!
//! Formats of captures are in `pcie-capture`, bounds in `pcie-model`, bytes on the link in `pcie-wire`.

mod analysis;
mod copies;
mod credits;
mod flight;
mod latencies;
mod list;
mod pairing;
pub mod record;
mod report;
mod rules;
mod runs;
mod sentences;
mod settings;
mod shares;
mod stores;
mod transaction;
mod wire;

pub use analysis::{Options, ReadOnce, explain};
pub use flight::InFlight;
pub use latencies::Distribution;
pub use list::{Filter, list};
pub use pairing::identifier;
pub use report::{
    Acknowledgements, Binding, Counts, CutRow, Group, LinkFound, Moved, Report, Row, Share, direction_word,
};
pub use rules::{StatedLimits, Violation};
pub use runs::{Access, Accesses};
pub use settings::Settings;
pub use stores::{DescriptorRead, Doorbell, Eviction, Stores};
pub use transaction::{Class, Range, Transaction, range_of};
