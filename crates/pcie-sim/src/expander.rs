//! A memory expander behind CXL.mem, line by line: cores with lines in flight, flits of slots in both directions, banks,
//! refreshes and the bus of each channel.
//!
//! The expander is that of the closed form (`pcie_model::Expander`). Here messages are packed into slots, a flit is
//! received when it is whole, a bank serves one line after the other, and a core sends a line when one of its fill
//! buffers is free. Times that the profile gives as a whole, the controller's and the medium's, are spent half before
//! and half after the bank, less what an idle link and bus take.
//!
//! The host's caches and its mesh are not simulated, nor are the credits of the link: the expander holds all lines in
//! flight.
//!
//! Modules: `transmitter` packs messages into slots, `memory` has banks and buses, `cores` arrivals and fill buffers,
//! `run` moves lines through them, `outcome` is what a run measures.

mod cores;
mod memory;
mod outcome;
mod run;
mod transmitter;

pub use outcome::{ExpanderOutcome, StationOutcome};
pub use run::ExpanderRun;

use std::sync::LazyLock;

use pcie_model::Requesters;
use pcie_schema::{Fitting, Shape};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lines that cores read and write.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LineTraffic {
    /// Share of the lines that are read.
    #[schemars(range(min = 0, max = 1))]
    pub read_share: f64,
    /// Lines that cores send, as a share of the closed form's peak; 0: one at a time; from 1 on: whenever a fill
    /// buffer is free.
    #[schemars(range(min = 0, max = 10))]
    pub load: f64,
    /// The cores.
    pub cores: Requesters,
    /// Counted lines, after those that fill queues.
    #[schemars(range(min = 100, max = 10_000_000))]
    pub lines: u64,
}

impl Fitting for LineTraffic {
    fn shape() -> &'static Shape {
        static SHAPE: LazyLock<Shape> = LazyLock::new(Shape::of::<LineTraffic>);
        &SHAPE
    }
}
