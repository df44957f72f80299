// How an epoch ends for which there is no room. Shared by the kernels that may change `epoch`.

fn end_epoch() {
    epoch.mode = EPOCH_NONE;
    epoch.version = 0u;
    epoch.kept = 0u;
    epoch.apart = 0u;
    epoch.is_tight = 1u;
    let wait = longer_wait(epoch.next_wait);
    epoch.next_wait = wait;
    epoch.wait = wait;
}
