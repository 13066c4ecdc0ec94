//! Sizes and counts as people write them, and lists of them: `64`, `4K`, `4 MiB`, `1.5M`; `64:1500`, `64:4K:x2`, `60,61`.
//!
//! Prefixes of sizes are powers of 1024, with or without `B` or `iB` and in any case; those of counts are powers of
//! 1000.

use std::ops::RangeInclusive;

use pcie_refusal::alike::either;
use pcie_refusal::shown::quoted;
use pcie_refusal::{Kind, Refusal};

const DIGITS_MOST: usize = 24;
/// The largest size.
const BYTES_MOST: u64 = i64::MAX.unsigned_abs();
/// Most sizes of one list, with its ranges expanded.
const SIZES_MOST: usize = 100_000;
const RANGES: &str = "give first:last, first:last:step or first:last:xFACTOR, first <= last";

/// A size in bytes; None if it is not a whole number above 0.
#[must_use]
pub fn bytes_of_text(text: &str) -> Option<u128> {
    bytes(text).filter(|bytes| *bytes > 0)
}

/// A size in bytes, above 0.
///
/// # Errors
/// It is not a size, or above `i64::MAX`.
pub fn read_size(text: &str) -> Result<u64, Refusal> {
    let Some(bytes) = bytes_of_text(text) else {
        let problem = format!("{} is not a size", quoted(text));
        return Err(malformed(problem).remedy("give whole bytes above 0, for example 64, 4K or 1.5M"));
    };
    u64::try_from(bytes).ok().filter(|bytes| *bytes <= BYTES_MOST).ok_or_else(|| {
        Refusal::new(format!("{} is too large", quoted(text)))
            .kind(Kind::OutOfRange)
            .remedy(format!("give at most {BYTES_MOST} bytes"))
    })
}

/// A whole number from 0 of bytes (`4K` is 4096), or of anything else (`4k` is 4000).
///
/// # Errors
/// It is not a whole number.
pub fn read_whole(text: &str, in_bytes: bool) -> Result<u128, Refusal> {
    whole(text, in_bytes).ok_or_else(|| {
        let examples = if in_bytes { "64, 4K or 1.5M" } else { "64 or 1.5k" };
        not_whole(text, in_bytes, format!("give a whole number from 0, for example {examples}"))
    })
}

/// As [`read_whole`], within a range, which refusals name.
///
/// # Errors
/// It is not a whole number of the range.
pub fn read_whole_within(text: &str, in_bytes: bool, range: &RangeInclusive<u128>) -> Result<u128, Refusal> {
    let (least, most) = (range.start(), range.end());
    let allowed = format!("give {least} to {most}{}", if in_bytes { " bytes" } else { "" });
    match whole(text, in_bytes) {
        Some(number) if range.contains(&number) => Ok(number),
        Some(_) => {
            let problem = format!("{} is out of range", quoted(text));
            Err(Refusal::new(problem).kind(Kind::OutOfRange).remedy(allowed))
        }
        None => {
            let examples = if in_bytes { ["64", "4K"] } else { ["64", "1.5k"] };
            let fits = |text: &&str| whole(text, in_bytes).is_some_and(|number| range.contains(&number));
            let examples: Vec<&str> = examples.into_iter().filter(fits).collect();
            let shown = if examples.is_empty() { "" } else { ", for example " };
            Err(not_whole(text, in_bytes, format!("{allowed}{shown}{}", examples.join(" or "))))
        }
    }
}

/// As [`read_whole`]; the refusal of what is no number names the only values. Who uses another number refuses it.
///
/// # Errors
/// It is not a whole number.
pub fn read_whole_of(text: &str, in_bytes: bool, values: &[u128]) -> Result<u128, Refusal> {
    whole(text, in_bytes).ok_or_else(|| {
        let words: Vec<String> = values.iter().map(u128::to_string).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        not_whole(text, in_bytes, format!("give {}", either(&words)))
    })
}

fn not_whole(text: &str, in_bytes: bool, remedy: String) -> Refusal {
    let noun = if in_bytes { "a size" } else { "a whole number" };
    malformed(format!("{} is not {noun}", quoted(text))).remedy(remedy)
}

fn whole(text: &str, in_bytes: bool) -> Option<u128> {
    let plain = text.trim();
    let plain = plain.strip_prefix('+').unwrap_or(plain);
    let digits = if is_grouped(plain) { plain.replace('_', "") } else { plain.to_owned() };
    if in_bytes { bytes(&digits) } else { count(&digits) }
}

