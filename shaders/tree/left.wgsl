// What a query leaves for the next dispatch: a place among the leaves from which it is resumed, or one of these. Shared by the
// kernels that walk and those that follow them.

// Nothing is left.
const NOWHERE: u32 = 0xffffffffu;
// The query begins again at the first place, in any order.
const AGAIN: u32 = 0xfffffffeu;
// The query has no meaning.
const INVALID_QUERY: u32 = 0xfffffffdu;
