//! Flow-control credits as a receiver advertises them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A number of credits, or no limit: the link never makes a sender wait. Posted writes do wait while the
/// receiver's buffer is full, see [`Credits::held_headers`].
///
/// In JSON, a number or the word `infinite`. Registers encode no limit as 0 (PCI Express Base Specification,
/// section 2.6.1), and tools that read them as all ones; neither is a valid number here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Credits {
    /// A limited number.
    Count(u32),
    /// No limit.
    Infinite(Infinite),
}

/// The word `infinite`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Infinite {
    /// `infinite`.
    Infinite,
}

impl Credits {
    /// No limit.
    pub const INFINITE: Self = Self::Infinite(Infinite::Infinite);

    /// The number; `None` without a limit.
    #[must_use]
    pub fn count(self) -> Option<u32> {
        match self {
            Self::Count(count) => Some(count),
            Self::Infinite(_) => None,
        }
    }

    /// Header credits of posted writes in use at most: a receiver that advertises no limit still has a finite
    /// buffer. It is taken to be as large as scaled flow control can count, 16 times 127 headers (PCI Express
    /// Base Specification, section 3.4.2).
    #[must_use]
    pub fn held_headers(self) -> u32 {
        const SCALED_HEADERS_MOST: u32 = 16 * 127;
        self.count().unwrap_or(SCALED_HEADERS_MOST)
    }

    /// The number, or `u32::MAX` without a limit.
    #[must_use]
    pub fn at_most(self) -> u32 {
        self.count().unwrap_or(u32::MAX)
    }
}

impl fmt::Display for Credits {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(formatter),
            Self::Infinite(_) => formatter.write_str("infinite"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credits_are_a_number_or_the_word() {
        let read = |text| serde_json::from_str::<Credits>(text).ok();
        assert_eq!(read("127"), Some(Credits::Count(127)));
        assert_eq!(read("\"infinite\""), Some(Credits::INFINITE));
        assert_eq!((read("-1"), read("\"many\""), read("null")), (None, None, None));
        assert_eq!(
            serde_json::to_string(&[Credits::Count(4), Credits::INFINITE]).unwrap(),
            "[4,\"infinite\"]"
        );
    }
}
