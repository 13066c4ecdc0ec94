//! Patterns that are compiled on first use.

use std::sync::LazyLock;

use regex::Regex;

/// A pattern of this crate.
pub(crate) type Pattern = LazyLock<Regex>;

/// Compiles a pattern.
#[expect(clippy::expect_used, reason = "patterns are literals of this crate, and a test uses each")]
pub(crate) fn compiled(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a literal pattern is valid")
}

/// The pattern of a slot in lower case, with or without its domain.
pub(crate) const SLOT: &str = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]";

/// What the first group of a pattern matches.
pub(crate) fn first_group<'a>(pattern: &Regex, text: &'a str) -> Option<&'a str> {
    Some(pattern.captures(text)?.get(1)?.as_str())
}
