//! Captures of PCI Express packets, in and out.
//!
//! [`read`] takes a capture of any [`Format`] and hands over [`Event`]s; writers take them. [`header`] and [`dllp`]
//! turn the bytes of packets into fields and back. What each format is, and where the facts come from, is in the module of
//! its reader.

mod buses;
mod cells;
mod cocotb;
pub mod dllp;
pub mod event;
mod fields;
mod format;
mod frames;
pub mod header;
mod input;
mod kernel_log;
mod list;
mod nettlp;
mod pcap;
mod pcileech;
#[cfg(test)]
mod round_trips;
#[cfg(test)]
mod samples;
mod signal_csv;
mod simbricks;
mod trace_text;
mod ultrascale;
mod vcd;
mod words;
mod write;

pub use event::{Direction, Dllp, Event, Facts, Kind, LinkError, Packet, Tlp};
pub use fields::Field;
pub use format::{Format, Options, detect, read};
pub use write::{WRITTEN, WriteOptions, Writer, Written};
