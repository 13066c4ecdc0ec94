//! Numbers and lists in sentences.

use pcie_refusal::numbers::{general, significant};
use pcie_refusal::{Kind, Refusal};

/// Most words of a sentence.
pub const WORDS_MOST: usize = 25;
/// Range of a measured value: Gb/s, or ns, of which the highest is a second.
pub const MEASURED_RANGE: (f64, f64) = (1e-6, 1e9);

/// Refuses an impossible measured value that somebody gives; a stored one may be 0.
///
/// # Errors
/// It is outside [`MEASURED_RANGE`].
pub fn check_measured(value: f64) -> Result<(), Refusal> {
    let (least, most) = MEASURED_RANGE;
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let range = format!("from {} to {}", general(least), general(most));
    let remedy = format!("give a value above 0, {range}, in Gb/s, or in ns for a test of latency");
    // As Python writes it: `nan`.
    let given = general(value).to_lowercase();
    Err(Refusal::new(remedy).kind(Kind::OutOfRange).about(format!("--measured {given}")))
}

/// A value with three digits or more: `0.0839`, `6.81`, `39.1`, `1430`.
pub(crate) fn digits(value: f64) -> String {
    if value >= 100.0 || value == 0.0 {
        format!("{value:.0}")
    } else if value >= 10.0 {
        format!("{value:.1}")
    } else if value >= 1.0 {
        format!("{value:.2}")
    } else {
        significant(value, 3)
    }
}

/// A gain: `+18 %`, or `+0.8 %` where it is small.
#[must_use]
pub fn percent_text(percent: f64) -> String {
    if percent.abs() >= 1.0 { format!("{percent:+.0} %") } else { format!("{percent:+.1} %") }
}

/// Some of all: `3 of 5 rates`, `the only rate`.
pub(crate) fn counted(some: usize, of: usize, one: &str, many: &str) -> String {
    if of > 1 { format!("{some} of {of} {many}") } else { format!("the only {one}") }
}

/// Words with commas, and a conjunction before the last.
pub(crate) fn listed(words: &[impl AsRef<str>], conjunction: &str) -> String {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    match words.as_slice() {
        [] => "nothing".to_owned(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} {conjunction} {last}", most.join(", ")),
    }
}

/// The text with a capital first letter.
pub(crate) fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// How many words and numbers a sentence has; arrows and units of one sign are none.
#[must_use]
pub fn words_in(sentence: &str) -> usize {
    sentence.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_three_digits_or_more() {
        let known = [
            (1430.4, "1430"),
            (39.06, "39.1"),
            (6.814, "6.81"),
            (0.083_94, "0.0839"),
            (0.5, "0.5"),
            (0.0, "0"),
            (0.000_012_34, "1.23e-05"),
        ];
        for (value, text) in known {
            assert_eq!(digits(value), text);
        }
        assert_eq!((percent_text(17.6), percent_text(-0.84)), ("+18 %".to_owned(), "-0.8 %".to_owned()));
    }

    #[test]
    fn lists_have_commas_and_a_conjunction() {
        assert_eq!(listed(&["a"; 0], "and"), "nothing");
        assert_eq!(listed(&["a"], "or"), "a");
        assert_eq!(listed(&["a", "b", "c"], "or"), "a, b or c");
        assert_eq!(
            (counted(3, 5, "rate", "rates"), counted(1, 1, "rate", "rates")),
            ("3 of 5 rates".into(), "the only rate".into())
        );
    }

    #[test]
    fn arrows_and_signs_are_no_words() {
        assert_eq!(words_in("link.tags 32 -> 64 (+18 %), too"), 5);
        assert_eq!(capital("the value"), "The value");
    }
}
