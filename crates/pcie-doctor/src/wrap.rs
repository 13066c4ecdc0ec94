//! Wrap texts at spaces.

const TAB: usize = 8;

/// The lines of a text, the first after `head` and the others after `indent`; longer words are kept whole.
pub(crate) fn wrap(text: &str, width: usize, head: &str, indent: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::from(head);
    let mut letters = 0;
    let mut room = width.saturating_sub(head.chars().count());
    let mut spaces = 0;
    for word in pieces(&expanded(text)) {
        let length = word.chars().count();
        if word.starts_with(is_space) {
            // Spaces at the start of the first line stay; elsewhere they count only between two words of a line.
            spaces = if letters == 0 && !lines.is_empty() { 0 } else { length };
            continue;
        }
        if letters > 0 && letters + spaces + length > room {
            lines.push(std::mem::replace(&mut line, indent.to_owned()));
            room = width.saturating_sub(indent.chars().count());
            (letters, spaces) = (0, 0);
        }
        line.extend(std::iter::repeat_n(' ', spaces));
        line.push_str(word);
        letters += spaces + length;
        spaces = 0;
    }
    if letters > 0 {
        lines.push(line);
    }
    lines
}

fn is_space(letter: char) -> bool {
    matches!(letter, '\t' | '\n' | '\x0b' | '\x0c' | '\r' | ' ')
}

/// Words and the spaces between them.
fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|letter| is_space(letter) != is_space(first)).unwrap_or(rest.len());
        let (piece, left) = rest.split_at(end);
        rest = left;
        Some(piece)
    })
}

/// The text with spaces up to the next column of eight in place of tabs.
fn expanded(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let mut column = 0;
    for letter in text.chars() {
        match letter {
            '\t' => {
                let spaces = TAB - column % TAB;
                found.extend(std::iter::repeat_n(' ', spaces));
                column += spaces;
            }
            '\n' | '\r' => {
                found.push(letter);
                column = 0;
            }
            _ => {
                found.push(letter);
                column += 1;
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_as_many_words_as_fit() {
        let text = "one two  three four-and-a-half";
        assert_eq!(wrap(text, 12, "- ", "  "), ["- one two", "  three", "  four-and-a-half"]);
        assert_eq!(wrap("", 12, "- ", "  "), Vec::<String>::new());
        assert_eq!(wrap("a\tb", 80, "", ""), ["a       b"]);
    }
}
