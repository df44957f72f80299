// Repeats the tests of giants, which giants_test only counted, and writes their pairs in the window. The first
// workgroups of emit_again run it.

// Writes the pairs of a block. Every invocation of the workgroup must call it.
fn list_giants(block: u32, local: u32) {
    var next = pairs_before(block, local);
    if !meets_window(next, hits_of(block)) {
        return;
    }
    let first = block * counts.giant_tiles_per_block;
    let end = min(first + counts.giant_tiles_per_block, counts.giant_tiles);
    for (var tile = first; tile < end; tile += 1u) {
        let word = word_of(tile, local);
        let scan = scan_workgroup(local, count_in(word));
        if count_in(word) != 0u {
            write_row(tile, local, word, add64(next, vec2<u32>(scan.before, 0u)));
        }
        next = add64(next, vec2<u32>(scan.total, 0u));
    }
}

// Writes the pairs of an invocation from its word. The first of these pairs is pair `first` of the list.
fn write_row(tile: u32, local: u32, word: u32, first: vec2<u32>) {
    let meeting = meeting_of(tile, local, word & ALL_OF_GROUP);
    var count = count_in(word);
    var number = first;
    // End after the last pair. The loop also ends after GIANT_ROW boxes, even if boxes changed since the test.
    for (var k = 0u; k < GIANT_ROW && count > 0u; k += 1u) {
        let item = item_of(meeting.row, k);
        let met = giants_met(item, meeting);
        for (var rest = met; rest != 0u; rest &= rest - 1u) {
            let giant = giant_at(meeting.first_giant + firstTrailingBit(rest));
            write_pair(number, vec2<u32>(min(giant, item.index), max(giant, item.index)));
            number = add64(number, vec2<u32>(1u, 0u));
        }
        count -= min(count, countOneBits(met));
    }
}
