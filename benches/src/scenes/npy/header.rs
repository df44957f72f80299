//! The header of a `.npy` file: what the array is.

use std::io::{self, Read};

use super::{Error, LONGEST_HEADER, Result};

/// The header of an array.
#[derive(Debug, PartialEq)]
pub struct Header {
    /// The dtype as it is written, such as `<f4`.
    pub dtype: String,
    pub is_fortran: bool,
    pub shape: Vec<u64>,
}

impl Header {
    /// Reads the header, and returns the bytes that it takes too.
    pub fn read(source: &mut impl Read, length: Option<u64>) -> Result<(Self, u64)> {
        let short = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::ShortHeader,
            _ => error.into(),
        };
        let mut start = Vec::new();
        source.take(8).read_to_end(&mut start)?;
        if start.len() != 8 || !start.starts_with(b"\x93NUMPY") {
            return Err(Error::NotNpy);
        }
        let (prefix, text_length) = match start[6..] {
            [1, 0] => {
                let mut bytes = [0; 2];
                source.read_exact(&mut bytes).map_err(short)?;
                (10, u32::from(u16::from_le_bytes(bytes)))
            }
            [2 | 3, 0] => {
                let mut bytes = [0; 4];
                source.read_exact(&mut bytes).map_err(short)?;
                (12, u32::from_le_bytes(bytes))
            }
            _ => return Err(Error::UnknownVersion { major: start[6], minor: start[7] }),
        };
        if text_length > LONGEST_HEADER {
            return Err(Error::LongHeader { claimed: text_length });
        }
        let header_length = prefix + u64::from(text_length);
        if length.is_some_and(|length| length < header_length) {
            return Err(Error::ShortHeader);
        }
        let mut text = vec![0; text_length as usize];
        source.read_exact(&mut text).map_err(short)?;
        let text = std::str::from_utf8(&text).map_err(|_| Error::Header("is not text".to_owned()))?;
        Ok((Self::parse(text)?, header_length))
    }

    /// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (5, 6), }`, the keys in any order.
    fn parse(text: &str) -> Result<Self> {
        let (mut dtype, mut is_fortran, mut shape) = (None, None, None);
        let mut scanner = Scanner { rest: text };
        scanner.expect('{')?;
        while !scanner.accept('}') {
            let key = scanner.string()?;
            scanner.expect(':')?;
            let is_repeated = match key {
                "descr" if scanner.accept('[') => return Err(Error::Records),
                "descr" => dtype.replace(scanner.string()?.to_owned()).is_some(),
                "fortran_order" => is_fortran.replace(scanner.truth()?).is_some(),
                "shape" => shape.replace(scanner.shape()?).is_some(),
                _ => return Err(Error::Header(format!("has the unknown key {}", quoted(key)))),
            };
            if is_repeated {
                return Err(Error::Header(format!("has the key {key:?} twice")));
            }
            if !scanner.accept(',') {
                scanner.expect('}')?;
                break;
            }
        }
        if !scanner.rest.trim().is_empty() {
            return Err(Error::Header("goes on after its end".to_owned()));
        }
        let missing = |key| move || Error::Header(format!("lacks the key '{key}'"));
        let header = Self {
            shape: shape.ok_or_else(missing("shape"))?,
            dtype: dtype.ok_or_else(missing("descr"))?,
            is_fortran: is_fortran.ok_or_else(missing("fortran_order"))?,
        };
        if header.dtype.contains('O') {
            return Err(Error::Pickled);
        }
        Ok(header)
    }

    /// Returns the index of a number in the array, as NumPy writes it, from its place in the file.
    pub fn index_of(&self, mut place: u64) -> String {
        let mut lengths = self.shape.clone();
        if !self.is_fortran {
            lengths.reverse();
        }
        let mut index = Vec::new();
        for length in lengths {
            index.push((place % length).to_string());
            place /= length;
        }
        if !self.is_fortran {
            index.reverse();
        }
        index.join(", ")
    }

    /// Describes the dtype for a message.
    pub fn describe_dtype(&self) -> String {
        quoted(&self.dtype)
    }
}

/// Describes a shape for a message.
pub fn describe_shape(shape: &[u64]) -> String {
    let lengths: Vec<String> = shape.iter().take(5).map(u64::to_string).collect();
    // One length, as NumPy writes it.
    let end = match shape.len() {
        1 => ",",
        0..=5 => "",
        _ => ", ...",
    };
    format!("({}{end})", lengths.join(", "))
}

/// Quotes a part of the header, short enough for a message.
fn quoted(text: &str) -> String {
    format!("{:?}", text.chars().take(40).collect::<String>())
}

/// Reads the few literals of Python that a header may hold.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn accept(&mut self, wanted: char) -> bool {
        self.rest = self.rest.trim_start();
        let after = self.rest.strip_prefix(wanted);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn expect(&mut self, wanted: char) -> Result<()> {
        if self.accept(wanted) { Ok(()) } else { Err(self.expected(&format!("'{wanted}'"))) }
    }

    fn expected(&self, what: &str) -> Error {
        let place = match self.rest.trim_start().chars().next() {
            Some(character) => format!("before {character:?}"),
            None => "at its end".to_owned(),
        };
        Error::Header(format!("is malformed: {what} expected {place}"))
    }

    fn string(&mut self) -> Result<&'a str> {
        let quote = if self.accept('"') { '"' } else { '\'' };
        if quote == '\'' {
            self.expect(quote)?;
        }
        let (text, rest) = self
            .rest
            .split_once(quote)
            .ok_or_else(|| Error::Header("is malformed: a string does not end".to_owned()))?;
        self.rest = rest;
        Ok(text)
    }

    fn truth(&mut self) -> Result<bool> {
        self.rest = self.rest.trim_start();
        for (word, value) in [("True", true), ("False", false)] {
            if let Some(rest) = self.rest.strip_prefix(word) {
                self.rest = rest;
                return Ok(value);
            }
        }
        Err(self.expected("True or False"))
    }

    fn shape(&mut self) -> Result<Vec<u64>> {
        let mut lengths = Vec::new();
        self.expect('(')?;
        while !self.accept(')') {
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            if end == 0 {
                return Err(self.expected("a length"));
            }
            lengths.push(digits.parse().map_err(|_| Error::LongShape)?);
            // Python 2 wrote 10L.
            self.rest = rest.strip_prefix('L').unwrap_or(rest);
            if !self.accept(',') {
                self.expect(')')?;
                break;
            }
        }
        Ok(lengths)
    }
}
