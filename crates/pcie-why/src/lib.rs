//! Why a rate or a latency is as it is: the changes that could relieve it, and what each of them gives.
//!
//! The changes come from the types of descriptions: every key states who can change it, and in which direction
//! ([`pcie_schema::relief`]). [`search`] simulates all of them briefly, and those that move the value again at full
//! length, alone and in pairs. Sentences are not made here.

mod changes;
mod nics;
mod resource;
mod search;
mod tests_on_systems;

pub use changes::{Change, Part, of_link, of_nic, of_system, of_test};
pub use nics::NicQuestion;
pub use resource::{Assumed, Resource, resource};
pub use search::{Engine, Found, How, Length, Tried, search};
pub use tests_on_systems::TestQuestion;
