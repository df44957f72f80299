//! Numbers that stand for enums and special values in kernels.

shared_constants! {
    /// `ValueFormat::U32`.
    FORMAT_U32: u32 = 0;
    /// `ValueFormat::Flags`.
    FORMAT_FLAGS: u32 = 1;
    /// `ValueFormat::Margins`.
    FORMAT_MARGINS: u32 = 2;

    /// Boxes are those of the last step with the same index.
    NAMING_INDEX: u32 = 0;
    /// Of each box there is a number, which another box in its place does not have.
    NAMING_GENERATIONS: u32 = 1;
    /// Of each box there is the index that it had in the last step.
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
    /// There are more pairs than the list holds.
    OVERFLOW_PAIRS: u32 = 1;
    /// There are more candidates than `Options::candidate_limit`; nothing was tested.
    OVERFLOW_CANDIDATES: u32 = 2;
    /// Answers could not be written to their end in the rounds that were recorded; none is there.
    OVERFLOW_UNFINISHED: u32 = 3;
    /// Two boxes were said to be one of the last step; nothing was compared.
    OVERFLOW_NAMES: u32 = 4;
    /// The number of boxes, in a buffer, is beyond what there is room for; nothing was tested.
    OVERFLOW_BOXES: u32 = 5;
    /// The number of pairs to exclude, in a buffer, is beyond what there is room for; nothing was tested.
    OVERFLOW_FILTERS: u32 = 6;
    /// `Params::is_beyond`: the number of boxes is.
    BEYOND_BOXES: u32 = 1;
    /// `Params::is_beyond`: the number of pairs to exclude is.
    BEYOND_FILTERS: u32 = 2;
    /// In place of the beginning of a list of the filters: the list is empty.
    ABSENT: u32 = u32::MAX;
    /// `GroupRule::Any`.
    RULE_ANY: u32 = 0;
    /// `GroupRule::Both`.
    RULE_BOTH: u32 = 1;
    /// `Filters::NO_PARENT`.
    NO_PARENT: u32 = u32::MAX;
    /// Stands for `Filters::GLOBAL` among the numbers of worlds.
    WORLD_GLOBAL: u32 = u32::MAX;
}
