//! Tests of whole simulated machines, in one binary: each would compile the simulator's generic code for itself.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot be set up fails"
)]

mod bounds;
mod closed_forms;
mod engines_agree;
mod faster_is_not_slower;
mod flits;
mod machines;
mod never_above_the_model;
mod replays;
mod snapshot;
mod writes_repeat;