/// A text that does not follow the grammar of quantities.
pub(crate) fn malformed(problem: String) -> Refusal {
    Refusal::new(problem).kind(Kind::Malformed)
}

/// Whether underscores only stand between digits.
fn is_grouped(text: &str) -> bool {
    text.split('_').all(|part| part.starts_with(|letter: char| letter.is_ascii_digit()))
        && text.split('_').rev().skip(1).all(|part| part.bytes().all(|letter| letter.is_ascii_digit()))
}

/// A list of sizes in bytes: single ones and ranges, separated by commas.
///
/// `first:last` has every size from first to last, `first:last:step` adds step to each, and `first:last:xFACTOR`
/// multiplies each by a whole factor: `64:4K:x2` doubles from 64 to 4096.
///
/// # Errors
/// A part is neither a size nor a range, or there are too many.
pub fn read_sizes(text: &str) -> Result<Vec<u64>, Refusal> {
    let mut sizes: Vec<u64> = Vec::new();
    for part in text.split(',') {
        let range = Range::read(part)?;
        let count = range.count();
        if count > (SIZES_MOST - sizes.len()) as u64 {
            let problem = format!("{} has {count} sizes", quoted(part));
            return Err(Refusal::new(problem)
                .kind(Kind::TooLarge)
                .remedy(format!("give a step, for {SIZES_MOST} at most in all")));
        }
        sizes.extend(range.values());
    }
    Ok(sizes)
}

/// A list of counts, 0 to `most`: `3`, `0,3,6`, `first:last` or `first:last:step`.
///
/// # Errors
/// A part is neither a count nor a range of counts.
pub fn read_counts(text: &str, most: u64) -> Result<Vec<u64>, Refusal> {
    let mut counts = Vec::new();
    for part in text.split(',') {
        let ends: Option<Vec<u64>> =
            part.trim().split(':').map(|end| u64::try_from(count(end)?).ok()).collect();
        let range = match ends.as_deref() {
            Some([first]) => Some(Range { first: *first, last: *first, step: Step::Adds(1) }),
            Some([first, last]) => Some(Range { first: *first, last: *last, step: Step::Adds(1) }),
            Some([first, last, step]) if *step > 0 => {
                Some(Range { first: *first, last: *last, step: Step::Adds(*step) })
            }
            _ => None,
        };
        let Some(range) = range.filter(|range| range.first <= range.last && range.last <= most) else {
            let problem = format!("{} is not a count", quoted(part));
            return Err(malformed(problem).remedy(format!("give 0 to {most}, as in 3, 0,3,6 or 0:6")));
        };
        counts.extend(range.values());
    }
    Ok(counts)
}

/// Values from first to last.
#[derive(Clone, Copy)]
struct Range {
    first: u64,
    last: u64,
    step: Step,
}

#[derive(Clone, Copy)]
enum Step {
    Adds(u64),
    Multiplies(u64),
}

impl Range {
    fn read(text: &str) -> Result<Self, Refusal> {
        let refuse = |what: &str, remedy: &str| {
            Err(malformed(format!("{} is not a {what}", quoted(text))).remedy(remedy))
        };
        if let Some(colon) = dashed(text.trim()) {
            return refuse("size", &format!("a range has a colon: give {colon}"));
        }
        let parts: Vec<&str> = text.split(':').collect();
        let factor = match parts[..] {
            [_, _, step] => step.trim().strip_prefix(['x', 'X']),
            _ => None,
        };
        let ends = &parts[..if factor.is_some() { 2 } else { parts.len().min(4) }];
        let factor = match factor.map(|factor| factor.parse::<u32>().ok().filter(|factor| *factor > 1)) {
            Some(None) => return refuse("range", "give a whole factor from 2, as in 64:4K:x2"),
            other => other.flatten(),
        };
        let ends: Vec<u64> = ends.iter().map(|end| read_size(end)).collect::<Result<_, _>>()?;
        match (ends[..].as_ref(), factor) {
            ([only], _) => Ok(Self { first: *only, last: *only, step: Step::Adds(1) }),
            ([first, last], Some(factor)) if first <= last => {
                Ok(Self { first: *first, last: *last, step: Step::Multiplies(factor.into()) })
            }
            ([first, last], None) if first <= last => {
                Ok(Self { first: *first, last: *last, step: Step::Adds(1) })
            }
            ([first, last, step], None) if first <= last => {
                Ok(Self { first: *first, last: *last, step: Step::Adds(*step) })
            }
            _ => refuse("range", RANGES),
        }
    }

