//! Texts in messages: short, without control characters.

use std::borrow::Cow;

use crate::alike::LETTERS_MOST;

/// Letters that a message shows of each of its parts.
const PART_LETTERS_MOST: usize = 1_000;

/// A key or name in a message: unchanged if it is printable and short, else as [`quoted`].
#[must_use]
pub fn named(key: &str) -> String {
    let is_plain = key.chars().all(is_printable) && key.chars().count() <= LETTERS_MOST;
    if is_plain { key.to_owned() } else { quoted(key) }
}

/// A part of a message: its lines, with other control characters escaped, without its middle if it is long.
///
/// Parts quote what a file holds: names, unknown keys, values of another type.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    let is_long = text.len() > PART_LETTERS_MOST && text.chars().count() > PART_LETTERS_MOST;
    if !is_long && text.chars().all(is_shown) {
        return Cow::Borrowed(text);
    }
    if !is_long {
        return Cow::Owned(text.chars().map(|letter| shown_letter(&letter)).collect());
    }
    let half = PART_LETTERS_MOST / 2;
    let first: String = text.chars().take(half).map(|letter| shown_letter(&letter)).collect();
    let last: Vec<char> = text.chars().rev().take(half).collect();
    let last: String = last.iter().rev().map(shown_letter).collect();
    Cow::Owned(format!("{first}...{last}"))
}

fn shown_letter(letter: &char) -> String {
    if is_shown(*letter) { letter.to_string() } else { letter.escape_debug().to_string() }
}

/// Whether a letter may be within a message; accents stand on the letter before them.
fn is_shown(letter: char) -> bool {
    letter == '\n' || is_printable(letter) || String::from_iter(['a', letter]).escape_debug().count() == 2
}

/// Whether a name or title can be printed as it is, on one line.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    text.chars().all(|letter| letter != '\n' && is_shown(letter))
}

/// A text in quotes, without its middle if it is long; control characters are escaped.
#[must_use]
pub fn quoted(text: &str) -> String {
    let letters: Vec<char> = text.chars().take(LETTERS_MOST * 2).collect();
    let escaped: String = letters.iter().map(escape).collect();
    if escaped.len() + 2 <= LETTERS_MOST && letters.len() <= LETTERS_MOST {
        return format!("'{escaped}'");
    }
    let half = (LETTERS_MOST - 3) / 2;
    let first: String = text.chars().take(half).map(|letter| escape(&letter)).collect();
    let last: Vec<char> = text.chars().rev().take(half).collect();
    let last: String = last.iter().rev().map(escape).collect();
    format!("'{first}...{last}'")
}

fn escape(letter: &char) -> String {
    if is_printable(*letter) && *letter != '\'' && *letter != '\\' {
        letter.to_string()
    } else {
        letter.escape_debug().to_string()
    }
}

fn is_printable(letter: char) -> bool {
    matches!(letter, '\'' | '"' | '\\') || letter.escape_debug().count() == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_messages_keep_their_lines_and_escape_what_a_terminal_obeys() {
        for plain in ["/home/you/a.toml", "line 1\n  line 2", "e\u{301}té", "'a' \"b\" \\n", ""] {
            assert_eq!(printable(plain), plain);
        }
        assert_eq!(printable("a\u{1b}[2J\u{202e}\r"), "a\\u{1b}[2J\\u{202e}\\r");
        let long = printable(&format!("{}\u{7f}", "é".repeat(5_000))).into_owned();
        assert!(long.starts_with("éé") && long.contains("é...é") && long.ends_with("é\\u{7f}"), "{long}");
        assert_eq!(printable(&"x".repeat(1_000)), "x".repeat(1_000));
    }

    #[test]
    fn a_plain_text_is_on_one_line() {
        assert!(is_plain("a title, é and e\u{301}") && !is_plain("a\nb") && !is_plain("a\u{202e}b"));
    }

    #[test]
    fn plain_names_stay_and_others_are_quoted() {
        assert_eq!(named("host.llc"), "host.llc");
        assert_eq!(named("a\u{1b}]0;b"), "'a\\u{1b}]0;b'");
        assert_eq!(named("a\u{202e}b"), "'a\\u{202e}b'");
        let long = quoted(&"x".repeat(1000));
        assert!(long.contains("...") && long.len() <= LETTERS_MOST + 2, "{long}");
    }
}
