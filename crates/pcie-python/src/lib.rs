//! The Python extension module `pcielab._core`: converts between Python values and the crates, and does nothing
//! else. What a function means is documented where it is implemented.

use pyo3::prelude::*;

/// The compiled half of pcielab.
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    Ok(())
}
