//! Texts in messages: on one line, short, without control characters.

use crate::alike::LETTERS_MOST;

/// A key or name in a message: unchanged if it is printable and short, else as [`quoted`].
#[must_use]
pub fn named(key: &str) -> String {
    let is_plain = key.chars().all(is_printable) && key.chars().count() <= LETTERS_MOST;
    if is_plain { key.to_owned() } else { quoted(key) }
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
    fn plain_names_stay_and_others_are_quoted() {
        assert_eq!(named("host.llc"), "host.llc");
        assert_eq!(named("a\u{1b}]0;b"), "'a\\u{1b}]0;b'");
        assert_eq!(named("a\u{202e}b"), "'a\\u{202e}b'");
        let long = quoted(&"x".repeat(1000));
        assert!(long.contains("...") && long.len() <= LETTERS_MOST + 2, "{long}");
    }
}
