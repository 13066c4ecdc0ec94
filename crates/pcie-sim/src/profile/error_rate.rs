//! How often what a link carries arrives damaged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Flits that a receiver cannot correct, in the design of PCIe 6.0: with one bit in 10^6 wrong before the correction,
/// one flit in 200,000 is sent again (D. Das Sharma, "PCI Express 6.0 Specification: A Low-Latency, High-Bandwidth,
/// High-Reliability, and Cost-Effective Interconnect", 2022; recalled, not opened).
const DESIGNED_FLIT_ERROR_RATE: f64 = 5e-6;

/// The probability that a flit arrives damaged beyond correction, from 0 to 0.5.
///
/// In JSON, a number or the word `specification`, for the rate that PCIe 6.0 is designed for.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ErrorRate {
    /// A number.
    Number(f64),
    /// The design's.
    Specification(Specification),
}

/// The word `specification`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Specification {
    /// `specification`.
    Specification,
}

impl ErrorRate {
    /// The probability.
    #[must_use]
    pub fn probability(self) -> f64 {
        match self {
            Self::Number(probability) => probability,
            Self::Specification(_) => DESIGNED_FLIT_ERROR_RATE,
        }
    }
}

impl fmt::Display for ErrorRate {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(probability) => probability.fmt(formatter),
            Self::Specification(_) => formatter.write_str("specification"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_or_the_word() {
        let read = |text| serde_json::from_str::<ErrorRate>(text).ok().map(ErrorRate::probability);
        assert_eq!((read("0.001"), read("\"specification\"")), (Some(1e-3), Some(5e-6)));
        assert_eq!((read("\"often\""), read("null")), (None, None));
        let word = ErrorRate::Specification(Specification::Specification);
        assert_eq!(serde_json::to_string(&word).unwrap(), "\"specification\"");
    }
}
