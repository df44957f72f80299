//! A tree on each engine. Every answer of one is compared with that of the other, bit for bit.

use broadsweep::filter::Attribute;
use broadsweep::query::{Batch, Cast, Near, NearestQuery, QueryReport, Shape, TreeReport};
use broadsweep::{Aabb, Answers, Error, Filters, Hit, Lists, Tree, cpu};

use crate::common::GPU;

/// Two trees of the same boxes.
pub struct Both {
    pub cpu: cpu::Tree,
    pub gpu: std::cell::RefCell<Tree>,
}

/// Answers that can be compared bit for bit.
trait Bits: Copy {
    fn bits(self) -> [u32; 2];
}

impl Bits for Hit {
    fn bits(self) -> [u32; 2] {
        [self.index, self.t.to_bits()]
    }
}

impl Bits for Near {
    fn bits(self) -> [u32; 2] {
        [self.index, self.squared_distance.to_bits()]
    }
}

impl Bits for u32 {
    fn bits(self) -> [u32; 2] {
        [self, 0]
    }
}

impl Bits for bool {
    fn bits(self) -> [u32; 2] {
        [u32::from(self), 0]
    }
}

fn compare<T: Bits + std::fmt::Debug>(on_cpu: &[T], on_gpu: &[T], reports: [&QueryReport; 2]) {
    let differs = (0..on_cpu.len().max(on_gpu.len()))
        .find(|&i| on_cpu.get(i).map(|a| a.bits()) != on_gpu.get(i).map(|b| b.bits()));
    if let Some(i) = differs {
        panic!("answer {i} is {:?} on the CPU and {:?} on the GPU", on_cpu.get(i), on_gpu.get(i));
    }
    assert_eq!(reports[0], reports[1]);
}

fn same<T: PartialEq + std::fmt::Debug>(on_cpu: Result<T, Error>, on_gpu: Result<T, Error>) -> Result<T, Error> {
    match (&on_cpu, &on_gpu) {
        (Ok(a), Ok(b)) => assert_eq!(a, b),
        (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string()),
        (a, b) => panic!("{a:?} on the CPU and {b:?} on the GPU"),
    }
    on_cpu
}

/// Reports are the same, but for memory and for what the surface of other nodes is.
fn same_report(on_cpu: &TreeReport, on_gpu: &TreeReport) {
    let of = |report: &TreeReport| (report.box_count, report.invalid_count, report.first_invalid.clone());
    assert_eq!(of(on_cpu), of(on_gpu));
}

macro_rules! answers {
    ($on_cpu:expr, $on_gpu:expr) => {
        match ($on_cpu, $on_gpu) {
            (Ok(a), Ok(b)) => {
                compare(&a.answers, &b.answers, [&a.report, &b.report]);
                Ok(a)
            }
            (a, b) => same(a, b),
        }
    };
}

macro_rules! lists {
    ($on_cpu:expr, $on_gpu:expr) => {
        match ($on_cpu, $on_gpu) {
            (Ok(a), Ok(b)) => {
                assert_eq!(a.offsets, b.offsets);
                compare(&a.answers, &b.answers, [&a.report, &b.report]);
                Ok(a)
            }
            (a, b) => same(a, b),
        }
    };
}

impl Both {
    pub fn new() -> Self {
        Self { cpu: cpu::Tree::new(), gpu: Tree::new(&GPU).unwrap().into() }
    }

    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        same(self.cpu.set_filters(filters.clone()), self.gpu.get_mut().set_filters(filters))
    }

    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        same(self.cpu.change_filters(first, values), self.gpu.get_mut().change_filters(first, values))
    }

    pub fn build(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        let (on_cpu, on_gpu) = (self.cpu.build(boxes).cloned(), self.gpu.get_mut().build(boxes).cloned());
        self.reported(on_cpu, on_gpu)
    }

    pub fn refit(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        let (on_cpu, on_gpu) = (self.cpu.refit(boxes).cloned(), self.gpu.get_mut().refit(boxes).cloned());
        self.reported(on_cpu, on_gpu)
    }

    fn reported(
        &self,
        on_cpu: Result<TreeReport, Error>,
        on_gpu: Result<TreeReport, Error>,
    ) -> Result<&TreeReport, Error> {
        match (on_cpu, on_gpu) {
            (Ok(a), Ok(b)) => {
                same_report(&a, &b);
                Ok(self.cpu.report())
            }
            (a, b) => same(a, b).map(|_| self.cpu.report()),
        }
    }

    pub fn nearest_hits<'a, C: Cast + 'a>(&self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<Hit>, Error> {
        let batch = casts.into();
        answers!(self.cpu.nearest_hits(batch), self.gpu.borrow_mut().nearest_hits(batch))
    }

    pub fn first_hits<'a, C: Cast + 'a>(&self, casts: impl Into<Batch<'a, C>>, k: usize) -> Result<Lists<Hit>, Error> {
        let batch = casts.into();
        lists!(self.cpu.first_hits(batch, k), self.gpu.borrow_mut().first_hits(batch, k))
    }

    pub fn any_hits<'a, C: Cast + 'a>(&self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<bool>, Error> {
        let batch = casts.into();
        answers!(self.cpu.any_hits(batch), self.gpu.borrow_mut().any_hits(batch))
    }

    pub fn all_hits<'a, C: Cast + 'a>(&self, casts: impl Into<Batch<'a, C>>) -> Result<Lists<Hit>, Error> {
        let batch = casts.into();
        lists!(self.cpu.all_hits(batch), self.gpu.borrow_mut().all_hits(batch))
    }

    pub fn overlaps<'a, S: Shape + 'a>(&self, shapes: impl Into<Batch<'a, S>>) -> Result<Lists<u32>, Error> {
        let batch = shapes.into();
        lists!(self.cpu.overlaps(batch), self.gpu.borrow_mut().overlaps(batch))
    }

    pub fn nearest<'a>(&self, points: impl Into<Batch<'a, NearestQuery>>, k: usize) -> Result<Lists<Near>, Error> {
        let batch = points.into();
        lists!(self.cpu.nearest(batch, k), self.gpu.borrow_mut().nearest(batch, k))
    }
}
