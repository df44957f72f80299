// Words that giants_join or giants_ask keeps of each invocation of a tile: how many pairs it found, and where. Shared by them and by the
// kernels that list these pairs, which bind hit_words.

fn packed(count: u32, found: u32) -> u32 {
    return (count << FOUND_BITS) | found;
}

fn count_in(word: u32) -> u32 {
    return word >> FOUND_BITS;
}

fn found_in(word: u32) -> u32 {
    return word & ((1u << FOUND_BITS) - 1u);
}

// Adds up the pairs of the first `end` invocations of a tile whose words were kept. Where few invocations have pairs, that takes less than a
// scan, which all of them have to wait for.
fn pairs_before(tile: u32, end: u32) -> u32 {
    var sum = 0u;
    for (var k = 0u; k < end; k += 4u) {
        let at = tile * 256u + k;
        sum += count_in(hit_words[at]);
        sum += select(0u, count_in(hit_words[at + 1u]), k + 1u < end);
        sum += select(0u, count_in(hit_words[at + 2u]), k + 2u < end);
        sum += select(0u, count_in(hit_words[at + 3u]), k + 3u < end);
    }
    return sum;
}

// Adds up the pairs of some tiles whose words were kept.
fn pairs_of_tiles(first: u32, end: u32) -> u32 {
    var sum = 0u;
    for (var tile = first; tile < end; tile += 1u) {
        sum += pairs_before(tile, 256u);
    }
    return sum;
}
