//! Simulated time, counter-based random numbers, and the event queue.
//!
//! Nothing here reads a clock: time is a number that is passed around. Nothing here has hidden state either: a random
//! draw is a function of where it is used, so that the order in which things are evaluated cannot change it.

mod draw;
mod queue;
mod time;

pub use draw::{Draws, Stream};
pub use queue::EventQueue;
pub use time::{Picoseconds, TickLength};
