//! Simulated systems, which come as JSON.

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

/// Refuses a part, as JSON.
type Check = fn(&str) -> Result<()>;

/// Parts with rules across their keys, by the names of their types.
const RULED: [(&str, Check); 9] = [
    ("Card", keeps_to_rules::<Card>),
    ("DataEngine", keeps_to_rules::<DataEngine>),
    ("IdleStates", keeps_to_rules::<IdleStates>),
    ("LastLevelCache", keeps_to_rules::<LastLevelCache>),
    ("Link", keeps_to_rules::<Link>),
    ("Placement", keeps_to_rules::<Placement>),
    ("Stalls", keeps_to_rules::<Stalls>),
    ("Timer", keeps_to_rules::<Timer>),
    ("WakeCluster", keeps_to_rules::<WakeCluster>),
];

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(check_part, module)?)?;
    module.add_function(wrap_pyfunction!(check_system, module)?)?;
    module.add_function(wrap_pyfunction!(iommu_page_bytes, module)?)?;
    module.add_function(wrap_pyfunction!(ruled_parts, module)?)?;
    module.add_function(wrap_pyfunction!(system_capacities, module)?)
}

pub(crate) fn machine(system: &str) -> Result<Machine> {
    Ok(Machine::new(read_system(system)?)?)
}

/// Names of the parts of a system that have rules across their keys.
#[pyfunction]
fn ruled_parts() -> Vec<&'static str> {
    RULED.map(|(name, _)| name).to_vec()
}

/// What a window can outgrow in a system, as JSON.
#[pyfunction]
fn system_capacities(system: &str) -> Result<String> {
    text(&read_system(system)?.capacities())
}

/// Bytes of a page of an IOMMU's mode; None without translation, and for what is no mode.
#[pyfunction]
fn iommu_page_bytes(mode: &str) -> Option<u64> {
    serde_json::from_value::<IommuMode>(mode.into()).ok()?.page_bytes()
}

/// Refuses a part whose keys do not go together.
#[pyfunction]
fn check_part(name: &str, part: &str) -> Result<()> {
    let known = RULED.iter().find(|(ruled, _)| *ruled == name);
    known.map_or_else(|| Err(refused(format!("{name}: is no part that has rules"))), |(_, check)| check(part))
}

fn keeps_to_rules<T: Ruled + DeserializeOwned>(part: &str) -> Result<()> {
    Ok(parse::<T>("", part)?.check()?)
}

/// Refuses a system that cannot be simulated.
#[pyfunction]
fn check_system(system: &str) -> Result<()> {
    Ok(Machine::check(&read_system(system)?)?)
}

fn read_system(system: &str) -> Result<System> {
    let content: Value = parse("system", system)?;
    let name = content["name"].as_str().unwrap_or_default();
    let subject = format!("system {name}").trim_end().to_owned();
    Ok(System::read(content).map_err(|refusal| refusal.about(subject))?)
}
