//! What carries requests out for the runtime: the simulator, or models of devices beside it.

use std::fmt::Debug;

use pcie_refusal::Refusal;
use pcie_time::Picoseconds;

use super::contents::Contents;
use super::transfer::Transfer;
use crate::simulate::Phases;
use crate::simulate::traffic::Placed;
use crate::topology::NodeId;

/// Carries requests out, and lets time pass meanwhile.
pub trait Carrier: Debug + Send + Sync {
    /// Notes that requests of this kind will be submitted.
    ///
    /// # Errors
    /// The carrier cannot carry the request out.
    fn announce(&mut self, placed: &Placed, list: &[Transfer]) -> Result<(), Refusal>;

    /// Checks that [`Contents`] has the bytes of a node's memory.
    ///
    /// # Errors
    /// Its bytes are elsewhere.
    fn check_contents(&self, node: NodeId) -> Result<(), Refusal>;

    /// Takes an announced request that leaves its queue at `at`, not before any time reached; returns a number
    /// that no request in flight has.
    ///
    /// # Errors
    /// The devices cannot be reached any more.
    fn submit(&mut self, at: Picoseconds, placed: &Placed, list: &[Transfer]) -> Result<u32, Refusal>;

    /// Runs until a request is done; None if none is done until `end`, or once `stopped` returns true. `contents`
    /// follows, TLP by TLP.
    ///
    /// # Errors
    /// The devices cannot be reached any more, or ended with a fault.
    fn run_unless(
        &mut self,
        end: Picoseconds,
        contents: &mut Contents,
        stopped: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Finished>, Refusal>;
}

/// A request that is done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Finished {
    /// When.
    pub at: Picoseconds,
    /// Its number.
    pub number: u32,
    /// When it was submitted.
    pub left: Picoseconds,
    /// Time at which its command reached the device, ns; NaN for MMIO.
    pub reached_ns: f64,
    /// Its phases from its submission on.
    pub phases: Phases,
}
