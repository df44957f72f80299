//! Scenes with filters: `.npz` files, as `np.savez` and `np.savez_compressed` write them.
//!
//! A file may be broken or made to harm. Nothing is allocated from a claim before the data are there, names that are
//! not known are not read, and every array is compared with its checksum.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use broadsweep::filter::{HalfSpace, sphere_from_f64};
use broadsweep::{Aabb, Filters, Pair};
use flate2::read::DeflateDecoder;
use laboratory::scenes::npy::{self, Array, Number};
use rawzip::{
    CompressionMethod, ErrorKind, FileReader, RECOMMENDED_BUFFER_SIZE, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder,
};

/// The arrays that there can be.
const KNOWN: [&str; 16] = [
    "boxes",
    "group",
    "mask",
    "body",
    "parent",
    "fixed",
    "sleeping",
    "second",
    "world",
    "margin",
    "sphere",
    "exclude",
    "include",
    "half_space_box",
    "half_space",
    "owner",
];

/// Reads the boxes of a file and its filters, whose rule is left to the caller.
pub fn read(path: &Path) -> Result<(Vec<Aabb>, Filters)> {
    open(path, &KNOWN, Arrays::read_scene)
}

/// Opens a file whose arrays may have these names, and shows them to `read`.
pub fn open<T>(path: &Path, known: &[&'static str], read: impl FnOnce(&Arrays<FileReader>) -> Result<T>) -> Result<T> {
    let read = || {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        ensure!(!metadata.is_dir(), "it is a directory; give a file");
        ensure!(
            metadata.is_file(),
            "it is a pipe or a device, and the directory of a zip file is at its end; give `-` and a pipe on stdin"
        );
        let mut buffer = vec![0; RECOMMENDED_BUFFER_SIZE];
        read(&Arrays::open(ZipArchive::from_file(file, &mut buffer).map_err(damaged)?, &mut buffer, known)?)
    };
    read().map_err(|error: Error| anyhow!("cannot read {}: {error:#}", path.display()))
}

/// Reads boxes and filters from the bytes of a file.
pub fn read_bytes(bytes: Vec<u8>) -> Result<(Vec<Aabb>, Filters)> {
    let archive = ZipArchive::from_slice(bytes).map_err(damaged)?;
    Arrays::open(archive.into_reader_archive(), &mut vec![0; RECOMMENDED_BUFFER_SIZE], &KNOWN)?.read_scene()
}

fn damaged(error: rawzip::Error) -> Error {
    match error.into_kind() {
        ErrorKind::MissingEndOfCentralDirectory => {
            anyhow!("it is no .npz file, or it is truncated: it has no zip directory")
        }
        ErrorKind::IO(error) if !is_damage(&error) => error.into(),
        kind => anyhow!("it is truncated or damaged: {kind}"),
    }
}

/// Tells whether the data are wrong, and not the system.
fn is_damage(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput | io::ErrorKind::UnexpectedEof)
}

/// The arrays of a file.
pub struct Arrays<R> {
    archive: ZipArchive<R>,
    arrays: BTreeMap<&'static str, Entry>,
}

struct Entry {
    at: ZipArchiveEntryWayfinder,
    is_deflated: bool,
}

