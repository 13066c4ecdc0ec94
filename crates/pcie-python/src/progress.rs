//! The one way in which long work asks Python whether to go on: signals stop it, and so does an exception of the function
//! that is told how far it is.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::error::{Error, Result};

/// How often signals are looked for by work that tells nobody how far it is.
const LOOK_FOR_SIGNALS: Duration = Duration::from_millis(50);

/// What Python has to say about work that is going on.
#[derive(Debug)]
pub(crate) struct Watched {
    raised: Option<PyErr>,
    looked: Instant,
}

impl Watched {
    pub(crate) fn new() -> Self {
        Self { raised: None, looked: Instant::now() }
    }

    /// Tells a function how far the work is.
    pub(crate) fn tell(
        &mut self,
        progress: &Py<PyAny>,
        how_far: impl for<'py> PyCallArgs<'py>,
    ) -> ControlFlow<()> {
        self.attend(|py| {
            py.check_signals()?;
            progress.call1(py, how_far).map(drop)
        })
    }

    /// Looks for signals, if it is time to; whether one came.
    pub(crate) fn is_signalled(&mut self) -> bool {
        if self.looked.elapsed() < LOOK_FOR_SIGNALS {
            return false;
        }
        self.looked = Instant::now();
        self.attend(|py| py.check_signals()).is_break()
    }

    /// The result of the work, unless Python stopped it.
    pub(crate) fn result<T, E: Into<Error>>(self, result: std::result::Result<T, E>) -> Result<T> {
        match self.raised {
            Some(exception) => Err(Error::Raised(exception)),
            None => result.map_err(Into::into),
        }
    }

    fn attend(&mut self, ask: impl FnOnce(Python<'_>) -> PyResult<()>) -> ControlFlow<()> {
        match Python::attach(ask) {
            Ok(()) => ControlFlow::Continue(()),
            Err(exception) => {
                // The first one says why; what follows from it does not.
                self.raised.get_or_insert(exception);
                ControlFlow::Break(())
            }
        }
    }
}
