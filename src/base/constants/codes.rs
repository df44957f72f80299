//! Codes of enums and special values in kernels.

shared_constants! {
    /// `ValueFormat::U32`.
    FORMAT_U32: u32 = 0;
    /// `ValueFormat::Flags`.
    FORMAT_FLAGS: u32 = 1;
    /// `ValueFormat::Margins`.
    FORMAT_MARGINS: u32 = 2;
    /// `ValueFormat::Spheres`.
    FORMAT_SPHERES: u32 = 3;

    /// A box keeps its index from step to step.
    NAMING_INDEX: u32 = 0;
    /// Each box has a generation. A box that replaces another box at the same index has another generation.
    NAMING_GENERATIONS: u32 = 1;
    /// Each box has the index of the same box in the last step.
    NAMING_WAS: u32 = 2;

    /// `SweepAxis::Auto`.
    AXIS_AUTO: u32 = 0;
    /// `SweepAxis::Principal`.
    AXIS_PRINCIPAL: u32 = 1;
    /// `SweepAxis::X`; y and z follow.
    AXIS_X: u32 = 2;
    /// `CellSize::Auto`.
    CELL_AUTO: u32 = 0;
    /// `CellSize::Usscd`.
    CELL_USSCD: u32 = 1;
    /// `CellSize::Fixed`.
    CELL_FIXED: u32 = 2;
    /// There are more pairs than the capacity of the list.
    OVERFLOW_PAIRS: u32 = 1;
    /// There are more candidates than `Options::candidate_limit`; nothing was tested.
    OVERFLOW_CANDIDATES: u32 = 2;
    /// Answers could not be completed in the recorded rounds; none is written.
    OVERFLOW_UNFINISHED: u32 = 3;
    /// Two boxes have the same index in the last step; nothing was compared.
    OVERFLOW_NAMES: u32 = 4;
    /// The box count in a buffer exceeds the capacity; nothing was tested.
    OVERFLOW_BOXES: u32 = 5;
    /// The count of excluded pairs in a buffer exceeds the capacity; nothing was tested.
    OVERFLOW_FILTERS: u32 = 6;
    /// `Params::is_beyond`: the box count exceeds its capacity.
    BEYOND_BOXES: u32 = 1;
    /// `Params::is_beyond`: the count of excluded pairs exceeds its capacity.
    BEYOND_FILTERS: u32 = 2;
    /// The start of an empty list of the filters.
    ABSENT: u32 = u32::MAX;
    /// `GroupRule::Any`.
    RULE_ANY: u32 = 0;
    /// `GroupRule::Both`.
    RULE_BOTH: u32 = 1;
    /// `Filters::NO_PARENT`.
    NO_PARENT: u32 = u32::MAX;
    /// The value of `Filters::GLOBAL`.
    WORLD_GLOBAL: u32 = u32::MAX;
}
