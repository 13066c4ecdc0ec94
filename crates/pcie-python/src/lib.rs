//! The Python extension module `pcielab._core`: converts between Python values and the crates, and does nothing
//! else. What a function means is documented where it is implemented.

use pyo3::prelude::*;

mod backend;
mod bounds;
mod error;
mod experiments;
mod fabric;
mod fabric_runtime;
#[cfg(target_os = "linux")]
mod host;
mod json;
mod model;
mod output;
mod prediction;
mod progress;
mod python_device;
mod run;
mod schemas;
mod statistics;
mod stop;
mod store;
mod system;
mod vfio;

/// The compiled half of pcielab.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    error::register(module)?;
    module.add_class::<prediction::Predictor>()?;
    backend::register(module)?;
    bounds::register(module)?;
    fabric::register(module)?;
    fabric_runtime::register(module)?;
    #[cfg(target_os = "linux")]
    host::register(module)?;
    model::register(module)?;
    output::register(module)?;
    store::register(module)?;
    schemas::register(module)?;
    vfio::register(module)?;
    statistics::register(module)?;
    stop::register(module)?;
    system::register(module)?;
    run::register(module)
}
