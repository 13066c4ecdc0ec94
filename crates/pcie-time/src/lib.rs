//! Simulated time, counter-based random numbers, and two event queues: a plain one and a fast one.
//!
//! Nothing here reads a clock or has hidden state: time is an argument, and a random draw is a function of
//! its use, so the order of evaluation cannot change it.

mod blocks;
mod calendar;
mod draw;
mod draw_sequence;
mod queue;
mod time;

pub use blocks::{BLOCK, Blocks};
pub use calendar::CalendarQueue;
pub use draw::{Draws, Stream};
pub use draw_sequence::DrawSequence;
pub use queue::EventQueue;
pub use time::{Picoseconds, TickLength};
