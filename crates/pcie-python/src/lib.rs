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
}

mod bounds;
mod fabric;
mod fabric_runtime;
mod model;
mod output;
mod prediction;
mod run;
mod store;

/// The compiled half of pcielab.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("InputError", module.py().get_type::<error::InputError>())?;
    module.add("RunError", module.py().get_type::<error::RunError>())?;
    module.add_class::<prediction::Predictor>()?;
    bounds::register(module)?;
    fabric::register(module)?;
    fabric_runtime::register(module)?;
    model::register(module)?;
    output::register(module)?;
    store::register(module)?;
    run::register(module)
}
