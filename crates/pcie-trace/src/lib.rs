//! The trace of a simulated test: TLPs on both directions of the link, phases in the parts of the machine, and
//! counters, each with its times.
//!
//! Simulators fill a [`Recorder`]; stores keep its [`Segment`]s. It is not a capture of a real link (`pcie-capture`
//! reads those) and knows no file format.

mod recorder;
mod segment;

pub use recorder::{Recorder, SEGMENTS_MOST, Tlp};
pub use segment::{Kind, Segment, Text, lane};
