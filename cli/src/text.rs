//! Numbers as people read them, and as they type them.

pub use laboratory::text::{boxes, bytes, count, seconds};

/// `512`, `64K`, `512M`, `2GiB`, `3GB`: powers of 1024, or of 1000 where it ends in a bare `B`, as GNU tools
/// read sizes.
pub fn parse_bytes(text: &str) -> Result<u64, String> {
    let wrong = || "it must be a whole number of bytes, or of K, M, G or T, such as 512M".to_owned();
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
    number.checked_mul(base.pow(exponent)).ok_or_else(|| "that many bytes do not fit 64 bits".to_owned())
}

/// The fewest digits that name this `f32`: 0.1 and not 0.10000000149011612. Infinities become `null`.
pub fn shortest(number: f32) -> Option<f64> {
    number.to_string().parse().ok().filter(|number: &f64| number.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

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
