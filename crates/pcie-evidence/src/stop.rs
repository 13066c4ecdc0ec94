//! A request to stop a long reading.

use pcie_refusal::{Refusal, Unfinished};

/// Lines between two questions: less than a millisecond.
const LINES: usize = 1024;

/// Asks whoever may end a reading.
#[derive(Clone, Copy)]
pub struct Stop<'a>(&'a dyn Fn() -> bool);

impl std::fmt::Debug for Stop<'_> {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.write_str("Stop")
    }
}

impl Stop<'static> {
    /// A stop that never comes.
    pub const NEVER: Self = Self(&|| false);
}

impl<'a> Stop<'a> {
    /// A stop that comes when `asks` returns true. A reading asks every few milliseconds.
    #[must_use]
    pub fn asking(asks: &'a dyn Fn() -> bool) -> Self {
        Self(asks)
    }

    /// Ends the work if a stop was requested.
    pub(crate) fn check(self) -> Result<(), Unfinished> {
        if (self.0)() { Err(Unfinished::Stopped) } else { Ok(()) }
    }

    /// Ends the work if a stop was requested; asks at some line numbers only.
    pub(crate) fn check_at(self, line: usize) -> Result<(), Unfinished> {
        if line.is_multiple_of(LINES) { self.check() } else { Ok(()) }
    }
}

/// The refusal of work that nothing stops.
pub(crate) fn refusal(unfinished: Unfinished) -> Refusal {
    match unfinished {
        Unfinished::Refused(refusal) => refusal,
        Unfinished::Stopped => Refusal::new(unfinished),
    }
}
