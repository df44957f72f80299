//! Reads boxes from files that NumPy writes.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use broadsweep::Aabb;

/// Reads an array of `<f4` or `<f8` in C order, of shape (n, 6) or (n, 2, 3), minimum corners before maximum corners.
/// Doubles are rounded outward.
///
/// # Errors
/// If the file cannot be read, is another array, or is longer or shorter than its header declares.
pub fn read_boxes(path: impl AsRef<Path>) -> Result<Vec<Aabb>> {
    let path = path.as_ref();
    let name = || format!("cannot read {}", path.display());
    boxes(&std::fs::read(path).with_context(name)?).with_context(name)
}

fn boxes(bytes: &[u8]) -> Result<Vec<Aabb>> {
    let Some(([1, _, low, high], rest)) = bytes.strip_prefix(b"\x93NUMPY").and_then(<[u8]>::split_first_chunk) else {
        bail!("it is not an array of np.save, version 1.0");
    };
    let length = usize::from(u16::from_le_bytes([*low, *high]));
    let (header, data) = rest.split_at_checked(length).context("it ends within its header")?;
    let header = String::from_utf8_lossy(header).replace(' ', "");
    ensure!(header.contains("'fortran_order':False"), "it is in Fortran order; np.ascontiguousarray gives C order");
    let number_bytes = match header.split_once("'descr':'").map(|(_, tail)| tail.get(..3).unwrap_or(tail)) {
        Some("<f4") => 4,
        Some("<f8") => 8,
        _ => bail!("its dtype is not <f4 or <f8; .astype(np.float32) converts it"),
    };
    let shape =
        header.split_once("'shape':(").and_then(|(_, tail)| tail.split_once(')')).map_or("", |(shape, _)| shape);
    let count = match shape.split_once(',') {
        Some((count, "6" | "2,3")) => count.parse::<usize>().with_context(|| format!("its shape is ({shape})"))?,
        _ => bail!("its shape is ({shape}); boxes are (n, 6) or (n, 2, 3)"),
    };
    let box_bytes = 6 * number_bytes;
    ensure!(
        count.checked_mul(box_bytes) == Some(data.len()),
        "{} bytes follow its header; {count} boxes have {box_bytes} each",
        data.len()
    );
    let box_of = |row: &[u8]| match number_bytes {
        4 => bytemuck::pod_read_unaligned(row),
        _ => {
            let [min, max]: [[f64; 3]; 2] = bytemuck::pod_read_unaligned(row);
            Aabb::from_f64(min, max)
        }
    };
    Ok(data.chunks_exact(box_bytes).map(box_of).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(descr: &str, shape: &str, order: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}\n");
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
    }

    #[test]
    fn boxes_of_both_precisions_and_shapes_are_read() {
        let numbers = [-1.0f32, 0.0, 0.1, 2.0, 3.5, f32::INFINITY];
        let expected = [Aabb::new([-1.0, 0.0, 0.1], [2.0, 3.5, f32::INFINITY])];
        for shape in ["(1, 6)", "(1, 2, 3)"] {
            assert_eq!(boxes(&file("<f4", shape, "False", bytemuck::bytes_of(&numbers))).unwrap(), expected);
            let doubles = numbers.map(f64::from);
            assert_eq!(boxes(&file("<f8", shape, "False", bytemuck::bytes_of(&doubles))).unwrap(), expected);
        }
        let tenth = [0.1f64; 6];
        let [rounded] = boxes(&file("<f8", "(1, 6)", "False", bytemuck::bytes_of(&tenth))).unwrap()[..] else {
            panic!()
        };
        assert!(f64::from(rounded.min[0]) < 0.1 && f64::from(rounded.max[0]) > 0.1);
        assert!(boxes(&file("<f4", "(0, 6)", "False", &[])).unwrap().is_empty());
    }

    #[test]
    fn other_files_are_refused_with_the_reason() {
        let whole = file("<f4", "(1, 6)", "False", &[0; 24]);
        for end in 0..whole.len() {
            assert!(boxes(&whole[..end]).is_err(), "{end}");
        }
        for (bytes, reason) in [
            (file("<f4", "(1, 6)", "False", &[0; 25]), "25 bytes follow"),
            (file("<f4", "(6, 1)", "True", &[0; 24]), "Fortran"),
            (file("<i4", "(1, 6)", "False", &[0; 24]), "dtype"),
            (file("<f4", "(6,)", "False", &[0; 24]), "its shape is (6,)"),
            (file("<f4", "(99999999999999999999, 6)", "False", &[0; 24]), "its shape is"),
            (file("<f4", "(4611686018427387904, 6)", "False", &[]), "boxes have 24"),
        ] {
            let error = boxes(&bytes).unwrap_err();
            assert!(error.to_string().contains(reason), "{error}");
        }
    }
}