    fn count(self) -> u64 {
        match self.step {
            Step::Adds(step) => (self.last - self.first) / step + 1,
            Step::Multiplies(_) => self.values().count() as u64,
        }
    }

    fn values(self) -> impl Iterator<Item = u64> {
        let next = move |value: &u64| match self.step {
            Step::Adds(step) => value.checked_add(step),
            Step::Multiplies(factor) => value.checked_mul(factor),
        };
        std::iter::successors(Some(self.first), next).take_while(move |value| *value <= self.last)
    }
}

/// A range as some other tools write it (`64-1500`), with a colon.
fn dashed(text: &str) -> Option<String> {
    let (first, rest) = text.split_once('-')?;
    let (last, _) = rest.split_once(':').unwrap_or((rest, ""));
    (bytes(first).is_some() && bytes(last).is_some()).then(|| format!("{first}:{rest}"))
}

fn bytes(text: &str) -> Option<u128> {
    let text = text.trim();
    let text = text.strip_suffix(['B', 'b']).unwrap_or(text).trim_end();
    let prefixed = text.strip_suffix(['i', 'I']).filter(|rest| rest.ends_with(is_prefix)).unwrap_or(text);
    scaled(prefixed, 1 << 10)
}

fn count(text: &str) -> Option<u128> {
    scaled(text.trim(), 1000)
}

fn is_prefix(letter: char) -> bool {
    matches!(letter, 'K' | 'k' | 'M' | 'm' | 'G' | 'g')
}

/// A whole number of decimal digits with a prefix, whose step is `thousand`.
fn scaled(text: &str, thousand: u128) -> Option<u128> {
    let number = text.trim_end_matches(is_prefix).trim_end();
    let factor = match text[number.len()..].trim_start() {
        "" => 1,
        "K" | "k" => thousand,
        "M" | "m" => thousand.pow(2),
        "G" | "g" => thousand.pow(3),
        _ => return None,
    };
    let (whole, decimals) = match number.split_once('.') {
        Some((whole, decimals)) => (digits(whole)?, Some((digits(decimals)?, decimals.len()))),
        None => (digits(number)?, None),
    };
    let scale = 10_u128.pow(u32::try_from(decimals.map_or(0, |(_, count)| count)).ok()?);
    let rest = decimals.map_or(0, |(value, _)| value) * factor;
    rest.is_multiple_of(scale).then(|| whole * factor + rest / scale)
}

