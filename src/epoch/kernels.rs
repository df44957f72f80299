//! The kernels of the stage `epoch`: [`EpochKernels`].

use std::mem::offset_of;

use super::buffers::{EpochBuffers, EpochRoom, StepBoxes};
use crate::filters::lists::{FilterLists, Switches, filtered};
use crate::filters::rows;
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::kernel::{self, Kernel, Pass, Source, source};
use crate::layout::{EpochParams, EpochSizes, Params};
use crate::pairs::list::PairList;
use crate::{Error, Options, Pair};

/// The source of `epoch_put`.
pub const PUT: Source = source!("epoch/epoch_put");
/// The source of `epoch_check`.
pub const CHECK: Source = source!(
    "epoch/epoch_check",
    "epoch/known",
    "epoch/moved",
    "epoch/no_box",
    "epoch/fat",
    "epoch/set_fat",
    "epoch/margin",
    "filters/grow",
    "shared/boxes",
    "shared/float_parts"
);
/// The source of `epoch_look`.
pub const LOOK: Source = source!(
    "epoch/epoch_look",
    "epoch/known",
    "epoch/moved",
    "epoch/fat",
    "epoch/set_fat",
    "epoch/margin",
    "filters/grow",
    "shared/float_parts"
);
/// The source of `epoch_tally`.
pub const TALLY: Source = source!("epoch/epoch_tally", "epoch/known", "shared/scan");
/// The source of `epoch_decide`.
pub const DECIDE: Source =
    source!("epoch/epoch_decide", "epoch/known", "epoch/margin", "epoch/wait", "shared/boxes", "shared/scan");
/// The source of `epoch_mark`.
pub const MARK: Source =
    source!("epoch/epoch_mark", "epoch/fat", "epoch/states", "epoch/cells", "filters/by_box"; rows::WGSL);
/// The source of `epoch_grow`.
pub const GROW: Source = source!(
    "epoch/epoch_grow",
    "epoch/no_box",
    "epoch/set_fat",
    "epoch/set_searched",
    "epoch/margin",
    "filters/grow",
    "shared/boxes",
    "shared/float_parts"
);
/// The source of `epoch_select`.
pub const SELECT: Source = source!(
    "epoch/epoch_select", "epoch/no_box", "epoch/fat", "epoch/states", "epoch/cells", "epoch/stays", "filters/by_box"; rows::WGSL
);
/// The source of `epoch_gather`.
pub const GATHER: Source =
    source!("epoch/epoch_gather", "epoch/no_box", "epoch/fat", "epoch/set_searched", "epoch/runs", "shared/scan");
/// The source of `epoch_take`.
pub const TAKE: Source = source!("epoch/epoch_take", "epoch/wait", "epoch/end");
/// The source of `epoch_begin`.
pub const BEGIN: Source = source!("epoch/epoch_begin");
/// The source of `epoch_part`.
pub const PART: Source = source!("epoch/epoch_part", "epoch/slots", "epoch/states", "epoch/stays");
/// The source of `epoch_scan`.
pub const SCAN: Source = source!("epoch/epoch_scan", "epoch/wait", "epoch/end", "shared/scan");
/// The source of `epoch_list`.
pub const LIST: Source = source!("epoch/epoch_list", "epoch/slots", "epoch/runs", "shared/scan");
/// The source of `epoch_merge`.
pub const MERGE: Source = source!("epoch/epoch_merge", "shared/bisect", "shared/pair_order");
/// The source of `epoch_turn`.
pub const TURN: Source = source!("epoch/epoch_turn");
/// The source of `epoch_test`.
pub const TEST: Source = filtered!("epoch/epoch_test", "epoch/states", "epoch/meet", "shared/boxes");
/// The source of `epoch_apart`.
pub const APART: Source = filtered!("epoch/epoch_apart", "epoch/meet", "epoch/stays", "shared/boxes");
/// The source of `epoch_between`.
pub const BETWEEN: Source = source!("epoch/epoch_between", "shared/bisect", "shared/pair_order");
/// The source of `epoch_count`.
pub const COUNT: Source = source!("epoch/epoch_count");
/// The source of `epoch_place`.
pub const PLACE: Source = source!("epoch/epoch_place", "shared/bisect", "shared/pair_order");
/// The source of `epoch_join`.
pub const JOIN: Source = source!("epoch/epoch_join", "shared/bisect", "shared/pair_order");
/// The source of `epoch_header`.
pub const HEADER: Source = source!("epoch/epoch_header");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[
    PUT, CHECK, LOOK, TALLY, DECIDE, MARK, GROW, SELECT, GATHER, TAKE, BEGIN, PART, SCAN, LIST, MERGE, TURN, APART,
    TEST, BETWEEN, COUNT, PLACE, JOIN, HEADER,
];

