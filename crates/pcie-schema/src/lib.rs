//! Values held to what the types of their fields say: kind, range, choices, length, and which keys there are.
//!
//! A range, a default and a unit are stated once, on the field of a Rust type, by attributes of schemars or by a
//! [quantity]. [`Shape`] checks values against them, and Python's models, the reference and the JSON Schemas for
//! editors are generated from the same schema. Rules across keys are not here: they are functions of the types.

pub mod quantity;
mod shape;

pub use shape::{Fitting, Shape};
