//! Points and spheres whose pairs are recorded.

use broadsweep::neighbour::{NeighbourOptions, PointSet};
use broadsweep::record::GpuInput;
use broadsweep::{Aabb, Error, Gpu, Options, Pair, Recorder, cpu};

use crate::inputs::spheres;
use crate::steps::{encoder, list, list_of, upload};

/// The distance of points that are pairs.
const DISTANCE: f32 = 5.0;

/// Records the pairs of points and of spheres, in the middle of boxes. Some have no radius.
pub fn record(gpu: &Gpu, options: Options, boxes: &[Aabb]) -> Result<Vec<Pair>, Error> {
    let mut recorder = Recorder::new(gpu, options)?;
    let points = spheres(boxes);
    recorder.reserve(points.len(), (points.len() * points.len()) as u32)?;
    let buffer = upload(gpu, &points);
    let inputs =
        [GpuInput::Points { points: buffer.slice(..), distance: DISTANCE }, GpuInput::Spheres(buffer.slice(..))];
    let mut all = Vec::new();
    for input in inputs {
        let mut recorded = encoder(gpu);
        let left = recorder.record(&mut recorded, input, points.len() as u32)?;
        gpu.queue().submit([recorded.finish()]);
        all.extend(list(gpu, &left));
    }
    Ok(all)
}

/// Returns the expected result.
pub fn expected(boxes: &[Aabb]) -> Vec<Pair> {
    let points = spheres(boxes);
    let centers: Vec<[f32; 3]> = points.iter().map(|&[x, y, z, _]| [x, y, z]).collect();
    let mut all = list_of(&cpu::find_neighbours(&centers, DISTANCE).expect("points").pairs, 0);
    let is_valid = |point: &[f32; 4]| point[3].is_finite();
    let centers: Vec<[f32; 3]> = points
        .iter()
        .map(|point| if is_valid(point) { [point[0], point[1], point[2]] } else { [f32::NAN; 3] })
        .collect();
    let radii: Vec<f32> = points.iter().map(|point| if is_valid(point) { point[3] } else { 0.0 }).collect();
    let mut neighbours = cpu::Neighbours::new(NeighbourOptions::new(0.0));
    let found = neighbours.find(PointSet::new(&centers).with_radii(&radii)).expect("spheres");
    all.extend(list_of(&found.pairs, 0));
    all
}
