//! The Python extension module `pcielab._core`: converts between Python values and the crates, and does nothing
//! else. What a function means is documented where it is implemented.

use pyo3::prelude::*;

mod error {
    use pyo3::create_exception;
    use pyo3::exceptions::{PyException, PyValueError};

    create_exception!(
        _core,
        InputError,
        PyValueError,
        "An input is wrong: the message names it and says what would be right."
    );
    create_exception!(_core, RunError, PyException, "Something failed while running: the message says what.");
    create_exception!(
        _core,
        NotSupportedError,
        PyException,
        "A device lacks what a test needs: the message names the limit."
    );
    create_exception!(
        _core,
        DeviceLostError,
        PyException,
        "A device is gone: the run ends, and can be gone on with."
    );
    create_exception!(
        _core,
        UnavailableError,
        PyException,
        "There is nothing to open: the message says what is missing and what brings it."
    );
}

mod backend;
mod bounds;
mod experiments;
mod fabric;
mod fabric_runtime;
#[cfg(target_os = "linux")]
mod host;
mod model;
mod output;
mod prediction;
mod python_device;
mod run;
mod statistics;
mod store;
mod vfio;

/// The compiled half of pcielab.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("InputError", module.py().get_type::<error::InputError>())?;
    module.add("RunError", module.py().get_type::<error::RunError>())?;
    module.add("NotSupportedError", module.py().get_type::<error::NotSupportedError>())?;
    module.add("DeviceLostError", module.py().get_type::<error::DeviceLostError>())?;
    module.add("UnavailableError", module.py().get_type::<error::UnavailableError>())?;
    module.add_class::<prediction::Predictor>()?;
    backend::register(module)?;
    bounds::register(module)?;
    experiments::register(module)?;
    fabric::register(module)?;
    fabric_runtime::register(module)?;
    #[cfg(target_os = "linux")]
    host::register(module)?;
    model::register(module)?;
    output::register(module)?;
    store::register(module)?;
    vfio::register(module)?;
    statistics::register(module)?;
    run::register(module)
}
