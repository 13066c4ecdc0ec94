//! Why an input is refused: where it is wrong, with which value, and what would be right, each a part of its own.
//!
//! Every crate refuses its input with a [`Refusal`], and the message is rendered from the parts in one order. Python and
//! the static runner therefore show the same words, and a command line can name the option where a library names the key.
//! It is not for work that fails on good input: such errors are types of the crate that does the work.

use std::fmt;
use std::ops::{Deref, RangeInclusive};

/// The parts of a refusal. A part that is not known is None.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// What the input is, such as a file, a suite's test or a flow.
    pub subject: Option<String>,
    /// The key, dotted where it is in a table of the subject.
    pub key: Option<String>,
    /// The value that was given, as text.
    pub value: Option<String>,
    /// What is wrong, where key and value do not show it.
    pub problem: Option<String>,
    /// What would be right, as an imperative.
    pub remedy: Option<String>,
    /// Another key that problem and remedy name.
    pub beside: Option<String>,
}

/// Why an input is refused. It reads as its [`Parts`], and its text is
/// `subject: key is value: problem: remedy` without the parts that are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal(Box<Parts>);

impl Refusal {
    /// A value that cannot be, and the remedy.
    #[must_use]
    pub fn of(key: impl Into<String>, value: impl fmt::Display, remedy: impl Into<String>) -> Self {
        let (key, value, remedy) = (Some(key.into()), Some(value.to_string()), Some(remedy.into()));
        Self(Box::new(Parts { key, value, remedy, ..Parts::default() }))
    }

    /// A problem that no single value makes.
    #[must_use]
    pub fn new(problem: impl fmt::Display) -> Self {
        Self(Box::new(Parts { problem: Some(problem.to_string()), ..Parts::default() }))
    }

    /// Name the input; in front of a subject that is known already, of which it is a part.
    #[must_use]
    pub fn about(mut self, subject: impl Into<String>) -> Self {
        let outer = subject.into();
        self.0.subject = Some(match self.0.subject.take() {
            Some(inner) => format!("{outer}: {inner}"),
            None => outer,
        });
        self
    }

    /// Name the key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.0.key = Some(key.into());
        self
    }

    /// Say what is wrong.
    #[must_use]
    pub fn problem(mut self, problem: impl Into<String>) -> Self {
        self.0.problem = Some(problem.into());
        self
    }

    /// Say what would be right.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// Name the other key that the message is about.
    #[must_use]
    pub fn beside(mut self, key: impl Into<String>) -> Self {
        self.0.beside = Some(key.into());
        self
    }

    /// The key as seen from a table that holds the refused part as `part`.
    #[must_use]
    pub fn below(mut self, part: &str) -> Self {
        self.0.key = Some(match self.0.key.take() {
            Some(key) => format!("{part}.{key}"),
            None => part.to_owned(),
        });
        self
    }

    /// Its parts, for a message in another language or of another form.
    #[must_use]
    pub fn into_parts(self) -> Parts {
        *self.0
    }
}

/// Refuses a value outside a range; a number that is none is outside.
///
/// # Errors
/// Key, value and remedy.
pub fn in_range<T: PartialOrd + fmt::Display>(
    key: &str,
    value: T,
    range: RangeInclusive<T>,
    remedy: &str,
) -> Result<(), Refusal> {
    if range.contains(&value) { Ok(()) } else { Err(Refusal::of(key, value, remedy)) }
}

impl Deref for Refusal {
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match (&self.0.key, &self.0.value) {
            (Some(key), Some(value)) => Some(format!("{key} is {value}")),
            (key, value) => key.clone().or_else(|| value.clone()),
        };
        let parts =
            [self.0.subject.as_ref(), place.as_ref(), self.0.problem.as_ref(), self.0.remedy.as_ref()];
        let known: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
        to.write_str(&known.join(": "))
    }
}

impl std::error::Error for Refusal {}

/// Why work on an input has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfinished {
    /// The input is wrong.
    Refused(Refusal),
    /// It was asked to stop.
    Stopped,
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
    fn the_text_has_the_known_parts_in_order() {
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
    fn a_range_has_both_its_ends() {
        let share =
            |value: f64| in_range("share", value, 0.0..=1.0, "give 0 to 1").map_err(|no| no.to_string());
        assert_eq!((share(0.0), share(1.0)), (Ok(()), Ok(())));
        assert_eq!(share(1.5), Err("share is 1.5: give 0 to 1".to_owned()));
        assert_eq!(share(f64::NAN), Err("share is NaN: give 0 to 1".to_owned()));
    }

    #[test]
    fn an_outer_part_leads_subject_and_key() {
        let inner = Refusal::of("lanes", 3, "give 1").about("link A-B").below("link");
        let outer = inner.about("fabric mine").below("host");
        assert_eq!(outer.to_string(), "fabric mine: link A-B: host.link.lanes is 3: give 1");
        assert_eq!((outer.value.as_deref(), outer.remedy.as_deref()), (Some("3"), Some("give 1")));
        assert_eq!(Refusal::new("is missing").below("link").key.as_deref(), Some("link"));
    }
}
