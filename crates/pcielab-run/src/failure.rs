//! Failures and exit codes.

use pcie_bench::RunError;
use pcie_refusal::Refusal;
use std::process::ExitCode;
use thiserror::Error;

/// A failure.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A wrong file, option or device.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The run failed.
    #[error(transparent)]
    Run(RunError),
    /// A back end violates the contract.
    #[error("the back end violates {0} rules of the contract")]
    Broken(usize),
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        error.refusal().map_or_else(Self::Run, Self::Refused)
    }
}

impl Failure {
    /// The message, safe for a terminal.
    pub(crate) fn message(&self) -> String {
        self.to_string().split('\n').map(printable).collect::<Vec<_>>().join("\n")
    }

    /// 2 for wrong input, 130 for a stop, 1 otherwise.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Refused(_) => 2,
            Self::Run(RunError::Interrupted { .. }) => 130,
            Self::Run(_) | Self::Broken(_) => 1,
        })
    }
}

/// A text, perhaps from a foreign file, with `?` for control characters.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

    use super::*;
    use pcie_bench::OpenError;

    #[test]
    fn messages_contain_no_control_characters() {
        let refusal = Refusal::new("no such file\n\u{9b}2J").about("\u{1b}]0;title\u{7}.json");
        let failure = Failure::from(refusal);
        assert_eq!(failure.message(), "\\u{1b}]0;title\\u{7}.json: no such file\n\\u{9b}2J");
    }

    #[test]
    fn exit_codes_are_those_of_pcielab() {
        let missing = pcie_store::Error::Missing("run.db".into());
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
            let message = error.to_string();
            let failure = Failure::from(error);
            assert_eq!((failure.exit_code(), failure.message()), (ExitCode::from(code), message));
        }
    }
}
