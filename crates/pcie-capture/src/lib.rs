//! Captures of PCI Express packets, in and out.
//!
//! [`event`] has the one type of event that every reader yields and every writer takes. [`header`] and [`dllp`]
//! turn the bytes of packets into fields and back.

pub mod dllp;
pub mod event;
pub mod header;
#[cfg(test)]
mod samples;

pub use event::{Direction, Dllp, Event, Facts, Kind, LinkError, Packet, Tlp};
