//! Refusals: every crate's error for wrong input, in parts: subject, key, value, problem and remedy.
//!
//! The message is rendered from the parts in one order, so Python and the static runner show the same text,
//! and a command line can name an option instead of a key. Failures on good input have other types.

pub mod alike;
mod kind;
pub mod numbers;
pub mod shown;
pub mod unknown;

use std::fmt;
use std::ops::{Deref, RangeInclusive};

pub use kind::Kind;

/// The parts of a refusal; unknown ones are None.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// What is wrong, for programs.
    pub kind: Kind,
    /// The input: a file, a suite's test, a flow.
    pub subject: Option<String>,
    /// The key, dotted for tables in the subject.
    pub key: Option<String>,
    /// The given value, as text.
    pub value: Option<String>,
    /// The problem, where key and value do not show it.
    pub problem: Option<String>,
    /// The remedy, as an imperative.
    pub remedy: Option<String>,
    /// Another key that problem and remedy name.
    pub beside: Option<String>,
    /// The message after the subject, where it is not made of key, value, problem and remedy.
    pub wording: Option<String>,
}

/// Why an input is refused. Its text: `subject: key is value: problem: remedy`, without unknown parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal(Box<Parts>);

impl Refusal {
    /// An invalid value and the remedy.
    #[must_use]
    pub fn of(key: impl Into<String>, value: impl fmt::Display, remedy: impl Into<String>) -> Self {
        let (key, value, remedy) = (Some(key.into()), Some(value.to_string()), Some(remedy.into()));
        Self(Box::new(Parts { kind: Kind::WrongValue, key, value, remedy, ..Parts::default() }))
    }

    /// A problem without a single wrong value: a conflict, unless [`Refusal::kind`] says otherwise.
    #[must_use]
    pub fn new(problem: impl fmt::Display) -> Self {
        Self(Box::new(Parts { problem: Some(problem.to_string()), ..Parts::default() }))
    }

    /// A problem in words of its own; key, value and remedy are set for callers.
    #[must_use]
    pub fn worded(wording: impl Into<String>) -> Self {
        Self(Box::new(Parts { wording: Some(wording.into()), ..Parts::default() }))
    }

    /// Sets the kind.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Names the input, in front of a subject that is part of it.
    #[must_use]
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        let outer = subject.into();
        self.0.subject = Some(match self.0.subject.take() {
            Some(inner) => format!("{outer}: {inner}"),
            None => outer,
        });
        self
    }

    /// Sets the key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.key = Some(key.into());
        self
    }

    /// Sets the value.
    #[must_use]
    pub fn value(mut self, value: Option<String>) -> Self {
        self.0.value = value;
        self
    }

    /// Sets the problem.
    #[must_use]
    pub fn problem(mut self, problem: impl Into<String>) -> Self {
        self.0.problem = Some(problem.into());
        self
    }

    /// Sets the remedy.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// Sets the other key that the message names.
    #[must_use]
    pub fn beside(mut self, key: impl Into<String>) -> Self {
        self.0.beside = Some(key.into());
        self
    }

    /// Prefixes the key with `part`, the table that holds it.
    #[must_use]
    pub fn below(mut self, part: &str) -> Self {
        self.0.key = Some(match self.0.key.take() {
            Some(key) => format!("{part}.{key}"),
            None => part.to_owned(),
        });
        self
    }

    /// Its parts, for a message of another form.
    #[must_use]
    pub fn into_parts(self) -> Parts {
        *self.0
    }
}

/// Refuses a value outside a range; NaN is outside.
pub fn in_range<T: PartialOrd + fmt::Display>(
    key: &str,
    value: T,
    range: RangeInclusive<T>,
    remedy: &str,
) -> Result<(), Refusal> {
    if range.contains(&value) { Ok(()) } else { Err(Refusal::of(key, value, remedy).kind(Kind::OutOfRange)) }
}

