//! Simulated systems, as JSON.

use pcie_schema::Fitting as _;
use pcie_sim::Machine;
use pcie_sim::profile::{
    Card, DataEngine, IdleStates, IommuMode, LastLevelCache, Link, Placement, Ruled, Stalls, System, Timer,
    WakeCluster,
};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::{Result, refused};
use crate::json::{parse, text};

/// Checks a part, given as JSON.
type Check = fn(&str) -> Result<()>;

/// Parts with rules across keys, by type name.
const RULED: [(&str, Check); 9] = [
    ("Card", check_rules::<Card>),
    ("DataEngine", check_rules::<DataEngine>),
    ("IdleStates", check_rules::<IdleStates>),
    ("LastLevelCache", check_rules::<LastLevelCache>),
    ("Link", check_rules::<Link>),
    ("Placement", check_rules::<Placement>),
    ("Stalls", check_rules::<Stalls>),
    ("Timer", check_rules::<Timer>),
    ("WakeCluster", check_rules::<WakeCluster>),
];

pub(crate) fn machine(system: &str) -> Result<Machine> {
    Ok(Machine::new(read_system(system)?)?)
}

/// Type names of the parts with rules across keys.
#[pyfunction]
pub(crate) fn ruled_parts() -> Vec<&'static str> {
    RULED.map(|(name, _)| name).to_vec()
}

/// Capacities of a system that a window can exceed, as JSON.
#[pyfunction]
pub(crate) fn system_capacities(system: &str) -> Result<String> {
    text(&read_system(system)?.capacities())
}

/// Page size of an IOMMU mode, bytes; None without translation or for an unknown mode.
#[pyfunction]
pub(crate) fn iommu_page_bytes(mode: &str) -> Option<u64> {
    serde_json::from_value::<IommuMode>(mode.into()).ok()?.page_bytes()
}

/// Refuses a part whose keys contradict each other.
#[pyfunction]
pub(crate) fn check_part(name: &str, part: &str) -> Result<()> {
    let known = RULED.iter().find(|(ruled, _)| *ruled == name);
    known.map_or_else(|| Err(refused(format!("{name}: not a part with rules"))), |(_, check)| check(part))
}

fn check_rules<T: Ruled + DeserializeOwned>(part: &str) -> Result<()> {
    Ok(parse::<T>("", part)?.check()?)
}

/// Refuses a system that cannot be simulated.
#[pyfunction]
pub(crate) fn check_system(system: &str) -> Result<()> {
    Ok(Machine::check(&read_system(system)?)?)
}

fn read_system(system: &str) -> Result<System> {
    let content: Value = parse("system", system)?;
    let name = content["name"].as_str().unwrap_or_default();
    let subject = format!("system {name}").trim_end().to_owned();
    Ok(System::read(content).map_err(|refusal| refusal.about(subject))?)
}
