//! Arrays of any shape, their header before their numbers.

use std::io::{self, BufReader, Read};

use super::header::{Header, describe_shape};
use super::number::{Dtype, Number};
use super::{Error, Result};

/// An array whose header is read, and whose numbers are to come.
///
/// ```
/// use broadsweep::Pair;
/// use laboratory::scenes::npy;
///
/// let mut bytes = Vec::new();
/// npy::write_pairs_header(&mut bytes, 2)?;
/// npy::write_pairs(&mut bytes, &[Pair { a: 0, b: 1 }, Pair { a: 4, b: 7 }])?;
/// let array = npy::Array::open(&bytes[..], None)?;
/// assert_eq!((array.dtype(), array.shape()), ("<u4", &[2, 2][..]));
/// assert_eq!(array.read::<u32>()?, [0, 1, 4, 7]);
/// # Ok::<(), npy::Error>(())
/// ```
pub struct Array<R> {
    source: BufReader<R>,
    header: Header,
    /// Bytes behind the header, where that is known.
    rest: Option<u64>,
}

impl<R: Read> Array<R> {
    /// Reads the header. `length` is the number of bytes of `source`, if that is known: then a truncated array is
    /// refused at once, and memory is allocated once.
    ///
    /// # Errors
    /// If there is no header, or `source` cannot be read.
    pub fn open(source: R, length: Option<u64>) -> Result<Self> {
        let mut source = BufReader::with_capacity(1 << 16, source);
        let (header, header_length) = Header::read(&mut source, length)?;
        let rest = length.map(|length| length.saturating_sub(header_length));
        Ok(Self { source, header, rest })
    }

    /// Returns the dtype as the header has it, such as `<f4`.
    pub fn dtype(&self) -> &str {
        &self.header.dtype
    }

    /// Returns the length of each dimension; none for a single number.
    pub fn shape(&self) -> &[u64] {
        &self.header.shape
    }

    /// Reads the numbers, in C order whatever the order of the file is, in either byte order. The source is read to its
    /// end.
    ///
    /// # Errors
    /// If the array holds other numbers, is longer or shorter than its header says, or cannot be read.
    pub fn read<T: Number>(self) -> Result<Vec<T>> {
        let dtype = self.dtype_that(T::takes, T::NEEDED)?;
        let shape = self.header.is_fortran.then(|| self.header.shape.clone());
        let count = self.shape().iter().try_fold(1u64, |count, &length| count.checked_mul(length));
        let count = count.and_then(|count| usize::try_from(count).ok()).ok_or(Error::LongShape)?;
        let is_long = self.rest.is_some();
        let mut numbers = Vec::new();
        self.each(dtype.size, count as u64, |bytes| {
            if numbers.len() == numbers.capacity() {
                // By what has come, not by what is claimed, unless that is known to be there.
                let more = if is_long { count } else { numbers.len().max(1 << 12).min(count) };
                let out_of_memory = |_| Error::NoMemory { bytes: more as u64 * size_of::<T>() as u64 };
                numbers.try_reserve_exact(more).map_err(out_of_memory)?;
            }
            numbers.push(T::read(dtype, bytes)?);
            Ok(())
        })?;
        match shape {
            Some(shape) if shape.len() > 1 => in_c_order(&numbers, &shape),
            _ => Ok(numbers),
        }
    }

    /// Reads a table whose rows have one of these widths. Returns the width, and the numbers row by row.
    ///
    /// # Errors
    /// [`Error::RowShape`], and those of [`Array::read`].
    pub fn read_rows<T: Number>(self, widths: &[u64]) -> Result<(usize, Vec<T>)> {
        match *self.shape() {
            [_, width] if widths.contains(&width) => Ok((width as usize, self.read()?)),
            _ => {
                let needed: Vec<String> = widths.iter().map(|width| format!("(m, {width})")).collect();
                Err(Error::RowShape { found: describe_shape(self.shape()), needed: needed.join(" or ") })
            }
        }
    }

    /// Returns the dtype of the numbers, which `is_read` has to accept.
    pub(super) fn dtype_that(&self, is_read: impl Fn(Dtype) -> bool, needed: &'static str) -> Result<Dtype> {
        let dtype = Dtype::parse(&self.header.dtype).filter(|&dtype| is_read(dtype));
        dtype.ok_or_else(|| Error::Dtype { found: self.header.describe_dtype(), needed })
    }

    pub(super) fn header(&self) -> &Header {
        &self.header
    }

    /// Returns whether `bytes` bytes of numbers are known to be there.
    ///
    /// # Errors
    /// If it is known that there are more or less.
    pub(super) fn is_long(&self, bytes: u64) -> Result<bool> {
        match self.rest {
            Some(rest) if rest < bytes => {
                Err(Error::Truncated(format!("its array is {bytes} bytes long, and {rest} follow the header")))
            }
            Some(rest) if rest > bytes => Err(Error::TrailingBytes((rest - bytes).to_string())),
            rest => Ok(rest.is_some()),
        }
    }

