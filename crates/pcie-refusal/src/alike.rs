//! Known words that resemble an unknown one: those with its parts first, then those with its letters.
//!
//! The parts of `bw-read` are `bw` and `read`. A part matches one of a known word that is equal, that begins with
//! it, or that abbreviates it: `read` matches `rd`. Units match nothing, because half of all keys end in `_ns`.

use std::collections::HashSet;

/// Longer words are never compared with known ones.
pub const LETTERS_MOST: usize = 80;
/// Further known words are not compared with an unknown one: that would take seconds.
const WORDS_MOST: usize = 10_000;
/// Units, as last parts of keys.
pub const UNITS: [&str; 14] =
    ["ps", "ns", "us", "ms", "s", "bits", "b", "bytes", "kb", "kib", "mb", "mib", "gb", "gib"];
/// Share of common letters from which a word is a known one with a typing error.
const MISTYPED: f64 = 0.8;
/// Share of common letters from which a word without common parts is offered.
const CLOSE: f64 = 0.55;
const PART_LETTERS_LEAST: usize = 2;

/// The known words that resemble an unknown one, the closest first, `most` of them; empty if there are none.
#[must_use]
pub fn alike<'a>(word: &str, known: &[&'a str], most: usize) -> Vec<&'a str> {
    if is_long(word) {
        return Vec::new();
    }
    let mut seen = HashSet::new();
    let compared = known.iter().filter(|choice| !is_long(choice) && seen.insert(**choice)).take(WORDS_MOST);
    let mut by_letters: Vec<(f64, &str)> = compared.map(|choice| (likeness(word, choice), *choice)).collect();
    by_letters.sort_by(|one, other| other.0.total_cmp(&one.0));
    let best = by_letters.first().map_or(0.0, |(share, _)| *share);
    if best >= MISTYPED {
        let equal = by_letters.iter().take_while(|(share, _)| *share >= best);
        return equal.map(|(_, choice)| *choice).take(most).collect();
    }
    let sorted: Vec<&str> = by_letters.iter().map(|(_, choice)| *choice).collect();
    let found = with_parts(word, &sorted);
    if found.is_empty() && best >= CLOSE {
        return sorted.into_iter().take(1).collect();
    }
    found.into_iter().take(most).collect()
}

/// Known words that have all parts of `word`, in their order; abbreviations count if nothing else matches.
#[must_use]
pub fn with_parts<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let parts = parts(word);
    if is_long(word) || parts.is_empty() {
        return Vec::new();
    }
    let having = |matches: Matches| -> Vec<&'a str> {
        known.iter().copied().filter(|choice| matching(&parts, choice, matches) == parts.len()).collect()
    };
    let found = having(begins);
    if found.is_empty() { having(resembles) } else { found }
}

/// All known words, those with most parts of `word` first, otherwise in their order.
#[must_use]
pub fn parts_first<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let parts = if is_long(word) { Vec::new() } else { parts(word) };
    let mut sorted = known.to_vec();
    sorted.sort_by_cached_key(|choice| std::cmp::Reverse(matching(&parts, choice, resembles)));
    sorted
}

/// The known words that have the most parts of `word`, `most` of them; empty if none has any.
#[must_use]
pub fn with_most_parts<'a>(word: &str, known: &[&'a str], most: usize) -> Vec<&'a str> {
    let parts = if is_long(word) { Vec::new() } else { parts(word) };
    let counts: Vec<(usize, &str)> =
        known.iter().map(|choice| (matching(&parts, choice, begins), *choice)).collect();
    let best = counts.iter().map(|(count, _)| *count).max().unwrap_or(0);
    let found = counts.into_iter().filter(|(count, _)| best > 0 && *count == best);
    found.map(|(_, choice)| choice).take(most).collect()
}

/// Words as alternatives: `a`, `a or b`, `a, b or c`.
#[must_use]
pub fn either(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} or {last}", before.join(", ")),
    }
}

type Matches = fn(&str, &str) -> bool;

fn is_long(word: &str) -> bool {
    word.chars().count() > LETTERS_MOST
}

/// Share of common letters: twice the letters in common runs, the longest runs first, over all letters.
fn likeness(word: &str, choice: &str) -> f64 {
    let (one, other): (Vec<char>, Vec<char>) = (choice.chars().collect(), word.chars().collect());
    let letters = one.len() + other.len();
    if letters == 0 { 1.0 } else { 2.0 * common(&one, &other) as f64 / letters as f64 }
}

/// Letters in the longest common run, and in those on both sides of it.
fn common(one: &[char], other: &[char]) -> usize {
    let (at, of, length) = longest_run(one, other);
    if length == 0 {
        return 0;
    }
    length + common(&one[..at], &other[..of]) + common(&one[at + length..], &other[of + length..])
}

