//! Back end that opens a core in its own process.

use crate::bench::bench;
use crate::process::{Process, ProcessError};
use pcie_bench::{Backend, Bench, OpenError};
use pcie_refusal::Refusal;
use pcie_sim::Machine;
use pcie_store::Origin;
use std::path::PathBuf;
use std::sync::Arc;

/// Output of `make rtl`, from the root of the repository.
pub(crate) const BUILT_PROGRAM: &str = "target/rtl/pcielab-rtl";
/// Most parallel processes.
const JOBS_MAX: usize = 64;

/// The FPGA core in RTL on a simulated host, `rtl`.
#[derive(Debug)]
pub struct Rtl {
    machine: Arc<Machine>,
    program: PathBuf,
}

impl Rtl {
    /// A back end for the host and link of a machine. `program` is `pcielab-rtl`; default: that of `make
    /// rtl`.
    #[must_use]
    pub fn new(machine: Machine, program: Option<PathBuf>) -> Self {
        Self { machine: Arc::new(machine), program: program.unwrap_or_else(|| BUILT_PROGRAM.into()) }
    }
}

impl Backend for Rtl {
    fn kind(&self) -> &str {
        "rtl"
    }

    fn origin(&self) -> Origin {
        Origin::Rtl
    }

    fn jobs_most(&self) -> usize {
        JOBS_MAX
    }

    fn open(&self) -> Result<Bench, OpenError> {
        let process = Process::start(&self.program).map_err(|error| match error {
            ProcessError::Start { .. } | ProcessError::NotOurs { .. } => Refusal::new(error).into(),
            error => OpenError::Failed(error.to_string()),
        })?;
        Ok(bench(Arc::clone(&self.machine), process, self.program.clone()))
    }
}
