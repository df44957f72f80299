// Loads a box with two loads instead of three. For kernels with a free binding, which also bind the boxes as box_quads,
// in vectors of four words. On a GPU, each load of adjacent invocations touches all memory sectors of their boxes, so
// fewer loads are faster. Needs boxes.wgsl and params.

// The six words of a box: four words at a multiple of four, and two more words. If the box index is odd, the two words
// come first.
struct BoxWords {
    four: vec4<u32>,
    two: vec2<u32>,
}

// Loads the words of box i; beyond the last box, words of an invalid box.
fn load_words(i: u32) -> BoxWords {
    if i < params.box_count {
        return BoxWords(box_quads[(i * 3u + 1u) / 2u], boxes[i * 3u + select(2u, 0u, i % 2u == 1u)]);
    }
    return BoxWords(vec4<u32>(0xffffffffu), vec2<u32>(0xffffffffu));
}

// Returns the box of these words. The function is separate from load_words, so that several loads can overlap.
fn box_of(words: BoxWords, is_odd: bool) -> LoadedBox {
    return LoadedBox(
        select(words.four.xyz, vec3<u32>(words.two, words.four.x), is_odd),
        select(vec3<u32>(words.four.w, words.two), words.four.yzw, is_odd),
    );
}
