// Computes the places of the keys of a section from the counts of sort_count. Shared by the kernels that scatter, which
// bind `histograms` and `digit_sums`, two digits at a time.

// Two consecutive digits of one invocation.
struct Digits {
    before: vec2<u32>,        // keys of the digit in earlier sections
    totals: vec2<u32>,        // keys of the digit in all sections
}

// Returns the counts of digits 2 * word and 2 * word + 1. There are `words` such pairs of digits.
fn digits_of_section(section: u32, section_count: u32, word: u32, words: u32) -> Digits {
    let group = section / SECTION_GROUP;
    let earlier = sum_groups(word, group * words, words);
    let later = sum_groups(group * words + word, div_ceil(section_count, SECTION_GROUP) * words, words);
    let own = sum_sections(group * SECTION_GROUP * words + word, section * words, words);
    return Digits(earlier + own, earlier + later);
}

// Adds up the counts of groups at places `first` to before `end`, with a stride of `words`. Loads four at once.
fn sum_groups(first: u32, end: u32, words: u32) -> vec2<u32> {
    var sum = vec2<u32>(0u);
    var at = first;
    for (; at + 3u * words < end; at += 4u * words) {
        sum += digit_sums[at] + digit_sums[at + words] + digit_sums[at + 2u * words] + digit_sums[at + 3u * words];
    }
    for (; at < end; at += words) {
        sum += digit_sums[at];
    }
    return sum;
}

// Adds up the counts of sections, with the arguments of sum_groups.
fn sum_sections(first: u32, end: u32, words: u32) -> vec2<u32> {
    var sum = vec2<u32>(0u);
    var at = first;
    for (; at + 3u * words < end; at += 4u * words) {
        sum += histograms[at] + histograms[at + words] + histograms[at + 2u * words] + histograms[at + 3u * words];
    }
    for (; at < end; at += words) {
        sum += histograms[at];
    }
    return sum;
}
