// Whether there is an epoch. Shared by the kernels that begin with it, which bind `epoch_params`, `epoch` and `filter_changes`.

// Tells whether there is an epoch, of these slots and filters.
fn has_epoch() -> bool {
    let is_same = epoch.version == epoch_params.version && epoch.changes == changes_of_filters();
    return is_same && epoch.slots == epoch_params.slots;
}

// Returns how often values of the filters have changed: by the host, and by commands of the device.
fn changes_of_filters() -> u32 {
    return filter_changes[0] + filter_changes[1];
}
