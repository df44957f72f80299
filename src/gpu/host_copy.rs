//! Copies between the program's memory and memory shared with the device, on several threads. One thread copies about
//! 10 GB/s; the bus to a GPU carries five times that rate.

use rayon::prelude::*;

/// Bytes per task of a thread. If there are fewer bytes than two such pieces, one thread copies them.
const PIECE: usize = 256 << 10;

/// Writes bytes to a buffer before the next submission runs, as `Queue::write_buffer` does.
pub(super) fn write(queue: &wgpu::Queue, buffer: &wgpu::Buffer, offset: u64, bytes: &[u8]) {
    let view = match wgpu::BufferSize::new(bytes.len() as u64) {
        // A browser has only one thread, and mapping costs another copy.
        Some(size) if bytes.len() >= 2 * PIECE && !cfg!(target_arch = "wasm32") => {
            queue.write_buffer_with(buffer, offset, size)
        }
        _ => return queue.write_buffer(buffer, offset, bytes),
    };
    // If there is no view, the device is lost. The next call reports the loss.
    let Some(mut view) = view else { return };
    // Only pieces of a length that is known at compile time can be sent to other threads.
    let (pieces, mut rest) = view.slice(..).into_chunks::<PIECE>();
    let (of_pieces, of_rest) = bytes.split_at(pieces.len() * PIECE);
    let pieces: Vec<_> = pieces.into_iter().zip(of_pieces.chunks(PIECE)).collect();
    pieces.into_par_iter().for_each(|(to, from)| wgpu::WriteOnly::from(to).copy_from_slice(from));
    rest.copy_from_slice(of_rest);
}

/// Converts each value, and appends the results in order. The caller must reserve the capacity first, since only a
/// reservation can report exhausted memory.
pub(crate) fn extend<T: Sync, U: Send>(list: &mut Vec<U>, values: &[T], convert: impl Fn(&T) -> U + Send + Sync) {
    if size_of_val(values) < 2 * PIECE {
        list.extend(values.iter().map(convert));
    } else {
        let at_once = PIECE / size_of::<T>().max(1);
        list.par_extend(values.par_iter().with_min_len(at_once).map(convert));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_lists_are_appended_in_order() {
        for count in [0, 1, PIECE / 2, 3 * PIECE + 7] {
            let values: Vec<u32> = (0..count as u32).collect();
            let mut list = vec![7u64];
            extend(&mut list, &values, |value| 2 * u64::from(*value));
            assert_eq!(list.len(), count + 1);
            assert!(list[1..].iter().copied().eq((0..count as u64).map(|i| 2 * i)));
        }
    }
}
