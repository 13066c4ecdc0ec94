//! Simulated time, counter-based random numbers, and two event queues: a plain one and a fast one.
//!
//! Nothing here reads a clock: time is a number that is passed around. Nothing here has hidden state either: a random
//! draw is a function of where it is used, so that the order in which things are evaluated cannot change it.

mod calendar;
mod draw;
mod queue;
mod time;

pub use calendar::CalendarQueue;
pub use draw::{Draws, Stream};
pub use queue::EventQueue;
pub use time::{Picoseconds, TickLength};
