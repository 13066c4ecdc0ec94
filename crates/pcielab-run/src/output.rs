//! Standard output.

use crate::failure::Failure;
use pcie_refusal::Refusal;
use std::io::{ErrorKind, Write, stdout};

/// Prints a text; a reader that closed the pipe wants no more of it.
pub(crate) fn write(text: &[u8]) -> Result<(), Failure> {
    match stdout().write_all(text) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Refusal::new(error).about("standard output").into())
        }
        _ => Ok(()),
    }
}