/// Starts and length of the first longest common run.
fn longest_run(one: &[char], other: &[char]) -> (usize, usize, usize) {
    let mut best = (0, 0, 0);
    let mut before = vec![0; other.len() + 1];
    for (at, letter) in one.iter().enumerate() {
        let mut runs = vec![0; other.len() + 1];
        for (of, candidate) in other.iter().enumerate() {
            if letter == candidate {
                let length = before[of] + 1;
                runs[of + 1] = length;
                if length > best.2 {
                    best = (at + 1 - length, of + 1 - length, length);
                }
            }
        }
        before = runs;
    }
    best
}

/// Runs of letters or of digits, in lower case, without units.
fn parts(word: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut last = ' ';
    for letter in word.to_lowercase().chars() {
        let is_part = letter.is_ascii_lowercase() || letter.is_ascii_digit();
        let goes_on =
            is_part && last.is_ascii_alphanumeric() && last.is_ascii_digit() == letter.is_ascii_digit();
        match found.last_mut() {
            Some(part) if goes_on => part.push(letter),
            _ if is_part => found.push(letter.into()),
            _ => {}
        }
        last = letter;
    }
    found.retain(|part| !UNITS.contains(&part.as_str()));
    found
}

/// The number of parts that match one of a known word.
fn matching(wanted: &[String], choice: &str, matches: Matches) -> usize {
    let known = parts(choice);
    wanted.iter().filter(|part| known.iter().any(|other| matches(part, other))).count()
}

fn begins(part: &str, known: &str) -> bool {
    part == known || (part.len() >= PART_LETTERS_LEAST && known.starts_with(part))
}

fn resembles(part: &str, known: &str) -> bool {
    begins(part, known) || (known.len() >= PART_LETTERS_LEAST && abbreviates(known, part))
}

/// Whether `short` has letters of `long` in order, with the same first one: `rd` of `read`.
fn abbreviates(short: &str, long: &str) -> bool {
    let mut letters = long.chars();
    short.chars().next() == long.chars().next()
        && short.len() < long.len()
        && short.chars().all(char::is_alphabetic)
        && short.chars().all(|one| letters.any(|letter| letter == one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_word_is_found_by_its_letters_and_a_short_one_by_its_parts() {
        let known = ["walk_ns", "walk_region_bytes", "read_ns", "bw-rd", "bw-wr"];
        assert_eq!(alike("wlak_ns", &known, 3), ["walk_ns"]);
        assert_eq!(alike("walk", &known, 3), ["walk_ns", "walk_region_bytes"]);
        assert_eq!(alike("bw-read", &known, 3), ["bw-rd"]);
        assert!(alike("zzz", &known, 3).is_empty());
        assert!(alike(&"walk".repeat(40), &known, 3).is_empty());
    }

    #[test]
    fn likeness_counts_letters_of_common_runs() {
        assert_eq!(likeness("abcd", "bcde"), 0.75);
        assert_eq!(likeness("wlak_ns", "walk_ns"), 12.0 / 14.0);
        assert_eq!((likeness("", ""), likeness("a", "b")), (1.0, 0.0));
    }

    #[test]
    fn parts_are_runs_of_letters_and_digits_without_units() {
        assert_eq!(parts("Gen4x16 walk_ns"), ["gen", "4", "x", "16", "walk"]);
        assert_eq!(
            with_most_parts("walk_tags", &["link.tags", "host.walk", "name"], 3),
            ["link.tags", "host.walk"]
        );
        assert_eq!(parts_first("tags", &["name", "link.tags"]), ["link.tags", "name"]);
    }

    #[test]
    fn alternatives_are_words_with_or() {
        assert_eq!(
            (either(&[]), either(&["a"]), either(&["a", "b", "c"])),
            (String::new(), "a".into(), "a, b or c".into())
        );
    }

    #[test]
    fn few_of_many_known_words_are_compared_each_once() {
        let known = ["walk_ms"; 3];
        assert_eq!(alike("walk_ns", &known, 3), ["walk_ms"]);
        let many: Vec<String> = (0..WORDS_MOST).map(|number| format!("{number:x}")).collect();
        let mut many: Vec<&str> = many.iter().map(String::as_str).collect();
        many.push("tags");
        assert!(alike("tagz", &many, 1).is_empty());
        many.swap_remove(0);
        assert_eq!(alike("tagz", &many, 1), ["tags"]);
        let long = "walk".repeat(40);
        assert!(alike("walk", &[&long], 1).is_empty());
    }
}
