//! Checks of values against the types of their fields: kind, range, choices, length, keys.
//!
//! A range, a default and a unit are stated once, on the field of a Rust type, by attributes of schemars or a
//! [quantity]. [`Shape`] checks values against them; Python's models, the reference and the JSON Schemas for
//! editors are generated from the same schema. Rules across keys are functions of the types.

pub mod quantity;
pub mod quantity_words;
pub mod relief;
mod shape;
pub mod size;

pub use shape::{Fitting, Problem, Shape, Why};
