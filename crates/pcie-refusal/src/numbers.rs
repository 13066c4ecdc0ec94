//! Numbers in texts.

/// A number with `digits` significant digits and no trailing zeros; in powers of ten if it is very large or small.
#[must_use]
pub fn significant(value: f64, digits: usize) -> String {
    let digits = digits.max(1);
    let scientific = format!("{value:.*e}", digits - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return value.to_string() };
    let Ok(exponent) = exponent.parse::<i32>() else { return value.to_string() };
    let decimals = usize::try_from(digits as i64 - 1 - i64::from(exponent));
    match decimals {
        Ok(decimals) if exponent >= -4 => without_zeros(&format!("{value:.decimals$}")).to_owned(),
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
        }
    }
}

/// A number with six significant digits: `16`, `2.5`.
#[must_use]
pub fn general(value: f64) -> String {
    significant(value, 6)
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// A number of bytes in the largest unit that divides it: `64 KiB`, `1536 KiB`, `777 B`.
#[must_use]
pub fn byte_size(count: u64) -> String {
    for (unit, bits) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if count != 0 && count.trailing_zeros() >= bits {
            return format!("{} {unit}", count >> bits);
        }
    }
    format!("{count} B")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_trailing_zeros() {
        for (value, text) in [(16.0, "16"), (2.5, "2.5"), (0.0, "0"), (1e6, "1e+06"), (123_456.0, "123456")] {
            assert_eq!(general(value), text);
        }
        assert_eq!(significant(7.876_9, 3), "7.88");
        assert_eq!(significant(1234.0, 3), "1.23e+03");
        assert_eq!(significant(0.000_012_34, 3), "1.23e-05");
    }

    #[test]
    fn sizes_take_the_largest_unit_that_divides_them() {
        for (count, text) in [(65_536, "64 KiB"), (1_572_864, "1536 KiB"), (777, "777 B"), (0, "0 B")] {
            assert_eq!(byte_size(count), text);
        }
    }
}
