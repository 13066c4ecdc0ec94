//! What the pages of `pcielab explore` ask, answered: JSON in, JSON out.
//!
//! The same functions answer the local server, through Python, and the page without a server, as WebAssembly
//! in the browser's workers. Pages, their words and their pictures are in `python/pcielab/explore/pages`; opening
//! files belongs to Python.

mod answer;
mod ask;
mod change;
mod described;
mod messages;
mod nics;
mod own;
mod plan;
mod point;
mod published;
mod question;
mod rates;
mod simulations;
mod take_out;
#[cfg(target_family = "wasm")]
mod web;
mod why;

pub use ask::{NAMES, ask, ask_until};