impl Deref for Refusal {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(wording) = &self.0.wording {
            let lines: Vec<_> = wording.split('\n').map(shown::printable).collect();
            let subject = self.0.subject.as_ref().map(|subject| format!("{}: ", shown::printable(subject)));
            return write!(to, "{}{}", subject.unwrap_or_default(), lines.join("\n"));
        }
        let setting = match (&self.0.key, &self.0.value) {
            (Some(key), Some(value)) => Some(format!("{key} is {value}")),
            (key, value) => key.clone().or_else(|| value.clone()),
        };
        let parts =
            [self.0.subject.as_ref(), setting.as_ref(), self.0.problem.as_ref(), self.0.remedy.as_ref()];
        let known: Vec<_> = parts.into_iter().flatten().map(|part| shown::printable(part)).collect();
        to.write_str(&known.join(": "))
    }
}

impl std::error::Error for Refusal {}

/// Why work on an input has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// The input is wrong.
    Refused(Refusal),
    /// The caller asked it to stop.
    Stopped,
}

impl Unfinished {
    /// A refusal with the input that it is about in front; a stop stays one.
    #[must_use]
    pub fn about(self, subject: &str) -> Self {
        match self {
            Self::Refused(refusal) => refusal.about(subject).into(),
            Self::Stopped => Self::Stopped,
        }
    }
}

impl From<Refusal> for Unfinished {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl fmt::Display for Unfinished {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => refusal.fmt(to),
            Self::Stopped => to.write_str("stopped before it was complete"),
        }
    }
}

impl std::error::Error for Unfinished {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_words_of_their_own() {
        let words: std::collections::HashSet<_> = Kind::ALL.map(Kind::word).into_iter().collect();
        assert_eq!(words.len(), Kind::ALL.len());
        let known = |refusal: Refusal| refusal.kind.word();
        assert_eq!(known(Refusal::of("lanes", 3, "give 1")), "wrong-value");
        assert_eq!(known(Refusal::new("two roots").about("fabric")), "conflict");
        assert_eq!(known(Refusal::new("no such node").kind(Kind::NotFound).below("link")), "not-found");
        assert_eq!(known(in_range("share", 2.0, 0.0..=1.0, "give 0 to 1").unwrap_err()), "out-of-range");
    }

    #[test]
    fn text_has_the_known_parts_in_order() {
        let lanes = Refusal::of("lanes", 3, "give 1, 2 or 4");
        assert_eq!(lanes.to_string(), "lanes is 3: give 1, 2 or 4");
        let whole = lanes.problem("no link has as many").about("profile mine");
        assert_eq!(whole.to_string(), "profile mine: lanes is 3: no link has as many: give 1, 2 or 4");
        let tags =
            Refusal::new("needs round_trip_ns").key("tags").beside("round_trip_ns").remedy("give both");
        assert_eq!(tags.to_string(), "tags: needs round_trip_ns: give both");
        assert_eq!(Refusal::new("two roots").to_string(), "two roots");
    }

    #[test]
    fn a_wording_of_its_own_follows_the_subject_and_keeps_its_lines() {
        let refusal = Refusal::worded("2 problems\n  a\u{7f}\n  b").key("a").value(Some("3".into()));
        let refusal = refusal.remedy("give 1").about("mine.toml");
        assert_eq!(refusal.to_string(), "mine.toml: 2 problems\n  a\\u{7f}\n  b");
        assert_eq!((refusal.key.as_deref(), refusal.value.as_deref()), (Some("a"), Some("3")));
    }

    #[test]
    fn ranges_include_both_ends() {
        let share =
            |value: f64| in_range("share", value, 0.0..=1.0, "give 0 to 1").map_err(|no| no.to_string());
        assert_eq!((share(0.0), share(1.0)), (Ok(()), Ok(())));
        assert_eq!(share(1.5), Err("share is 1.5: give 0 to 1".to_owned()));
        assert_eq!(share(f64::NAN), Err("share is NaN: give 0 to 1".to_owned()));
    }

    #[test]
    fn outer_parts_precede_subject_and_key() {
        let inner = Refusal::of("lanes", 3, "give 1").about("link A-B").below("link");
        let outer = inner.about("fabric mine").below("host");
        assert_eq!(outer.to_string(), "fabric mine: link A-B: host.link.lanes is 3: give 1");
        assert_eq!((outer.value.as_deref(), outer.remedy.as_deref()), (Some("3"), Some("give 1")));
        assert_eq!(Refusal::new("is missing").below("link").key.as_deref(), Some("link"));
    }
}
