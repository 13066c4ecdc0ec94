//! Why nothing, or not everything, was done; and how the process ends.

use pcie_bench::{OpenError, RunError};
use pcie_vfio::Refusal;
use std::process::ExitCode;
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A file that was given.
    #[error("{0}")]
    Input(String),
    /// A device.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A promise that a back end does not keep.
    #[error("{0} promises of the contract are not kept")]
    Broken(usize),
}

impl Failure {
    /// What a terminal is given of it.
    pub(crate) fn message(&self) -> String {
        self.to_string().split('\n').map(printable).collect::<Vec<_>>().join("\n")
    }

    /// 2 for what was given, 130 for a stop, 1 for the rest.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Input(_) | Self::Refused(_) => 2,
            Self::Run(RunError::Interrupted { .. }) => 130,
            Self::Run(
                RunError::Suite(_)
                | RunError::MessageSuite(_)
                | RunError::OtherRun { .. }
                | RunError::TooManyJobs { .. }
                | RunError::Open(OpenError::Unavailable(_)),
            ) => 2,
            Self::Run(_) | Self::Broken(_) => 1,
        })
    }
}

/// A text, perhaps from a foreign file, that a terminal only shows: control characters are `?`.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        let failure = Failure::Input("\u{1b}]0;title\u{7}.json: no such file\n\u{9b}2J".to_owned());
        assert_eq!(failure.message(), "?]0;title?.json: no such file\n?2J");
    }
}