fn digits(text: &str) -> Option<u128> {
    let fits = (1..=DIGITS_MOST).contains(&text.len()) && text.bytes().all(|letter| letter.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_bytes_with_binary_prefixes() {
        for (text, bytes) in [
            ("64", 64),
            (" 4K ", 4096),
            ("1.5M", 3 << 19),
            ("2gB", 2 << 30),
            ("64b", 64),
            ("0.25k", 256),
            ("4MiB", 4 << 20),
            ("4 mib", 4 << 20),
            ("64 B", 64),
            ("4mb", 4 << 20),
        ] {
            assert_eq!(bytes_of_text(text), Some(bytes), "{text}");
        }
        for text in [
            "",
            "K",
            "B",
            "0",
            "1.3K",
            "1.",
            ".5K",
            "-1",
            "4KK",
            "4T",
            "1e3",
            "４K",
            "1.5",
            "4i",
            "4iB",
            "1_000",
            "4Mbit",
            &"9".repeat(25),
        ] {
            assert_eq!(bytes_of_text(text), None, "{text}");
        }
        assert!(
            bytes_of_text(&format!("{}G", "9".repeat(24))).is_some_and(|bytes| bytes > u128::from(u64::MAX))
        );
        let large = read_size("9223372036854775808").map_err(|refusal| refusal.to_string());
        assert_eq!(
            large,
            Err("'9223372036854775808' is too large: give at most 9223372036854775807 bytes".to_owned())
        );
    }

    #[test]
    fn whole_numbers_count_in_thousands_and_bytes_in_1024() {
        for (text, in_bytes, value) in [
            ("0", false, 0),
            ("1.5k", false, 1500),
            ("1_000", false, 1000),
            ("+3", false, 3),
            ("2M", false, 2_000_000),
            ("4K", true, 4096),
            ("0", true, 0),
            ("18446744073709551615", false, u128::from(u64::MAX)),
        ] {
            assert_eq!(read_whole(text, in_bytes), Ok(value), "{text}");
        }
        for text in ["", "abc", "-1", "nan", "1e400", "5 parsecs", "1.0005k", "1__0", "_1", "1_", "1k_0"] {
            for in_bytes in [false, true] {
                assert!(read_whole(text, in_bytes).is_err(), "{text}");
            }
        }
    }

    #[test]
    fn a_refusal_names_the_range_or_the_only_values() {
        for (text, in_bytes, range, expected) in [
            ("-1", false, 1..=16, "'-1' is not a whole number: give 1 to 16"),
            ("-1", false, 0..=100, "'-1' is not a whole number: give 0 to 100, for example 64"),
            ("x", true, 1..=8192, "'x' is not a size: give 1 to 8192 bytes, for example 64 or 4K"),
            ("17", false, 1..=16, "'17' is out of range: give 1 to 16"),
            ("9K", true, 1..=8192, "'9K' is out of range: give 1 to 8192 bytes"),
        ] {
            let refused = read_whole_within(text, in_bytes, &range).map_err(|refusal| refusal.to_string());
            assert_eq!(refused, Err(expected.to_owned()));
        }
        assert_eq!(read_whole_within("8K", true, &(1..=8192)), Ok(8192));
        let refused = read_whole_of("nan", false, &[32, 64]).map_err(|refusal| refusal.to_string());
        assert_eq!(refused, Err("'nan' is not a whole number: give 32 or 64".to_owned()));
        assert_eq!(read_whole_of("33", false, &[32, 64]), Ok(33));
    }

    #[test]
    fn a_range_adds_or_multiplies() {
        let doubling: Vec<u64> = (6..=12).map(|power| 1 << power).collect();
        for (text, sizes) in [
            ("64:4K:x2", doubling.clone()),
            ("64:5000:X2", doubling),
            ("1:100:x10", vec![1, 10, 100]),
            ("64:64:x2", vec![64]),
            ("60,64:256:x2,5:7", vec![60, 64, 128, 256, 5, 6, 7]),
            ("64:128:32", vec![64, 96, 128]),
        ] {
            assert_eq!(read_sizes(text), Ok(sizes), "{text}");
        }
        assert_eq!(read_sizes("1:4611686018427387904:x2").map(|sizes| sizes.len()), Ok(63));
    }

    #[test]
    fn a_wrong_range_names_the_remedy() {
        for (text, expected) in [
            ("64-1500", "'64-1500' is not a size: a range has a colon: give 64:1500"),
            ("64-4K:x2", "'64-4K:x2' is not a size: a range has a colon: give 64:4K:x2"),
            ("64:4K:x1", "'64:4K:x1' is not a range: give a whole factor from 2, as in 64:4K:x2"),
            ("64:4K:x", "'64:4K:x' is not a range: give a whole factor from 2, as in 64:4K:x2"),
            ("4K:64:x2", "'4K:64:x2' is not a range: give first:last, first:last:step or first:last:xFACTOR"),
            ("64:4K:x2:3", "'x2' is not a size: give whole bytes above 0"),
            ("1:2:3:4", "'1:2:3:4' is not a range: give first:last"),
            ("64:64:0", "'0' is not a size"),
            ("1:200000", "'1:200000' has 200000 sizes: give a step, for 100000 at most in all"),
        ] {
            let refused = read_sizes(text).expect_err(text).to_string();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }

    #[test]
    fn counts_are_lists_and_ranges_from_0() {
        assert_eq!(read_counts("3", 64), Ok(vec![3]));
        assert_eq!(read_counts("0, 3,6", 64), Ok(vec![0, 3, 6]));
        assert_eq!(read_counts("0:6:2,64", 64), Ok(vec![0, 2, 4, 6, 64]));
        for wrong in ["", "-1", "6:3", "0:6:0", "65", "1.5", "0:1:2:3", "4K"] {
            let refused = read_counts(wrong, 64).expect_err(wrong).to_string();
            assert!(refused.ends_with("is not a count: give 0 to 64, as in 3, 0,3,6 or 0:6"), "{refused}");
        }
    }
}
