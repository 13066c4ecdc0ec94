//! Lets Python stop long work: by a signal, or by an exception from the progress function.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use pyo3::call::PyCallArgs;
use pyo3::prelude::*;

use crate::error::{Error, Result};

/// Interval of checks for signals in work without a progress function.
const LOOK_FOR_SIGNALS: Duration = Duration::from_millis(50);

/// Long work that Python can stop.
#[derive(Debug)]
pub(crate) struct Watched {
    raised: Option<PyErr>,
    looked: Instant,
}

impl Watched {
    pub(crate) fn new() -> Self {
        Self { raised: None, looked: Instant::now() }
    }

    /// Calls the progress function.
    pub(crate) fn report(
        &mut self,
        progress: &Py<PyAny>,
        how_far: impl for<'py> PyCallArgs<'py>,
    ) -> ControlFlow<()> {
        self.attend(|py| {
            py.check_signals()?;
            progress.call1(py, how_far).map(drop)
        })
    }

    /// Checks for signals at intervals; returns whether one came.
    pub(crate) fn is_signalled(&mut self) -> bool {
        if self.looked.elapsed() < LOOK_FOR_SIGNALS {
            return false;
        }
        self.looked = Instant::now();
        self.attend(|py| py.check_signals()).is_break()
    }

    /// Calls the progress function, if there is one, and checks for signals, both at intervals; returns whether
    /// the work is to stop.
    pub(crate) fn is_stopped(
        &mut self,
        progress: Option<&Py<PyAny>>,
        how_far: impl for<'py> PyCallArgs<'py>,
    ) -> bool {
        let Some(progress) = progress else { return self.is_signalled() };
        if self.looked.elapsed() < LOOK_FOR_SIGNALS {
            return false;
        }
        self.looked = Instant::now();
        self.report(progress, how_far).is_break()
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
                // Keep the first exception, the cause of all later ones.
                self.raised.get_or_insert(exception);
                ControlFlow::Break(())
            }
        }
    }
}