impl<R: ReaderAt> Arrays<R> {
    fn open(archive: ZipArchive<R>, buffer: &mut [u8], known: &[&'static str]) -> Result<Self> {
        let mut arrays = BTreeMap::new();
        let mut entries = archive.entries(buffer);
        let mut count = 0;
        while let Some(entry) = entries.next_entry().map_err(damaged)? {
            count += 1;
            let path = entry.file_path();
            let file = String::from_utf8_lossy(path.as_bytes());
            let name = file.strip_suffix(".npy");
            let Some(name) = known.iter().copied().find(|known| Some(*known) == name) else {
                let name: String = name.unwrap_or(&file).chars().take(40).collect();
                bail!("it has an unknown array, {name:?}; the known ones are {}", known.join(", "));
            };
            ensure!(
                !entry.flags().is_encrypted(),
                "`{name}` is encrypted, which is not supported; write it with np.savez"
            );
            let is_deflated = match entry.compression_method() {
                CompressionMethod::STORE => false,
                CompressionMethod::DEFLATE => true,
                method => bail!(
                    "`{name}` is compressed with {method}, which is not supported; write it with np.savez_compressed"
                ),
            };
            let entry = Entry { at: entry.wayfinder(), is_deflated };
            ensure!(arrays.insert(name, entry).is_none(), "it has `{name}` twice; one is needed");
        }
        let expected = archive.entries_hint();
        ensure!(
            count == expected,
            "it is truncated or damaged: it has {count} arrays, and its directory has {expected}"
        );
        Ok(Self { archive, arrays })
    }

    fn read_scene(&self) -> Result<(Vec<Aabb>, Filters)> {
        let boxes = self.boxes(npy::MOST_BOXES)?;
        let count = boxes.len();
        let pairs = |name| -> Result<Vec<Pair>> {
            let pairs: Vec<[u32; 2]> = self.table(name)?.unwrap_or_default();
            Ok(pairs.into_iter().map(|[a, b]| Pair { a, b }).collect())
        };
        let filters = Filters::default()
            .with_group(self.list("group", count)?)
            .with_mask(self.list("mask", count)?)
            .with_body(self.list("body", count)?)
            .with_parent(self.list("parent", count)?)
            .with_fixed(self.list("fixed", count)?)
            .with_sleeping(self.list("sleeping", count)?)
            .with_second(self.list("second", count)?)
            .with_world(self.list("world", count)?)
            .with_margin(self.margins(count)?)
            .with_sphere(self.spheres_of_boxes()?)
            .with_exclude(pairs("exclude")?)
            .with_include(pairs("include")?)
            .with_half_spaces(self.half_spaces()?)
            .with_owner(self.owner()?);
        filters.check(count).map_err(in_arrays)?;
        Ok((boxes, filters))
    }

    /// Reads margins, rounded up, so that none gets smaller.
    fn margins(&self, box_count: usize) -> Result<Vec<f32>> {
        let margins: Vec<f64> = self.list("margin", box_count)?;
        Ok(margins.into_iter().map(|margin| Aabb::from_f64([0.0; 3], [margin; 3]).max[0]).collect())
    }

    /// Reads the spheres of boxes, if there are any. Spheres of 2D boxes have two coordinates.
    fn spheres_of_boxes(&self) -> Result<Vec<[f32; 4]>> {
        if !self.has("sphere") {
            return Ok(Vec::new());
        }
        match self.shape("boxes")?[..] {
            [_, 4] | [_, 2, 2] => self.spheres(&[3]),
            _ => self.spheres(&[4]),
        }
    }

    /// Reads spheres of one of these widths, rounded outward; in 2D, z is 0. None where the file has none.
    pub fn spheres(&self, widths: &[u64]) -> Result<Vec<[f32; 4]>> {
        if !self.has("sphere") {
            return Ok(Vec::new());
        }
        let (width, numbers) = self.needed("sphere", |array| array.read_rows::<f64>(widths))?;
        let mut spheres = Vec::new();
        let count = numbers.len() / width;
        spheres.try_reserve_exact(count).map_err(|_| anyhow!("there is no memory for {count} spheres"))?;
        spheres.extend(numbers.chunks_exact(width).map(|row| {
            let z = if width == 4 { row[2] } else { 0.0 };
            sphere_from_f64([row[0], row[1], z], row[width - 1])
        }));
        Ok(spheres)
    }

    /// Reads the region, which is not rounded: tiles share faces exactly.
    fn owner(&self) -> Result<Option<Aabb>> {
        let Some(rows) = self.table::<f64, 3>("owner")? else { return Ok(None) };
        let [min, max] = rows[..] else { bail!("`owner`: it has {} rows; 2 are needed, `min` and `max`", rows.len()) };
        for (corner, x) in [(0, min), (1, max)].into_iter().flat_map(|(corner, xs)| xs.map(|x| (corner, x))) {
            let is_single = x.is_nan() || f64::from(x as f32) == x;
            ensure!(
                is_single,
                "`owner[{corner}]` has {x}, which float32 does not hold; tiles must share faces exactly, so round them first"
            );
        }
        Ok(Some(Aabb { min: min.map(|x| x as f32), max: max.map(|x| x as f32) }))
    }

    fn half_spaces(&self) -> Result<Vec<HalfSpace>> {
        let planes: Option<Vec<[f32; 4]>> = self.table("half_space")?;
        let indices = match &planes {
            Some(planes) => self.column("half_space_box", planes.len(), "row of `half_space`")?,
            None => None,
        };
        let (planes, indices) = match (planes, indices) {
            (Some(planes), Some(indices)) => (planes, indices),
            (None, None) if !self.arrays.contains_key("half_space_box") => return Ok(Vec::new()),
            _ => bail!("it has only one of `half_space` and `half_space_box`; both are needed"),
        };
        let half_space = |([x, y, z, offset], index): ([f32; 4], u32)| HalfSpace { index, normal: [x, y, z], offset };
        Ok(planes.into_iter().zip(indices).map(half_space).collect())
    }

    /// Reads a number for each box; empty where the array is missing.
    fn list<T: Number>(&self, name: &str, box_count: usize) -> Result<Vec<T>> {
        Ok(self.column(name, box_count, "box")?.unwrap_or_default())
    }

    /// Tells whether there is an array of this name.
    pub fn has(&self, name: &str) -> bool {
        self.arrays.contains_key(name)
    }

    /// Reads boxes, up to a count of `most`. They are the array that the file has to have.
    pub fn boxes(&self, most: u64) -> Result<Vec<Aabb>> {
        self.needed("boxes", |array| array.read_boxes(most))
    }

    /// Reads the rows of an array that the file has to have, which have one of these widths.
    pub fn rows(&self, name: &str, widths: &[u64]) -> Result<(usize, Vec<f32>)> {
        self.needed(name, |array| array.read_rows(widths))
    }

    fn needed<T>(
        &self,
        name: &str,
        read: impl FnOnce(Array<Box<dyn Read + '_>>) -> Result<T, npy::Error>,
    ) -> Result<T> {
        self.array(name, read)?.with_context(|| format!("it has no array `{name}`, which is required"))
    }

    /// Reads the shape of an array; empty where the array is missing.
    fn shape(&self, name: &str) -> Result<Vec<u64>> {
        let Some(source) = self.source(name)? else { return Ok(Vec::new()) };
        Ok(Array::open(source, None).map_err(|error| of_array(name, error))?.shape().to_vec())
    }

    /// Reads a column of numbers of any length.
    pub fn any_column<T: Number>(&self, name: &str) -> Result<Option<Vec<T>>> {
        let length = self.shape(name)?.first().copied();
        self.column(name, length.unwrap_or(0) as usize, "element")
    }

    /// Reads a column of numbers, one for each of the things that `what` names.
    pub fn column<T: Number>(&self, name: &str, length: usize, what: &str) -> Result<Option<Vec<T>>> {
        let Some(source) = self.source(name)? else { return Ok(None) };
        let array = Array::open(source, None).map_err(|error| of_array(name, error))?;
        ensure!(
            *array.shape() == [length as u64],
            "`{name}`: its shape is {}; ({length},) is needed, a number for each {what}",
            npy::describe_shape(array.shape())
        );
        array.read().map(Some).map_err(|error| of_array(name, error))
    }

    /// Reads rows of `N` numbers.
    fn table<T: Number, const N: usize>(&self, name: &str) -> Result<Option<Vec<[T; N]>>> {
        self.array(name, |array| {
            let (_, numbers) = array.read_rows::<T>(&[N as u64])?;
            let bytes = size_of_val(numbers.as_slice()) as u64;
            let mut rows = Vec::new();
            rows.try_reserve_exact(numbers.len() / N).map_err(|_| npy::Error::NoMemory { bytes })?;
            rows.extend_from_slice(numbers.as_chunks().0);
            Ok(rows)
        })
    }

    fn array<T>(
        &self,
        name: &str,
        read: impl FnOnce(Array<Box<dyn Read + '_>>) -> Result<T, npy::Error>,
    ) -> Result<Option<T>> {
        let Some(source) = self.source(name)? else { return Ok(None) };
        Array::open(source, None).and_then(read).map(Some).map_err(|error| of_array(name, error))
    }

    /// Opens the bytes of an array. The last of them come only if the checksum is right.
    fn source(&self, name: &str) -> Result<Option<Box<dyn Read + '_>>> {
        let Some(entry) = self.arrays.get(name) else {
            return Ok(None);
        };
        let found = self.archive.get_entry(entry.at).map_err(damaged)?;
        Ok(Some(match entry.is_deflated {
            true => Box::new(found.verifying_reader(DeflateDecoder::new(found.reader()))),
            false => Box::new(found.verifying_reader(found.reader())),
        }))
    }
}

/// Says what is wrong with the values of a filter, under the name that it has in a file.
fn in_arrays(error: broadsweep::Error) -> Error {
    match error {
        broadsweep::Error::BadFilter { list: "half_spaces", index, problem } => {
            broadsweep::Error::BadFilter { list: "half_space", index, problem }.into()
        }
        error => error.into(),
    }
}

/// Adds the array's name.
fn of_array(name: &str, error: npy::Error) -> Error {
    match error {
        npy::Error::Io(error) if is_damage(&error) => anyhow!("`{name}` is truncated or damaged: {error}"),
        error => anyhow!("`{name}`: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use rawzip::ZipArchiveWriter;

    use super::*;

    /// Makes two boxes of two bodies, and an included pair.
    fn small(is_deflated: bool) -> Vec<u8> {
        let mut boxes = Vec::new();
        npy::write_boxes(&mut boxes, &[Aabb::new([0.0; 3], [1.0; 3]); 2]).unwrap();
        let mut include = Vec::new();
        npy::write_pairs_header(&mut include, 1).unwrap();
        npy::write_pairs(&mut include, &[Pair { a: 0, b: 1 }]).unwrap();
        let text = "{'descr': '<u4', 'fortran_order': False, 'shape': (2,), }\n";
        let body = [b"\x93NUMPY\x01\x00", &[text.len() as u8, 0][..], text.as_bytes(), &[1; 8]].concat();
        let mut writer = ZipArchiveWriter::new(Vec::new());
        for (name, data) in [("boxes.npy", boxes), ("include.npy", include), ("body.npy", body)] {
            let method = if is_deflated { CompressionMethod::DEFLATE } else { CompressionMethod::STORE };
            let (mut entry, config) = writer.new_file(name).compression_method(method).start().unwrap();
            let descriptor = if is_deflated {
                let mut to = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
                to.write_all(&data).unwrap();
                let (encoder, descriptor) = to.finish().unwrap();
                encoder.finish().unwrap();
                descriptor
            } else {
                let mut to = config.wrap(&mut entry);
                to.write_all(&data).unwrap();
                to.finish().unwrap().1
            };
            entry.finish(descriptor).unwrap();
        }
        writer.finish().unwrap()
    }

    #[test]
    fn what_is_cut_off_anywhere_is_refused() {
        for is_deflated in [false, true] {
            let bytes = small(is_deflated);
            let (boxes, filters) = read_bytes(bytes.clone()).unwrap();
            assert_eq!((boxes.len(), filters.body.len(), filters.include.len()), (2, 2, 1));
            for end in 0..bytes.len() {
                assert!(read_bytes(bytes[..end].to_vec()).is_err(), "{end} of {}", bytes.len());
            }
        }
    }

    #[test]
    fn a_wrong_bit_anywhere_gives_an_error_or_a_scene() {
        for is_deflated in [false, true] {
            let bytes = small(is_deflated);
            let mut errors = 0;
            for bit in 0..bytes.len() * 8 {
                let mut bytes = bytes.clone();
                bytes[bit / 8] ^= 1 << (bit % 8);
                match read_bytes(bytes) {
                    Ok((boxes, filters)) => filters.check(boxes.len()).unwrap(),
                    Err(_) => errors += 1,
                }
            }
            // All of the arrays, at least, which checksums watch over.
            assert!(errors > bytes.len() * 8 / 2, "{errors}");
        }
    }

    #[test]
    fn random_bytes_are_refused() {
        let mut state = 1u32;
        for length in 0..500 {
            let mut random = || {
                state = state.wrapping_mul(0x915f_77f5).wrapping_add(12345);
                (state >> 24) as u8
            };
            let bytes: Vec<u8> = b"PK\x05\x06".iter().copied().chain((0..length).map(|_| random())).collect();
            assert!(read_bytes(bytes).is_err());
        }
    }
}
