//! Why a rate or a latency is as it is: the changes that could relieve it, and what each of them gives.
//!
//! The changes come from the types of descriptions: every key states who can change it, and in which direction
//! ([`pcie_schema::relief`]). [`search`] simulates all of them briefly, and those that move the value again at full
//! length, alone and in pairs. [`why_test`] and [`why_nic`] answer in sentences.

mod answer;
mod bound_keys;
mod certainty;
mod changes;
mod defects;
mod frames;
mod gains;
mod nics;
mod numbers;
mod one_test;
mod reasons;
mod resource;
mod search;
mod stated_packets;
mod step_costs;
mod test_words;
mod tests_on_systems;
mod traffic;
mod transfers;
mod two_runs;
mod worded;

pub use answer::{Answer, Bar, Role, Row};
pub use bound_keys::{borrowed_sentences, is_of_host, keys_of, keys_of_bounds};
pub use certainty::{Certainty, Level, NO_KNOWN_CAUSE};
pub use changes::{Change, Part, of_link, of_nic, of_system, of_test};
pub use frames::{FramesAsked, Recorded, why_nic, why_nic_on_link};
pub use gains::{Effect, Gain, LEAST_GAIN_PERCENT};
pub use nics::NicQuestion;
pub use numbers::{MEASURED_RANGE, WORDS_MOST, check_measured, percent_text, words_in};
pub use one_test::{TestAsked, why_test};
pub use reasons::{Ground, Known, Parameters, reasons};
pub use resource::{Assumed, Resource, resource};
pub use search::{Engine, Found, How, Length, Tried, search};
pub use stated_packets::{Counts, PacketRate, StatedPackets};
pub use step_costs::{StepCost, step_costs};
pub use test_words::{parameters_in_words, test_in_words};
pub use tests_on_systems::TestQuestion;
pub use traffic::{COUNTED_PACKETS, LinkGiven, direction_of, traffic_of, usual_link, warm_up_packets};
pub use transfers::{StoreAsked, StoreRow, why_store};
pub use two_runs::{Differences, TwoRuns};
pub use worded::{Edge, EstimatedFlows, Limited, Limits, Remedies, SimulatedFlows, Worded};
