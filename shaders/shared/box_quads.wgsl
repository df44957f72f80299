// Loads of whole boxes for kernels with a free binding: they bind the boxes by four words too, as box_quads, and a box
// takes two loads instead of three. On a GPU each load of neighbours touches all sectors that their boxes lie in.
// Behind boxes.wgsl, with params.

// The words of a box: the four that begin at a multiple of four, and the two others, which come first if
// its number is odd.
struct BoxWords {
    four: vec4<u32>,
    two: vec2<u32>,
}

// Loads the words of box i; behind the last one, words that are no box.
fn load_words(i: u32) -> BoxWords {
    if i < params.box_count {
        return BoxWords(box_quads[(i * 3u + 1u) / 2u], boxes[i * 3u + select(2u, 0u, i % 2u == 1u)]);
    }
    return BoxWords(vec4<u32>(0xffffffffu), vec2<u32>(0xffffffffu));
}

// Returns the box of these words. Apart from the loads, so that several can be under way.
fn box_of(words: BoxWords, is_odd: bool) -> LoadedBox {
    return LoadedBox(
        select(words.four.xyz, vec3<u32>(words.two, words.four.x), is_odd),
        select(vec3<u32>(words.four.w, words.two), words.four.yzw, is_odd),
    );
}
