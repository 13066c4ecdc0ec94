//! What opens a simulated machine as a bench, and a simulated core and device for messages.

use crate::device::simulated_bench;
use crate::messages::MessageSystem;
use pcie_bench::{Backend, Bench, MessageDevice, OpenError, Samples};
use pcie_model::pio::MessageProfile;
use pcie_refusal::Refusal;
use pcie_sim::profile::System;
use pcie_sim::{Engine, Machine};
use pcie_store::Origin;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Jobs that a simulation can be shared among.
const JOBS_MAX: u64 = 1024;
/// What the jobs of a simulation may take together, bytes: each goes through the state of the whole suite.
const JOBS_BYTES_MAX: u64 = 4 << 30;
/// States that a job holds at once: its own, those of the batches of a test, and what settles while caches are warmed.
const STATES_OF_A_JOB: u64 = 4;
/// What a job takes besides, bytes: its stack and what it has measured.
const JOB_BYTES: u64 = 8 << 20;

/// A simulated machine, `sim`.
#[derive(Debug)]
pub struct Simulated {
    machine: Arc<Machine>,
    samples: Samples,
    engine: Engine,
}

impl Simulated {
    /// A back end for a machine. `samples` decides which transactions of a test are simulated, `engine` what simulates
    /// bandwidth tests.
    #[must_use]
    pub fn new(machine: Machine, samples: Samples, engine: Engine) -> Self {
        Self { machine: Arc::new(machine), samples, engine }
    }
}

impl Backend for Simulated {
    fn kind(&self) -> &str {
        "sim"
    }

    fn origin(&self) -> Origin {
        Origin::Simulated
    }

    fn options(&self) -> Map<String, Value> {
        Map::from_iter([("engine".to_owned(), json!(self.engine))])
    }

    fn jobs_most(&self) -> usize {
        let job_bytes = STATES_OF_A_JOB * self.machine.state_bytes() + JOB_BYTES;
        (JOBS_BYTES_MAX / job_bytes).clamp(1, JOBS_MAX) as usize
    }

    fn open(&self) -> Result<Bench, OpenError> {
        Ok(simulated_bench(Arc::clone(&self.machine), self.samples, self.engine))
    }
}

/// A simulated core and device that take messages, on a simulated machine.
#[derive(Debug)]
pub struct SimulatedMessages {
    system: MessageSystem,
}

impl SimulatedMessages {
    /// Checks the system and the profile. `seed` names the run.
    ///
    /// # Errors
    /// Names what is wrong.
    pub fn new(system: System, profile: MessageProfile, seed: u64) -> Result<Self, Refusal> {
        Ok(Self { system: MessageSystem::new(system, profile, seed)? })
    }
}

impl Backend<Box<dyn MessageDevice>> for SimulatedMessages {
    fn kind(&self) -> &str {
        "sim"
    }

    fn origin(&self) -> Origin {
        Origin::Simulated
    }

    fn open(&self) -> Result<Box<dyn MessageDevice>, OpenError> {
        Ok(Box::new(self.system.clone()))
    }
}
