// How long the next epoch waits. Shared by the kernels that end one.

// Returns the steps to wait after an epoch that was not worth its search, where the last wait was this long.
fn longer_wait(last: u32) -> u32 {
    return clamp(2u * last, 1u, EPOCH_LONGEST_WAIT);
}
