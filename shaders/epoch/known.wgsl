// Whether there is an epoch. Shared by the kernels that begin with it, which bind `epoch_params`, `epoch` and `filter_changes`.

// Tells whether there is an epoch, of these slots and filters.
fn has_epoch() -> bool {
    let is_same = epoch.version == epoch_params.version && epoch.changes == filter_changes[0];
    return is_same && epoch.slots == epoch_params.slots;
}
