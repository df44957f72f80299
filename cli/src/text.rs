//! Numbers as people read and type them, and names as a terminal may have them.

use std::path::Path;

pub use laboratory::text::{boxes, bytes, count, decimals, seconds};

/// Reads `512`, `64K`, `512M`, `2GiB`, `3GB` as a number of bytes: powers of 1024, or of 1000 where the unit ends in a
/// bare `B`, as GNU tools read sizes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || "it must be a whole number of bytes, or of KiB, MiB, GiB or TiB, such as 512M".to_owned();
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(split);
    let number: u64 = digits.parse().map_err(|_| wrong())?;
    let unit = unit.to_ascii_uppercase();
    if unit.is_empty() || unit == "B" {
        return Ok(number);
    }
    let exponent = 1 + "KMGT".find(unit.get(..1).ok_or_else(wrong)?).ok_or_else(wrong)? as u32;
    let base: u64 = match &unit[1..] {
        "" | "IB" => 1024,
        "B" => 1000,
        _ => return Err(wrong()),
    };
    number.checked_mul(base.pow(exponent)).ok_or_else(|| "it does not fit 64 bits; give a smaller size".to_owned())
}

/// Returns the `f64` with the shortest decimal text of this `f32`: 0.1 and not 0.10000000149011612, 0 and not -0;
/// `None`, in JSON `null`, for infinities.
pub fn shortest(number: f32) -> Option<f64> {
    (number + 0.0).to_string().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Writes the name of a file for a terminal.
pub fn path(path: &Path) -> String {
    printable(&path.to_string_lossy())
}

/// Writes `text` without what a terminal takes for a command, or shows in another order than it stands: in the way of
/// JSON, an escape character is `\\u001b`.
pub fn printable(text: &str) -> String {
    let mut printable = String::with_capacity(text.len());
    for c in text.chars() {
        let is_direction = matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c.is_control() || is_direction {
            printable.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            printable.push(c);
        }
    }
    printable
}

/// Writes `text` as [`printable`] does, but for the ends of its lines.
pub fn printable_lines(text: &str) -> String {
    text.split('\n').map(printable).collect::<Vec<String>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_commands_a_terminal() {
        for (name, expected) in [
            ("a\u{1b}[31mb", "a\\u001b[31mb"),
            ("a\nb\tc\rd", "a\\u000ab\\u0009c\\u000dd"),
            ("\u{9b}2J\u{7f}", "\\u009b2J\\u007f"),
            ("gpj.\u{202e}exe", "gpj.\\u202eexe"),
            ("Ähre e\u{301} \\ 箱 🙂.npy", "Ähre e\u{301} \\ 箱 🙂.npy"),
        ] {
            assert_eq!(printable(name), expected);
            assert_eq!(path(Path::new(name)), expected);
        }
        assert_eq!(printable_lines("a\u{1b}\nb\n"), "a\\u001b\nb\n");
    }

    #[test]
    fn json_has_the_shortest_numbers_and_no_minus_zero() {
        assert_eq!([0.1, -2.5].map(shortest), [Some(0.1), Some(-2.5)]);
        assert!(shortest(-0.0).is_some_and(f64::is_sign_positive));
        assert_eq!([f32::INFINITY, f32::NAN].map(shortest), [None, None]);
    }

    #[test]
    fn sizes_parse_with_every_unit_and_nothing_else_does() {
        for (text, size) in [("0", 0), ("12b", 12), ("64K", 65_536), ("512m", 512 << 20), ("2GiB", 2 << 30)] {
            assert_eq!(parse_bytes(text), Ok(size), "{text}");
        }
        assert_eq!(parse_bytes("3GB"), Ok(3_000_000_000));
        for text in ["", "M", "-1", "1.5G", "1X", "1KX", "1é", "99999999999999999999", "17000000T"] {
            assert!(parse_bytes(text).is_err(), "{text}");
        }
    }
}
