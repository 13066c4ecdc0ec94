//! What a device must be able to do to be benchmarked.

use crate::facts::{Condition, DeviceFacts, Remarks};
use crate::stop::Stop;
use pcie_time::{Draws, Stream};
use pcie_workload::{AddressList, Test};
use std::ops::ControlFlow;
use thiserror::Error;

/// A card that can run the micro-benchmarks: simulated, in RTL, or real.
///
/// Results come in slices, in order, and the receiver says after each whether it wants more. A slice of a real device takes
/// 100 ms of wall time or less, and every wait in it ends by the deadline of the device's facts.
pub trait Device {
    /// What the device is.
    fn facts(&self) -> DeviceFacts;

    /// What changes about it, read now: before and after a run and after each test.
    fn conditions(&mut self) -> Vec<Condition> {
        Vec::new()
    }

    /// Says which test of which suite comes next, before anything is prepared for it.
    fn begin(&mut self, start: Start<'_>);

    /// Writes random lines over the whole host buffer, 128 MiB of them.
    ///
    /// # Errors
    /// The device cannot, or failed.
    fn thrash(&mut self) -> Result<(), DeviceError>;

    /// Writes the first `window_bytes` of the host buffer, twice.
    ///
    /// # Errors
    /// The device cannot, or failed.
    fn warm(&mut self, window_bytes: u64) -> Result<(), DeviceError>;

    /// Runs a latency test until it is complete or `sink` breaks off.
    ///
    /// # Errors
    /// The device cannot run the test, or failed.
    fn latency(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(&LatencySlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError>;

    /// Runs a bandwidth test until it is complete or `sink` breaks off.
    ///
    /// # Errors
    /// The device cannot run the test, or failed.
    fn bandwidth(
        &mut self,
        test: &Test,
        sink: &mut dyn FnMut(BandwidthSlice) -> ControlFlow<()>,
    ) -> Result<(), DeviceError>;

    /// What is to be said of the test that was just done, beside its numbers.
    fn remarks(&mut self) -> Remarks {
        Remarks::default()
    }

    /// Whether anything of a test, or of what prepared it, can be seen after the host's thrash before the next, so that
    /// tests done elsewhere have to be passed over. Only what is simulated knows that it can.
    fn is_stateful(&self) -> bool {
        false
    }

    /// A test was done in an earlier run, or elsewhere: takes on the state in which it leaves things.
    fn replay_state(&mut self, _test: &Test) {}

    /// Brings the device back after it failed, so that the next test can work.
    ///
    /// # Errors
    /// It cannot: the device is lost.
    fn recover(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }

    /// Gives back what it holds, for whoever wants to know how that went: dropping it does so anyway. Called any number of
    /// times, at last.
    ///
    /// # Errors
    /// Something could not be given back.
    fn close(&mut self) -> Result<(), DeviceError> {
        Ok(())
    }
}

/// Where in a run a test stands.
#[derive(Clone, Copy, Debug)]
pub struct Start<'a> {
    /// Place in the suite, counted from 0.
    pub position: u64,
    /// Names the run: the addresses that a test visits are drawn with it.
    pub seed: u64,
    /// The test.
    pub test: &'a Test,
    /// Asked for when the run is to end: a device may keep a clone of it to look at, or to wait with.
    pub stop: &'a Stop,
}

impl Start<'_> {
    /// The addresses that the test visits, the same on every device.
    #[must_use]
    pub fn addresses(&self) -> AddressList {
        AddressList::new(self.test, Draws::new(self.seed, self.position, Stream::Addresses))
    }
}

/// Some transactions of a latency test.
#[derive(Clone, Debug, Default)]
pub struct LatencySlice {
    /// Their latencies in ticks of the device's timer, in order.
    pub ticks: Vec<u32>,
    /// The time that they took altogether, the loop between them included, ns.
    pub elapsed_ns: f64,
}

/// Some transactions of a bandwidth test.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BandwidthSlice {
    /// How many.
    pub transactions: u64,
    /// The time that they took, ns.
    pub elapsed_ns: f64,
    /// Whether the slices before it count no longer: the device has found that they were not of its steady state.
    pub anew: bool,
}

/// Why a device did not run a test.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeviceError {
    /// It lacks something that the test needs; names the limit.
    #[error("{0}")]
    NotSupported(String),
    /// It failed, and may work again.
    #[error("{0}")]
    Failed(String),
    /// It is gone: the run ends here, and the test stays undone.
    #[error("{0}")]
    Lost(String),
}
