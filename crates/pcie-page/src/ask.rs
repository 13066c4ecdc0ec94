//! Requests by name.

use pcie_bench::Stop;
use pcie_refusal::{Kind, Refusal};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{answer, change, messages, nics, own, plan, point, published, rates, simulations, take_out, why};

/// Names of the requests.
pub const NAMES: [&str; 19] = [
    "accesses",
    "answer",
    "change",
    "drawn",
    "engine",
    "expander",
    "flows",
    "frames",
    "messages",
    "nic",
    "own",
    "pio",
    "plan",
    "point",
    "published",
    "record",
    "take-out",
    "why",
    "why-nic",
];

/// Answers a request.
///
/// `asked` and the answer are JSON:
///
/// * `answer`: the curves of a question in closed form,
/// * `change`: a system with changes; `own`: the system in a file of the user,
/// * `plan`: the points of a question,
/// * `point`: a simulated point as pictures need it; `record`: as a store keeps it,
/// * `drawn`: a record as pictures need it,
/// * `frames`, `messages`: the record of a test with a NIC, or of messages; `flows`: the rates on a fabric,
/// * `nic`: the rates of a NIC with its features in closed form; `engine`: those of an engine; `expander`: those
///   of a memory expander; `accesses`: what loads and stores of a core to a device's BAR cost,
/// * `pio`: messages by stores and by descriptors in closed form,
/// * `take-out`: commands and files of a question,
/// * `why`: what binds a test of a question, how sure that is, and what to change; `why-nic`: the same
///   of frames through a NIC, with its queues and features,
/// * `published`: sizes and windows of curves, and the published tests.
///
/// # Errors
/// The request is unknown, is no JSON, or asks the impossible.
pub fn ask(name: &str, asked: &str) -> Result<String, Refusal> {
    ask_until(name, asked, &Stop::default())
}

/// The same until `stop` is requested: a simulation then ends early, with what its record says.
///
/// # Errors
/// Those of [`ask`].
pub fn ask_until(name: &str, asked: &str, stop: &Stop) -> Result<String, Refusal> {
    match name {
        "accesses" => text(&rates::accesses(&read(asked)?)?),
        "answer" => text(&answer::answer(&read(asked)?)?),
        "change" => text(&change::change(read(asked)?)?),
        "drawn" => text(&point::drawn(&read(asked)?)),
        "engine" => text(&rates::engine(&read(asked)?)?),
        "expander" => text(&rates::expander(&read(asked)?)?),
        "flows" => text(&simulations::flows(read(asked)?, stop)?),
        "frames" => text(&simulations::frames(read(asked)?, stop)?),
        "messages" => text(&simulations::messages(read(asked)?, stop)?),
        "nic" => text(&rates::nic(&read(asked)?)?),
        "own" => text(&own::own(&read(asked)?)?),
        "pio" => text(&messages::messages(&read(asked)?)?),
        "plan" => text(&plan::plan(&read(asked)?)),
        "point" => text(&point::drawn(&point::record(read(asked)?, stop)?)),
        "published" => text(&published::published()),
        "record" => text(&point::record(read(asked)?, stop)?),
        "take-out" => text(&take_out::take_out(&read(asked)?)?),
        "why" => text(&why::why(read(asked)?, stop)?),
        "why-nic" => text(&nics::why(&read(asked)?, stop)?),
        _ => Err(Refusal::of("request", name, format!("give one of {}", NAMES.join(", ")))),
    }
}

fn read<T: DeserializeOwned>(asked: &str) -> Result<T, Refusal> {
    // Parse to a value first, so that text that is not JSON gets a message of its own.
    let value: Value = serde_json::from_str(asked)
        .map_err(|error| Refusal::new(format!("the request is not JSON: {error}")).kind(Kind::Malformed))?;
    serde_path_to_error::deserialize(value)
        .map_err(|error| Refusal::new(error.inner()).kind(Kind::Malformed).key(error.path().to_string()))
}

fn text(answer: &impl Serialize) -> Result<String, Refusal> {
    serde_json::to_string(answer).map_err(Refusal::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_requests_and_bad_texts_are_refused() {
        assert!(ask("no", "{}").unwrap_err().to_string().contains("give one of accesses, answer, change"));
        assert!(ask("plan", "{").unwrap_err().to_string().contains("not JSON"));
        assert!(ask("plan", "{\"size\": -1}").unwrap_err().to_string().starts_with("size: "));
        for name in NAMES.into_iter().filter(|name| *name != "published") {
            assert!(ask(name, "[[]]").is_err(), "{name}");
        }
    }
}
