//! Sizes written as texts: `64`, `4K`, `1.5M`.

const DIGITS_MOST: usize = 24;

/// A size in bytes; K, M and G are powers of 1024 and may follow a decimal. None if it is not a whole number above 0.
#[must_use]
pub fn bytes_of_text(text: &str) -> Option<u128> {
    let text = text.trim();
    let text = text.strip_suffix(['B', 'b']).unwrap_or(text);
    let (number, factor) = match text.char_indices().next_back()? {
        (at, 'K' | 'k') => (&text[..at], 1 << 10),
        (at, 'M' | 'm') => (&text[..at], 1 << 20),
        (at, 'G' | 'g') => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let (whole, decimals) = match number.split_once('.') {
        Some((whole, decimals)) => (digits(whole)?, Some((digits(decimals)?, decimals.len()))),
        None => (digits(number)?, None),
    };
    let scale = 10_u128.pow(u32::try_from(decimals.map_or(0, |(_, count)| count)).ok()?);
    let rest = decimals.map_or(0, |(value, _)| value) * factor;
    let bytes = whole * factor + rest / scale;
    (rest.is_multiple_of(scale) && bytes > 0).then_some(bytes)
}

fn digits(text: &str) -> Option<u128> {
    let fits = (1..=DIGITS_MOST).contains(&text.len()) && text.bytes().all(|letter| letter.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_whole_bytes_with_binary_suffixes() {
        for (text, bytes) in
            [("64", 64), (" 4K ", 4096), ("1.5M", 3 << 19), ("2gB", 2 << 30), ("64b", 64), ("0.25k", 256)]
        {
            assert_eq!(bytes_of_text(text), Some(bytes), "{text}");
        }
        for text in
            ["", "K", "B", "0", "1.3K", "1.", ".5K", "-1", "4KK", "4T", "1e3", "４K", "1.5", &"9".repeat(25)]
        {
            assert_eq!(bytes_of_text(text), None, "{text}");
        }
        assert!(
            bytes_of_text(&format!("{}G", "9".repeat(24))).is_some_and(|bytes| bytes > u128::from(u64::MAX))
        );
    }
}
