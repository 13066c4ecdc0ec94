//! Blanks, tabs and unprintable letters of foreign texts.

use std::borrow::Cow;

use pcie_refusal::shown::is_plain;

const TAB_LETTERS: usize = 8;
/// Blanks that move a terminal's cursor or are control characters.
const TERMINAL_BLANKS: [char; 8] = ['\u{b}', '\u{c}', '\r', '\u{1c}', '\u{1d}', '\u{1e}', '\u{1f}', '\u{85}'];
/// What ends a line in a text of any origin.
const LINE_ENDS: [char; 10] =
    ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}', '\u{2028}', '\u{2029}'];

/// Whether a letter is a blank; the separators of ASCII are.
pub(crate) fn is_space(letter: char) -> bool {
    letter.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&letter)
}

/// The text without blanks around it.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(is_space)
}

/// Whether a text has blanks only.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(is_space)
}

/// A line with spaces for tabs, up to the next column that eight divides.
pub(crate) fn expand_tabs(line: &str) -> Cow<'_, str> {
    if !line.contains('\t') {
        return Cow::Borrowed(line);
    }
    let (mut expanded, mut column) = (String::with_capacity(line.len() + TAB_LETTERS), 0);
    for letter in line.chars() {
        match letter {
            '\t' => {
                let width = TAB_LETTERS - column % TAB_LETTERS;
                expanded.extend(std::iter::repeat_n(' ', width));
                column += width;
            }
            '\r' => {
                expanded.push(letter);
                column = 0;
            }
            _ => {
                expanded.push(letter);
                column += 1;
            }
        }
    }
    Cow::Owned(expanded)
}

/// A text that is safe on a terminal: blanks of any kind become spaces, other unprintable letters `?`.
pub(crate) fn printable(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let safe = |letter: char| {
        if is_plain(letter.encode_utf8(&mut [0; 4])) {
            letter
        } else if is_space(letter) && !TERMINAL_BLANKS.contains(&letter) {
            ' '
        } else {
            '?'
        }
    };
    Cow::Owned(text.chars().map(safe).collect())
}

/// The number of lines of a text; the end of the last one is not the start of another.
pub(crate) fn line_count(text: &str) -> usize {
    let (mut count, mut last) = (0, '\n');
    for letter in text.chars() {
        if LINE_ENDS.contains(&letter) && !(last == '\r' && letter == '\n') {
            count += 1;
        }
        last = letter;
    }
    count + usize::from(!text.is_empty() && !LINE_ENDS.contains(&last))
}

/// The first letters of a text.
pub(crate) fn first_letters(text: &str, most: usize) -> &str {
    text.char_indices().nth(most).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tabs_end_at_columns_of_eight() {
        assert_eq!(expand_tabs("\tab\tc"), "        ab      c");
        assert_eq!(expand_tabs("é\tc"), "é       c");
        assert_eq!(expand_tabs("no tab"), "no tab");
    }

    #[test]
    fn unprintable_letters_are_replaced() {
        assert_eq!(printable("a\tb\u{1b}[2J\u{202e}\rc"), "a b?[2J??c");
        assert_eq!(printable("é and e\u{301}"), "é and e\u{301}");
    }

    #[test]
    fn lines_are_counted_without_an_empty_last_one() {
        assert_eq!(
            (line_count(""), line_count("a"), line_count("a\n"), line_count("a\r\nb\n\n")),
            (0, 1, 1, 3)
        );
    }

    #[test]
    fn first_letters_are_whole() {
        assert_eq!((first_letters("aéb", 2), first_letters("ab", 2), first_letters("", 1)), ("aé", "ab", ""));
    }
}
