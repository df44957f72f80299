// Where the keys of a section go, from the counts of sort_count: shared by the kernels that scatter, which bind `histograms` and
// `digit_sums`, two digits at a time.
// Source: each consumer adds up the sums before its own, in place of a kernel that scans them.

// Two digits in a row, which one invocation looks after.
struct Digits {
    before: vec2<u32>,        // keys of the digit in earlier sections
    totals: vec2<u32>,        // keys of the digit in all sections
}

// Returns these counts of digits 2 * word and 2 * word + 1, where there are `words` such pairs of digits.
fn digits_of_section(section: u32, section_count: u32, word: u32, words: u32) -> Digits {
    let group = section / SECTION_GROUP;
    let earlier = group_sums(0u, group, word, words);
    let later = group_sums(group, div_ceil(section_count, SECTION_GROUP), word, words);
    return Digits(earlier + section_sums(group * SECTION_GROUP, section, word, words), earlier + later);
}

// Adds up the counts of groups. Eight are loaded at once.
fn group_sums(first: u32, end: u32, word: u32, words: u32) -> vec2<u32> {
    var sum = vec2<u32>(0u);
    for (var row = first; row < end; row += 8u) {
        sum += group_row(row, end, word, words) + group_row(row + 1u, end, word, words)
            + group_row(row + 2u, end, word, words) + group_row(row + 3u, end, word, words)
            + group_row(row + 4u, end, word, words) + group_row(row + 5u, end, word, words)
            + group_row(row + 6u, end, word, words) + group_row(row + 7u, end, word, words);
    }
    return sum;
}

fn group_row(row: u32, end: u32, word: u32, words: u32) -> vec2<u32> {
    if row < end {
        return digit_sums[row * words + word];
    }
    return vec2<u32>(0u);
}

// Does so for sections.
fn section_sums(first: u32, end: u32, word: u32, words: u32) -> vec2<u32> {
    var sum = vec2<u32>(0u);
    for (var row = first; row < end; row += 8u) {
        sum += section_row(row, end, word, words) + section_row(row + 1u, end, word, words)
            + section_row(row + 2u, end, word, words) + section_row(row + 3u, end, word, words)
            + section_row(row + 4u, end, word, words) + section_row(row + 5u, end, word, words)
            + section_row(row + 6u, end, word, words) + section_row(row + 7u, end, word, words);
    }
    return sum;
}

fn section_row(row: u32, end: u32, word: u32, words: u32) -> vec2<u32> {
    if row < end {
        return histograms[row * words + word];
    }
    return vec2<u32>(0u);
}
