//! Why nothing, or not everything, was done; and how the process ends.

use pcie_bench::RunError;
use pcie_refusal::Refusal;
use std::process::ExitCode;
use thiserror::Error;

/// What went wrong.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A file, an option or a device that was given.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The run.
    #[error(transparent)]
    Run(RunError),
    /// A promise that a back end does not keep.
    #[error("{0} promises of the contract are not kept")]
    Broken(usize),
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        error.refusal().map_or_else(Self::Run, Self::Refused)
    }
}

impl Failure {
    /// What a terminal is given of it.
    pub(crate) fn message(&self) -> String {
        self.to_string().split('\n').map(printable).collect::<Vec<_>>().join("\n")
    }

    /// 2 for what was given, 130 for a stop, 1 for the rest.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Refused(_) => 2,
            Self::Run(RunError::Interrupted { .. }) => 130,
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
    #![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

    use super::*;
    use pcie_bench::OpenError;

    #[test]
    fn a_terminal_gets_no_control_characters() {
        let refusal = Refusal::new("no such file\n\u{9b}2J").about("\u{1b}]0;title\u{7}.json");
        let failure = Failure::from(refusal);
        assert_eq!(failure.message(), "?]0;title?.json: no such file\n?2J");
    }

    #[test]
    fn what_was_given_ends_the_process_as_pcielab_does() {
        let missing = pcie_store::Error::Missing { path: "run.db".into() };
        let stopped = RunError::Interrupted { done: 1, total: 2 };
        let parameters = serde_json::from_str::<u8>("x").unwrap_err();
        for (error, code) in [
            (RunError::from(Refusal::of("jobs", 9, "give 1 or fewer")), 2),
            (missing.into(), 2),
            (OpenError::from(Refusal::new("no device")).into(), 2),
            (OpenError::Failed("it smells burnt".into()).into(), 1),
            (parameters.into(), 1),
            (stopped, 130),
        ] {
            let said = error.to_string();
            let failure = Failure::from(error);
            assert_eq!((failure.exit_code(), failure.message()), (ExitCode::from(code), said));
        }
    }
}
