//! Grows lists. Exhausted memory is an error instead of an abort.

use crate::{Error, Pair};

/// Reserves capacity for `more` elements, or returns an error if there is no memory.
///
/// # Errors
/// [`Error::ListTooLong`].
pub fn reserve<T>(list: &mut Vec<T>, more: u64) -> Result<(), Error> {
    let length = list.len() as u64 + more;
    usize::try_from(more).ok().and_then(|more| list.try_reserve(more).ok()).ok_or(Error::list_too_long(length))
}

/// Reserves capacity for a list of this length.
///
/// # Errors
/// [`Error::ListTooLong`].
pub fn reserve_length<T>(list: &mut Vec<T>, length: usize) -> Result<(), Error> {
    reserve(list, length.saturating_sub(list.len()) as u64)
}

/// Resizes a list, or returns an error if there is no memory.
///
/// # Errors
/// [`Error::ListTooLong`].
pub fn resize<T: Clone>(list: &mut Vec<T>, length: usize, value: T) -> Result<(), Error> {
    reserve_length(list, length)?;
    list.resize(length, value);
    Ok(())
}

/// Appends a pair, or returns an error if there is no memory.
///
/// # Errors
/// [`Error::ListTooLong`].
pub fn push(pairs: &mut Vec<Pair>, pair: Pair) -> Result<(), Error> {
    if pairs.len() == pairs.capacity() {
        reserve(pairs, 1)?;
    }
    pairs.push(pair);
    Ok(())
}