/// The kernels of the stage `epoch`.
#[derive(Debug)]
pub struct EpochKernels {
    gpu: Gpu,
    put: Kernel,
    check: Kernel,
    look: Kernel,
    tally: Kernel,
    decide: Kernel,
    mark: Kernel,
    grow: Kernel,
    select: Kernel,
    scan_searched: Option<Kernel>,
    gather: Kernel,
    take: Kernel,
    begin: Kernel,
    part_fresh: Kernel,
    part_rest: Kernel,
    scan_fresh: Kernel,
    scan_rest: Kernel,
    scan_apart: Kernel,
    scan_kept: Kernel,
    list_found: Kernel,
    list: Kernel,
    merge: Kernel,
    turn: Kernel,
    test_apart: Kernel,
    test: Kernel,
    between: Kernel,
    count: Kernel,
    place: Kernel,
    join: Kernel,
    header: Kernel,
    params: Constants<EpochParams>,
}

/// What the kernels of a step read.
#[derive(Debug)]
pub struct Inputs<'a> {
    /// The parameters of the kernels, with the number of boxes of this step.
    pub params: &'a Buffer<Params>,
    /// The parameters of the epoch.
    pub epoch_params: &'a Buffer<EpochParams>,
    /// The boxes as they are searched: with their margins.
    pub boxes: wgpu::BindingResource<'a>,
    /// The filters, uploaded.
    pub filters: &'a FilterLists,
    /// How often their values have changed since there are epochs.
    pub filter_changes: &'a Buffer<u32>,
    /// What is kept from step to step.
    pub buffers: &'a EpochBuffers,
    /// The list of pairs.
    pub list: &'a PairList,
}

