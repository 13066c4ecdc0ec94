//! Refusals that several questions share.

use pcie_refusal::{Kind, Refusal, in_range};

/// Check that a number is above zero and within 1e-9 to 1e18, so that results stay finite.
pub(crate) fn above_zero(key: &str, value: f64) -> Result<(), Refusal> {
    in_range(key, value, 1e-9..=1e18, "give a number above 0, 1e-9 to 1e18")
}

/// A key that the 2018 accounting does not know.
pub(crate) fn unknown_to_sigcomm18(key: &str) -> Refusal {
    let problem = "the accounting sigcomm18 does not know it";
    Refusal::new(problem).kind(Kind::Unsupported).key(key).remedy("leave it out, or use the accounting spec")
}

/// A device that does nothing.
pub(crate) fn no_steps() -> Refusal {
    Refusal::new("the device has none").kind(Kind::Missing).key("step").remedy("give at least one [[step]]")
}