    /// Hands the bytes of each number, as they are in the file, to `each`, and reads to the end.
    pub(super) fn each(mut self, size: usize, count: u64, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let length = count.checked_mul(size as u64).ok_or(Error::LongShape)?;
        self.is_long(length)?;
        let mut chunk = vec![0; 1 << 16];
        let (mut remaining, mut number) = (length, 0);
        while remaining > 0 {
            let part = &mut chunk[..remaining.min(1 << 16) as usize];
            self.source.read_exact(part).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => Error::Truncated(format!("its array is {length} bytes long")),
                _ => error.into(),
            })?;
            remaining -= part.len() as u64;
            for bytes in part.chunks_exact(size) {
                each(bytes).map_err(|error| match error {
                    Error::LargeInteger { value, .. } => {
                        Error::LargeInteger { index: self.header.index_of(number), value }
                    }
                    other => other,
                })?;
                number += 1;
            }
        }
        if self.source.read(&mut [0])? != 0 {
            return Err(Error::TrailingBytes("more".to_owned()));
        }
        Ok(())
    }
}

/// Puts numbers of which the first index changes fastest in C order. There are as many as the shape says.
fn in_c_order<T: Copy>(numbers: &[T], shape: &[u64]) -> Result<Vec<T>> {
    let mut ordered = Vec::new();
    let bytes = size_of_val(numbers) as u64;
    ordered.try_reserve_exact(numbers.len()).map_err(|_| Error::NoMemory { bytes })?;
    for i in 0..numbers.len() {
        let (mut rest, mut at, mut stride) = (i, 0, numbers.len());
        for &length in shape.iter().rev() {
            stride /= length as usize;
            at += rest % length as usize * stride;
            rest /= length as usize;
        }
        ordered.push(numbers[at]);
    }
    Ok(ordered)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(descr: &str, is_fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let order = if is_fortran { "True" } else { "False" };
        let text = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes(), data].concat()
    }

    fn read<T: Number>(bytes: &[u8]) -> Result<Vec<T>> {
        let unknown = Array::open(bytes, None)?.read();
        let known = Array::open(bytes, Some(bytes.len() as u64))?.read::<T>();
        assert_eq!(unknown.is_ok(), known.is_ok());
        unknown
    }

    #[test]
    fn numbers_come_in_c_order_from_every_layout() {
        let data = |order: &[u32], is_big: bool| -> Vec<u8> {
            order.iter().flat_map(|x| if is_big { x.to_be_bytes() } else { x.to_le_bytes() }).collect()
        };
        let in_c: Vec<u32> = (0..24).map(|i| i + 1000).collect();
        let in_fortran: Vec<u32> =
            (0..4).flat_map(|k| (0..3).flat_map(move |j| (0..2).map(move |i| 1000 + (i * 3 + j) * 4 + k))).collect();
        for (descr, is_big) in [("<u4", false), (">u4", true)] {
            assert_eq!(read::<u32>(&bytes(descr, false, "(2, 3, 4)", &data(&in_c, is_big))).unwrap(), in_c);
            assert_eq!(read::<u32>(&bytes(descr, true, "(2, 3, 4)", &data(&in_fortran, is_big))).unwrap(), in_c);
            assert_eq!(read::<u32>(&bytes(descr, true, "(24,)", &data(&in_c, is_big))).unwrap(), in_c);
        }
        assert!(read::<u32>(&bytes("<u4", true, "(0, 2)", &[])).unwrap().is_empty());
        assert_eq!(read::<u32>(&bytes("<u4", false, "()", &[7, 0, 0, 0])).unwrap(), [7]);
        assert_eq!(read::<f32>(&bytes(">f4", false, "(1,)", &1.5f32.to_be_bytes())).unwrap(), [1.5]);
    }

    #[test]
    fn truth_is_a_byte_that_is_not_zero() {
        for descr in ["|b1", "|u1", "<u1"] {
            assert_eq!(read::<bool>(&bytes(descr, false, "(3,)", &[0, 1, 255])).unwrap(), [false, true, true]);
        }
    }

    #[test]
    fn other_numbers_and_lengths_are_refused() {
        for (descr, shape, expected) in [
            ("<i4", "(2,)", "its dtype is \"<i4\"; 'u4' is needed"),
            ("|u4", "(2,)", "its dtype is \"|u4\""),
            ("<u4", "(3,)", "truncated"),
            ("<u4", "(1,)", "follow the array"),
            ("<u4", "(9223372036854775808, 2)", "does not fit 64 bits"),
            ("<u4", "(9223372036854775807, 2, 2)", "does not fit 64 bits"),
            ("<u4", "(4611686018427387904,)", "does not fit 64 bits"),
            ("<u4", "(1000000000000,)", "truncated"),
        ] {
            let message = read::<u32>(&bytes(descr, false, shape, &[0; 8])).unwrap_err().to_string();
            assert!(message.contains(expected), "{expected}: {message}");
        }
    }
}
