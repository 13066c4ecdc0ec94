//! Lets Python stop long work: by a signal, or by an exception from the progress function.

use std::io::Read;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::IntoPyObjectExt;
use pyo3::call::PyCallArgs;
use pyo3::prelude::*;
use pyo3::types::PyList;

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

/// Signals during work that asks for them from several threads or crates. Clones share the exception.
#[derive(Clone, Debug)]
pub(crate) struct Signals(Arc<Mutex<Watched>>);

impl Signals {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Watched::new())))
    }

    /// Checks for signals at intervals; returns whether one came.
    pub(crate) fn came(&self) -> bool {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.raised.is_some() || watched.is_signalled()
    }

    /// A stop that a signal requests.
    pub(crate) fn stop(&self) -> pcie_bench::Stop {
        let signals = self.clone();
        pcie_bench::Stop::asking(move || signals.came())
    }

    /// The result of the work, unless a signal stopped it.
    pub(crate) fn result<T, E: Into<Error>>(&self, result: std::result::Result<T, E>) -> Result<T> {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *watched, Watched::new()).result(result)
    }
}

/// Items between two looks for signals: less than a millisecond.
pub(crate) const ITEMS_BETWEEN_LOOKS: usize = 4096;

/// A list of many items. A signal ends it.
pub(crate) fn listed<'py, T: IntoPyObject<'py>>(
    py: Python<'py>,
    items: impl Iterator<Item = T>,
) -> Result<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for (number, item) in items.enumerate() {
        if number % ITEMS_BETWEEN_LOOKS == 0 {
            py.check_signals()?;
        }
        list.append(item.into_bound_py_any(py)?)?;
    }
    Ok(list)
}

/// Bytes that are read in pieces, until a signal comes.
pub(crate) struct InPieces<'a> {
    left: &'a [u8],
    signals: &'a Signals,
}

impl<'a> InPieces<'a> {
    /// Bytes between two looks for signals: about a millisecond of parsing.
    const PIECE_BYTES: usize = 1 << 16;

    pub(crate) fn new(left: &'a [u8], signals: &'a Signals) -> Self {
        Self { left, signals }
    }
}

impl Read for InPieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if self.signals.came() {
            return Err(std::io::Error::other("stopped"));
        }
        let piece = into.len().min(Self::PIECE_BYTES);
        self.left.read(&mut into[..piece])
    }
}
