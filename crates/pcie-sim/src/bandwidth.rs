//! Bandwidth tests: many transactions in flight, simulated event by event, TLP by TLP.
//!
//! This engine is the reference: easy to believe rather than fast. Its parts are the card (workers, an in-order queue of
//! DMAs, tags, a data engine), the two directions of the link with their credits, and the root complex (admission,
//! translation, memory, the order of completions). Every part holds what it needs and says when it can go on.

mod card;
mod completer;
pub(crate) mod complex;
mod engine;

pub use engine::BandwidthRun;
