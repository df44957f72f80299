//! Numbers: how a file stores them, and the types that they are read as.

use broadsweep::Aabb;
use half::f16;

use super::{Error, Result};

/// The largest integer up to which `f64` represents every integer, as in the Python package.
const MOST_EXACT: u64 = 1 << 53;

/// How an array stores its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dtype {
    kind: Kind,
    /// Bytes per number.
    pub size: usize,
    is_big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Float,
    Signed,
    Unsigned,
    Bool,
}

impl Dtype {
    /// Parses the dtype of plain numbers, such as `<f4`; `None` for any other.
    pub fn parse(text: &str) -> Option<Self> {
        let (order, number) = text.split_at_checked(1)?;
        let (kind, size) = match number {
            "f2" => (Kind::Float, 2),
            "f4" => (Kind::Float, 4),
            "f8" => (Kind::Float, 8),
            "i1" => (Kind::Signed, 1),
            "i2" => (Kind::Signed, 2),
            "i4" => (Kind::Signed, 4),
            "i8" => (Kind::Signed, 8),
            "u1" => (Kind::Unsigned, 1),
            "u2" => (Kind::Unsigned, 2),
            "u4" => (Kind::Unsigned, 4),
            "u8" => (Kind::Unsigned, 8),
            "b1" => (Kind::Bool, 1),
            _ => return None,
        };
        let is_big_endian = match order {
            "<" => false,
            // A single byte has no order.
            "|" if size == 1 => false,
            ">" => true,
            "=" => cfg!(target_endian = "big"),
            _ => return None,
        };
        Some(Self { kind, size, is_big_endian })
    }

    /// Returns the bits of a number, zero-extended.
    fn bits(self, bytes: &[u8]) -> u64 {
        let mut little = [0; 8];
        let own = &mut little[..self.size];
        own.copy_from_slice(bytes);
        if self.is_big_endian {
            own.reverse();
        }
        u64::from_le_bytes(little)
    }

    /// Reads a number that `f64` represents.
    ///
    /// # Errors
    /// [`Error::LargeInteger`], without the index.
    fn double(self, bytes: &[u8]) -> Result<f64> {
        let bits = self.bits(bytes);
        let (value, magnitude) = match (self.kind, self.size) {
            (Kind::Float, 2) => return Ok(f16::from_bits(bits as u16).to_f64()),
            (Kind::Float, 4) => return Ok(f32::from_bits(bits as u32).into()),
            (Kind::Float, _) => return Ok(f64::from_bits(bits)),
            (Kind::Signed, size) => {
                let unused = 64 - 8 * size as u32;
                let value = (bits << unused) as i64 >> unused;
                (i128::from(value), value.unsigned_abs())
            }
            (Kind::Unsigned | Kind::Bool, _) => (i128::from(bits), bits),
        };
        if magnitude > MOST_EXACT {
            return Err(Error::LargeInteger { index: String::new(), value });
        }
        Ok(value as f64)
    }

    /// Reads a coordinate, rounded down and up to `f32` as [`Aabb::from_f64`] does.
    ///
    /// # Errors
    /// [`Error::LargeInteger`], without the index.
    pub fn rounded(self, bytes: &[u8]) -> Result<[f32; 2]> {
        if (self.kind, self.size) == (Kind::Float, 4) {
            return Ok([f32::from_bits(self.bits(bytes) as u32); 2]);
        }
        let value = self.double(bytes)?;
        let aabb = Aabb::from_f64([value; 3], [value; 3]);
        Ok([aabb.min[0], aabb.max[0]])
    }
}

/// A type that an [`Array`](super::Array) can be read as:
/// - `u32` from `u4`;
/// - `f32`, rounded to nearest, and `f64` from floats and integers;
/// - `bool` from `b1` or `u1`, where every value except 0 is true.
pub trait Number: Copy + private::Number {}

impl Number for u32 {}
impl Number for f32 {}
impl Number for f64 {}
impl Number for bool {}

pub(super) mod private {
    use super::{Dtype, Kind, Result};

    pub trait Number: Sized {
        /// The dtypes that it is read from, for a message.
        const NEEDED: &'static str;
        /// Returns whether it is read from this dtype.
        fn takes(dtype: Dtype) -> bool;
        /// Reads a number.
        fn read(dtype: Dtype, bytes: &[u8]) -> Result<Self>;
    }

    impl Number for u32 {
        const NEEDED: &'static str = "'u4' is needed: convert it with .astype(np.uint32)";

        fn takes(dtype: Dtype) -> bool {
            (dtype.kind, dtype.size) == (Kind::Unsigned, 4)
        }

