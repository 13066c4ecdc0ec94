//! Back ends that open a simulated machine, for benchmarks and for messages.

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

/// Most jobs of a simulation.
const JOBS_MAX: u64 = 1024;
/// Memory of all jobs of a simulation, bytes: each job has the state of the whole suite.
const JOBS_BYTES_MAX: u64 = 4 << 30;
/// Machine states that a job holds at once: its own, those of a test's batches, and one while it warms
/// caches.
const STATES_OF_A_JOB: u64 = 4;
/// Other memory of a job, bytes: its stack and its results.
const JOB_BYTES: u64 = 8 << 20;

/// A simulated machine, `sim`.
#[derive(Debug)]
pub struct Simulated {
    machine: Arc<Machine>,
    samples: Samples,
    engine: Engine,
}

impl Simulated {
    /// A back end for a machine. `samples` selects the simulated transactions of a test, `engine` the
    /// simulator of bandwidth tests.
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
    /// Names the wrong value.
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
