// Counts each digit in a section of keys. Shared by the kernels that count digits, which bind `sort_pass`, `histograms`
// and `digit_sums`.

// A count per digit. The last element counts missing keys after the end.
var<workgroup> histogram: array<atomic<u32>, BALLOT_RADIX + 1u>;

fn digit_of(key: u32) -> u32 {
    return (key >> sort_pass.shift) & ((1u << sort_pass.digit_bits) - 1u);
}

// Clears the counts. Every invocation of the workgroup must call it.
fn clear_histogram(local: u32) {
    for (var bin = local; bin <= 1u << sort_pass.digit_bits; bin += 256u) {
        atomicStore(&histogram[bin], 0u);
    }
    workgroupBarrier();
}

// Writes the counts of a section, and adds them to the counts of its group. The order of the additions does not matter.
// Every invocation of the workgroup must call it.
fn write_histogram(section: u32, local: u32) {
    workgroupBarrier();
    let radix = 1u << sort_pass.digit_bits;
    for (var digit = local; digit < radix; digit += 256u) {
        let count = atomicLoad(&histogram[digit]);
        histograms[section * radix + digit] = count;
        if count > 0u {
            atomicAdd(&digit_sums[section / SECTION_GROUP * radix + digit], count);
        }
    }
}