        fn read(dtype: Dtype, bytes: &[u8]) -> Result<Self> {
            Ok(dtype.bits(bytes) as Self)
        }
    }

    impl Number for f32 {
        const NEEDED: &'static str = <f64 as Number>::NEEDED;

        fn takes(dtype: Dtype) -> bool {
            <f64 as Number>::takes(dtype)
        }

        fn read(dtype: Dtype, bytes: &[u8]) -> Result<Self> {
            match (dtype.kind, dtype.size) {
                (Kind::Float, 4) => Ok(Self::from_bits(dtype.bits(bytes) as u32)),
                _ => Ok(dtype.double(bytes)? as Self),
            }
        }
    }

    impl Number for f64 {
        const NEEDED: &'static str = "floats or integers are needed: convert it with .astype(np.float64)";

        fn takes(dtype: Dtype) -> bool {
            dtype.kind != Kind::Bool
        }

        fn read(dtype: Dtype, bytes: &[u8]) -> Result<Self> {
            dtype.double(bytes)
        }
    }

    impl Number for bool {
        const NEEDED: &'static str = "'b1' or 'u1' is needed: convert it with .astype(bool)";

        fn takes(dtype: Dtype) -> bool {
            dtype.size == 1 && matches!(dtype.kind, Kind::Bool | Kind::Unsigned)
        }

        fn read(dtype: Dtype, bytes: &[u8]) -> Result<Self> {
            Ok(dtype.bits(bytes) != 0)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::private::Number;
    use super::*;

    fn dtype(text: &str) -> Dtype {
        Dtype::parse(text).unwrap()
    }

    #[test]
    fn every_dtype_of_numbers_has_its_value_in_either_byte_order() {
        for (name, little, value) in [
            ("f2", &[0x00, 0xc1][..], -2.5),
            ("f4", &(-2.5f32).to_le_bytes(), -2.5),
            ("f8", &(-2.5f64).to_le_bytes(), -2.5),
            ("i1", &[0xfe], -2.0),
            ("i2", &(-300i16).to_le_bytes(), -300.0),
            ("i4", &(-70_000i32).to_le_bytes(), -70_000.0),
            ("i8", &(-(1i64 << 53)).to_le_bytes(), -9_007_199_254_740_992.0),
            ("u1", &[0xfe], 254.0),
            ("u2", &65_535u16.to_le_bytes(), 65_535.0),
            ("u4", &u32::MAX.to_le_bytes(), 4_294_967_295.0),
            ("u8", &(1u64 << 53).to_le_bytes(), 9_007_199_254_740_992.0),
        ] {
            let big: Vec<u8> = little.iter().rev().copied().collect();
            assert_eq!(dtype(&format!("<{name}")).double(little).unwrap(), value, "{name}");
            assert_eq!(dtype(&format!(">{name}")).double(&big).unwrap(), value, "{name}");
        }
        for other in ["<f16", "<c8", "|f4", "<M8", "", "é4", "f4"] {
            assert_eq!(Dtype::parse(other), None, "{other}");
        }
    }

    #[test]
    fn integers_beyond_the_range_of_doubles_are_an_error_with_their_value() {
        for (name, bytes, value) in [
            ("<i8", ((1u64 << 53) + 1).to_le_bytes(), (1 << 53) + 1),
            ("<i8", i64::MIN.to_le_bytes(), i128::from(i64::MIN)),
            ("<u8", u64::MAX.to_le_bytes(), i128::from(u64::MAX)),
        ] {
            let error = dtype(name).rounded(&bytes).unwrap_err();
            assert!(matches!(error, Error::LargeInteger { value: own, .. } if own == value), "{error}");
            assert!(<f32 as Number>::read(dtype(name), &bytes).is_err());
        }
    }

    #[test]
    fn bounds_are_rounded_outward_and_other_numbers_to_nearest() {
        for value in [0.1, -0.1, 16_777_217.0, 1e300, -1e300, 1e-300] {
            let bytes = f64::to_le_bytes(value);
            let [down, up] = dtype("<f8").rounded(&bytes).unwrap();
            assert!(f64::from(down) < value && value < f64::from(up), "{value}");
            assert_eq!(<f32 as Number>::read(dtype("<f8"), &bytes).unwrap(), value as f32);
        }
        // The first integer that `f32` does not represent.
        assert_eq!(dtype("<i4").rounded(&16_777_217i32.to_le_bytes()).unwrap(), [16_777_216.0, 16_777_218.0]);
    }
}
