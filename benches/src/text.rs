//! Numbers as people read them.

/// Writes `1234567` as `1,234,567`.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Writes `"1 box"`, `"2,000 boxes"`.
pub fn boxes(number: u64) -> String {
    format!("{} {}", count(number), if number == 1 { "box" } else { "boxes" })
}

/// Writes bytes with about three digits: `17.3 MiB`.
pub fn bytes(number: u64) -> String {
    let mut size = number as f64;
    for unit in ["bytes", "KiB", "MiB", "GiB"] {
        if size < 1024.0 {
            let decimals = usize::from(unit != "bytes");
            return format!("{size:.decimals$} {unit}");
        }
        size /= 1024.0;
    }
    format!("{size:.1} TiB")
}

/// Writes a time in milliseconds or seconds; a negative one, which comes from rounding, as 0.
pub fn seconds(time: f64) -> String {
    // The sum turns -0 into 0.
    let time = time.max(0.0) + 0.0;
    if time < 1.0 { format!("{:.1} ms", time * 1e3) } else { format!("{time:.2} s") }
}

/// Writes a number with this many decimals. A small negative number is written as 0, not as -0.
pub fn decimals(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.bytes().all(|digit| matches!(digit, b'0' | b'.')) => digits.to_owned(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([1, 2000].map(boxes), ["1 box", "2,000 boxes"]);
    }

    #[test]
    fn no_number_is_written_as_minus_zero() {
        for time in [-0.0, 0.0, -1e-9, -5.0] {
            assert_eq!(seconds(time), "0.0 ms", "{time}");
        }
        assert_eq!([0.0123, 1.5].map(seconds), ["12.3 ms", "1.50 s"]);
        for number in [-0.0, 0.0, -0.0004] {
            assert_eq!(decimals(number, 3), "0.000", "{number}");
        }
        assert_eq!([-0.0006, 0.5].map(|number| decimals(number, 3)), ["-0.001", "0.500"]);
    }

    #[test]
    fn sizes_print_with_a_fitting_unit() {
        assert_eq!([12, 1536, 3 << 30].map(bytes), ["12 bytes", "1.5 KiB", "3.0 GiB"]);
        assert_eq!(bytes(u64::MAX), "16777216.0 TiB");
    }
}
