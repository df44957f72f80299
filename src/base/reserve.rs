//! The growth of lists, with errors where `Vec` aborts.

use crate::{Error, Pair};

/// Reserves capacity for `more` elements, or returns an error where `Vec::reserve` aborts.
///
/// # Errors
/// [`Error::ListTooLong`].
pub fn reserve<T>(pairs: &mut Vec<T>, more: u64) -> Result<(), Error> {
    let pair_count = pairs.len() as u64 + more;
    usize::try_from(more).ok().and_then(|more| pairs.try_reserve(more).ok()).ok_or(Error::list_too_long(pair_count))
}

/// Appends a pair, or returns an error where `Vec::push` aborts.
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