impl EpochKernels {
    /// Looks up the kernels of the stage for filters with these switches.
    pub fn new(gpu: &Gpu, switches: &Switches) -> Self {
        let (worlds, half_spaces) = (switches.world_names(), switches.half_space_names());
        // Filters go by the indices of boxes, which are others where boxes are searched one behind the other.
        let is_packed = switches.names().is_empty();
        let packed: &[&'static str] = if is_packed { &["IS_PACKED"] } else { &[] };
        Self {
            gpu: gpu.clone(),
            put: Kernel::new(gpu, &PUT),
            check: Kernel::new(gpu, &CHECK),
            look: Kernel::new(gpu, &LOOK),
            tally: Kernel::new(gpu, &TALLY),
            decide: Kernel::new(gpu, &DECIDE),
            mark: Kernel::specialised(gpu, &MARK, worlds),
            grow: Kernel::new(gpu, &GROW),
            select: Kernel::specialised(gpu, &SELECT, worlds),
            scan_searched: is_packed.then(|| Kernel::specialised(gpu, &SCAN, &["IS_SEARCHED"])),
            gather: Kernel::specialised(gpu, &GATHER, packed),
            take: Kernel::new(gpu, &TAKE),
            begin: Kernel::new(gpu, &BEGIN),
            part_fresh: Kernel::specialised(gpu, &PART, &[&["IS_FRESH"], packed].concat()),
            part_rest: Kernel::new(gpu, &PART),
            scan_fresh: Kernel::specialised(gpu, &SCAN, &["IS_FRESH"]),
            scan_rest: Kernel::specialised(gpu, &SCAN, &["IS_REST"]),
            scan_apart: Kernel::specialised(gpu, &SCAN, &["IS_APART"]),
            scan_kept: Kernel::specialised(gpu, &SCAN, &["IS_KEPT"]),
            list_found: Kernel::specialised(gpu, &LIST, packed),
            list: Kernel::new(gpu, &LIST),
            merge: Kernel::new(gpu, &MERGE),
            turn: Kernel::new(gpu, &TURN),
            test_apart: Kernel::specialised(gpu, &APART, half_spaces),
            test: Kernel::specialised(gpu, &TEST, half_spaces),
            between: Kernel::new(gpu, &BETWEEN),
            count: Kernel::new(gpu, &COUNT),
            place: Kernel::new(gpu, &PLACE),
            join: Kernel::new(gpu, &JOIN),
            header: Kernel::new(gpu, &HEADER),
            params: Constants::new("epoch_params"),
        }
    }

    /// Compiles the kernels of the stage, as far as they are not yet.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel; [`Error::DeviceLost`]; [`Error::OutOfMemory`].
    pub fn compile(&self) -> Result<(), Error> {
        kernel::compile(&self.gpu, &self.kernels())
    }

    /// Lists the kernels of the stage, but for those of steps of which the caller says what moved: they are compiled by the first of these.
    pub fn kernels(&self) -> Vec<&Kernel> {
        let Self {
            check,
            tally,
            decide,
            mark,
            grow,
            select,
            gather,
            take,
            begin,
            list,
            merge,
            turn,
            place,
            join,
            header,
            ..
        } = self;
        let Self { part_fresh, part_rest, scan_fresh, scan_rest, scan_apart, scan_kept, .. } = self;
        let Self { list_found, test_apart, test, between, count, .. } = self;
        let mut kernels =
            vec![check, tally, decide, mark, grow, select, gather, take, begin, list, merge, turn, place, join, header];
        kernels.extend([part_fresh, part_rest, scan_fresh, scan_rest, scan_apart, scan_kept]);
        kernels.extend([list_found, test_apart, test, between, count]);
        kernels.extend(&self.scan_searched);
        kernels
    }

    /// Records the putting of boxes that moved, `count` of them, in their places among those of the last step. The kernel is compiled
    /// by the first call on the device.
    pub fn record_put(&self, pass: &mut Pass, count: u32, boxes: &StepBoxes) {
        let buffers = [("moved_boxes", boxes.moved_boxes.all()), ("own_boxes", boxes.own_boxes.all())];
        self.put.dispatch(pass, count.div_ceil(256), &buffers);
    }

    /// Returns a uniform buffer with what the host says of an epoch of this many slots, whose filters' buffers have this version, in
    /// buffers with this room.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn params(
        &self,
        slots: u32,
        version: u32,
        room: &EpochRoom,
        list: &PairList,
        options: &Options,
    ) -> Result<Buffer<EpochParams>, Error> {
        let params = EpochParams {
            slots,
            version,
            capacity: u32::try_from(room.pairs).unwrap_or(u32::MAX).min(list.capacity),
            cell_mask: (32 * room.cell_words() - 1) as u32,
            list_capacity: list.capacity,
            vertices_per_pair: options.vertices_per_pair,
            // As much of it as a half, or all: a margin is 1.5 times a power of two.
            margin: options.step_margin.map_or(0, |margin| ((margin / 1.5).to_bits() >> 23).max(1)),
            unused_a: 0,
        };
        self.params.get(&self.gpu, params)
    }

    /// Records what comes before the search of grown boxes: which boxes that are, and how many. Where others than these cannot have moved, they
    /// alone are looked at: `moved` has so many boxes.
    pub fn record_choice(&self, pass: &mut Pass, inputs: &Inputs<'_>, moved: Option<(&Buffer<u32>, u32)>) {
        let all = inputs.all();
        let sizes = inputs.buffers.epoch_sizes.raw();
        match moved {
            Some((moved, count)) => {
                let mut looked = inputs.all();
                looked.insert(0, ("moved_boxes", moved.all()));
                self.look.dispatch(pass, count.div_ceil(256), &looked);
            }
            None => self.check.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, check), &all),
        }
        self.tally.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, tally), &all);
        self.decide.dispatch(pass, 1, &all);
        self.mark.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, mark), &all);
        self.grow.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, grow), &all);
        let mut chosen = inputs.all();
        chosen.insert(0, ("stays", inputs.buffers.searched_bits.all()));
        chosen.insert(0, ("kept_tiles", inputs.buffers.searched_tiles.all()));
        self.select.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, select), &chosen);
        if let Some(scan) = &self.scan_searched {
            scan.dispatch(pass, 1, &chosen);
        }
        self.gather.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, select), &chosen);
    }

    /// Records what comes behind the search of grown boxes: its pairs are kept as an epoch begins, and later take the place of those
    /// of the same boxes. And how many boxes are searched as they are.
    pub fn record_keep(&self, pass: &mut Pass, inputs: &Inputs<'_>) {
        let EpochBuffers { kept, kept_stays, apart, fresh, epoch_sizes, .. } = inputs.buffers;
        let (pairs, sizes) = (&inputs.list.list.pairs, epoch_sizes.raw());
        self.take.dispatch(pass, 1, &inputs.all());
        let mut begun = inputs.with(&[("pairs", pairs), ("kept", kept)]);
        begun.insert(0, ("stays", kept_stays.all()));
        self.begin.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, begin), &begun);
        let found = inputs.with(&[("pairs", pairs), ("listed", fresh)]);
        self.part_fresh.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, part_fresh), &found);
        self.scan_fresh.dispatch(pass, 1, &found);
        self.list_found.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, list_fresh), &found);
        // The list has room for others now.
        let rest = inputs.with(&[("pairs", apart), ("listed", pairs)]);
        self.part_rest.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, part_rest), &rest);
        self.scan_rest.dispatch(pass, 1, &rest);
        self.list.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, list_rest), &rest);
        let merged = inputs.with(&[("rest", pairs), ("fresh", fresh), ("apart", apart)]);
        self.merge.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, merge), &merged);
        self.turn.dispatch(pass, 1, &merged);
    }

    /// Records the listing of the pairs that overlap, of those that are kept, and their header, unless boxes were searched as
    /// they are.
    pub fn record_list(&self, pass: &mut Pass, inputs: &Inputs<'_>) {
        let EpochBuffers { kept, kept_stays, kept_tiles, apart, fresh, epoch_sizes, .. } = inputs.buffers;
        let (pairs, sizes) = (&inputs.list.list.pairs, epoch_sizes.raw());
        let of_apart = inputs.with(&[("pairs", apart), ("listed", fresh)]);
        self.test_apart.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, test_apart), &of_apart);
        self.scan_apart.dispatch(pass, 1, &of_apart);
        self.list.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, list_apart), &of_apart);
        let mut of_kept = inputs.with(&[("pairs", kept), ("apart_result", fresh), ("listed", pairs)]);
        of_kept.insert(0, ("stays", kept_stays.all()));
        of_kept.insert(0, ("kept_tiles", kept_tiles.all()));
        self.test.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, test_kept), &of_kept);
        self.between.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, between), &of_kept);
        self.count.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, count), &of_kept);
        self.scan_kept.dispatch(pass, 1, &of_kept);
        self.place.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, place), &of_kept);
        self.join.dispatch_indirect(pass, sizes, offset_of!(EpochSizes, join), &of_kept);
        self.header.dispatch(pass, 1, &of_kept);
    }
}

impl Inputs<'_> {
    /// Lists what kernels bind, the lists of pairs aside.
    fn all(&self) -> Vec<(&'static str, wgpu::BindingResource<'_>)> {
        let Self { params, epoch_params, boxes, filters, filter_changes, buffers, list } = self;
        vec![
            ("params", params.all()),
            ("epoch_params", epoch_params.all()),
            ("boxes", boxes.clone()),
            ("epoch", buffers.epoch.all()),
            ("epoch_sizes", buffers.epoch_sizes.all()),
            ("last", buffers.last.all()),
            ("fat", buffers.fat.all()),
            ("searched", buffers.searched.all()),
            ("searched_ids", buffers.searched_ids.all()),
            ("moves", buffers.moves.all()),
            ("states", buffers.states.all()),
            ("escape_tiles", buffers.escape_tiles.all()),
            ("sample", buffers.sample.all()),
            ("marks", buffers.marks.all()),
            ("grown_count", buffers.grown_count.all()),
            ("direct_count", buffers.direct_count.all()),
            ("stays", buffers.stays.all()),
            ("kept_tiles", buffers.stay_tiles.all()),
            ("flips", buffers.flips.all()),
            ("between", buffers.between.all()),
            ("between_tiles", buffers.between_tiles.all()),
            ("ranks", buffers.ranks.all()),
            ("filter_changes", filter_changes.all()),
            ("filter_layout", filters.layout.all()),
            ("filters", filters.words.all()),
            ("header", list.list.header.all()),
            ("arguments", list.list.arguments.all()),
        ]
    }

    /// Lists what kernels bind, with these lists of pairs.
    fn with<'a>(
        &'a self,
        lists: &[(&'static str, &'a Buffer<Pair>)],
    ) -> Vec<(&'static str, wgpu::BindingResource<'a>)> {
        let mut all = self.all();
        all.extend(lists.iter().map(|(name, list)| (*name, list.all())));
        all
    }
}
