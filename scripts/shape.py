#!/usr/bin/env python3
"""Prints the sizes that keep the library small, and fails where one is above its limit.

A limit is what is reached today. Lower it with a change that lowers the number; the goals are beside it.
"""

import re
import sys
from collections import defaultdict
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC = ROOT / "src"
# The crates and the tests in several files, whose files must form no circle.
CRATES = sorted({path.parent for name in ("lib.rs", "main.rs") for path in ROOT.rglob(name) if "target" not in path.parts})

# (limit, goal) of each number.
LIMITS = {
    "public methods of a type": (20, 20),
    "items at the root of the crate": (38, 40),
    "lines of a file in src or shaders": (500, 500),
    "lines of a function": (60, 60),
    "exemptions from too_many_arguments": (0, 5),
    "folders of src in a circle of imports": (0, 0),
    "files in a circle of imports": (0, 0),
    "imports against the order of ARCHITECTURE.md": (0, 0),
    "layers of folders of src": (8, 8),
    "uses of internals outside of tests and benches": (0, 0),
}


def rust_files():
    return sorted(SRC.rglob("*.rs"))


def sources():
    return [*rust_files(), *sorted((ROOT / "shaders").rglob("*.wgsl"))]


def code_of(path):
    """Returns the source without the module of its unit tests."""
    return path.read_text().split("#[cfg(test)]\nmod ")[0]


def public_methods():
    """Counts the methods in the inherent implementations of each public type."""
    counts = defaultdict(int)
    for path in rust_files():
        kind, hidden = None, False
        for line in code_of(path).splitlines():
            if start := re.match(r"impl(?:<[^{]*>)? (?:[a-z_]+::)*([A-Z]\w*)(?:<[^{]*>)? \{$", line):
                kind = ("cpu::" if "cpu" in path.parts else "") + start[1]
            elif line.startswith("impl") or line == "}":
                kind = None
            hidden = hidden or "#[doc(hidden)]" in line
            if re.match(r"    pub (?:const |async )*fn ", line):
                counts[kind] += kind is not None and not hidden
            hidden = hidden and not re.match(r"    (pub )?(?:const |async )*fn ", line)
    # The calls that a macro makes of a table.
    counts["Tree"] += 2 * len(re.findall(r"^    \w+, \w+: \[", table_of("src/tree/mod.rs", "questions! {"), re.M))
    of_cpu = " ".join(re.findall(r"pub use ([^;]*);", (SRC / "cpu/mod.rs").read_text()))
    public = {*homes(), *re.findall(r"\w+", of_cpu), "BroadPhase", "Tree"}
    return {kind: count for kind, count in counts.items() if kind and kind.removeprefix("cpu::") in public}


def table_of(path, start):
    """Returns what a macro is called with."""
    source = (ROOT / path).read_text()
    return source[source.index("\n" + start) :].split("\n}\n")[0] if "\n" + start in source else ""


def root_items():
    """Lists what `pub use` and `pub mod` put at the root."""
    source = re.sub(r"//.*", "", (SRC / "lib.rs").read_text())
    names = re.findall(r"(?<!hidden\)\]\n)pub mod (\w+);", source)
    for use in re.findall(r"pub use ([^;]*);", source):
        names += [part.split("::")[-1] for part in re.findall(r"[\w:]+", use) if not part.endswith("::")]
    return sorted(set(names))


def lengths_of_files():
    return {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources()}


def is_declaration(line, end):
    """Returns whether a line ends a signature without a body."""
    return line.startswith(end) and line.endswith(";")


def lengths_of_functions():
    """Counts the lines of each function, from its signature to the brace that ends it, but for those that have a reason to be longer."""
    found = {}
    for path in sources():
        lines = code_of(path).splitlines()
        for at, line in enumerate(lines):
            start = re.match(r"( *)(?:pub(?:\([^)]*\))? )?(?:const |async )*fn (\w+)", line)
            if start and not line.rstrip().endswith((";", "}")):
                if at > 0 and lines[at - 1].strip().startswith("// Longer than 60 lines: "):
                    continue
                ends = (start[1] + "}", start[1] + ")")
                end = next((k for k in range(at + 1, len(lines)) if lines[k] == ends[0] or is_declaration(lines[k], ends[1])), at)
                found[f"{path.relative_to(ROOT)}: {start[2]}"] = end - at + 1
    return found


def exemptions():
    return sum(path.read_text().count("too_many_arguments") for path in rust_files())


def uses_of_internals():
    """Lists the lines of programs that use what is public for tests only."""
    folders = ["cli/src", "python/src", "examples"]
    paths = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.rs")) if "tests" not in path.parts]
    found = [f"{path.relative_to(ROOT)}: internals" for path in paths if "internals" in path.read_text()]
    # Users who copy an example have neither the laboratory nor the private module of the Python package.
    examples = [path for end in ("rs", "toml", "py") for path in sorted((ROOT / "examples").rglob(f"*.{end}"))]
    hidden = re.compile(r"\blaboratory\b|\b_native\b")
    return found + [f"{path.relative_to(ROOT)}: {use[0]}" for path in examples if (use := hidden.search(path.read_text()))]


def homes():
    """Returns the module of each name at the root of the crate."""
    source = re.sub(r"//.*|#\[[^\n]*", "", (SRC / "lib.rs").read_text())
    found = {}
    for use in re.findall(r"pub use ([^;]*);", source):
        # With the braces around all of a statement taken off, each part is `module::…`, with names in braces or at its end.
        parts = re.findall(r"(\w+)((?:::\w+)*)::(?:\{([^}]*)\}|(\w+))", use.strip().removeprefix("{"))
        for module, _, names, name in parts:
            for item in re.findall(r"\w+", names or name):
                found[item] = module
    return found


def homes_of_all():
    """Returns the module of each name that `crate::name` reaches: also of those in the public modules."""
    found = homes()
    for guide in re.findall(r"\bpub mod (\w+);", (SRC / "lib.rs").read_text()):
        path = SRC / f"{guide}.rs"
        source = path.read_text() if path.is_file() else ""
        for module, names, name in re.findall(r"pub use crate::(\w+)(?:::\w+)*::(?:\{([^}]*)\}|(\w+));", source):
            found |= dict.fromkeys(re.findall(r"\w+", names or name), module)
    return found


def names_in(group):
    """Returns the first word of each part of a list in braces, whatever braces are in it."""
    names, depth, part = [], 0, ""
    for char in group:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            names.append(part)
            part = ""
        else:
            part += char
    return [word[0] for word in map(re.compile(r"\w+").findall, [*names, part]) if word]


def imports():
    """Lists the folders and files of src that each of them imports from, also by names at the root of the crate."""
    edges, home = defaultdict(set), homes_of_all()
    for path in rust_files():
        parts = path.relative_to(SRC).parts
        module = parts[0].removesuffix(".rs")
        if module in ("lib", "internals", "kernels", "engine"):
            continue
        source = re.sub(r"//.*", "", code_of(path))
        if len(parts) == 1 or parts[1:] == ("mod.rs",):
            source = re.sub(r"\bsuper::", "crate::", source)
        targets = re.findall(r"\bcrate::(\w+)", source)
        for start in re.finditer(r"\bcrate::\{", source):
            depth, end = 1, start.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(source[end], 0)
                end += 1
            targets += names_in(source[start.end() : end - 1])
        for target in targets:
            name = home.get(target, target)
            if name != module and ((SRC / name).is_dir() or (SRC / f"{name}.rs").is_file()):
                edges[module].add(name)
    return edges


def against_the_order(edges):
    """Lists imports from what stands below in ARCHITECTURE.md."""
    listed = (ROOT / "ARCHITECTURE.md").read_text().split("```\nsrc/\n")[1].split("\nshaders/")[0]
    places = {}
    for number, line in enumerate(listed.splitlines()):
        if re.match(r"  \w", line):
            for name in re.findall(r"\w+", line[2:].split("  ")[0]):
                if not ((SRC / name).is_dir() or (SRC / f"{name}.rs").is_file()):
                    break
                places.setdefault(name, number)
    missing = [name for name in [*edges, *set().union(*edges.values())] if name not in places]
    wrong = [f"{a} -> {b}" for a in sorted(edges) for b in sorted(edges[a]) if places.get(b, 0) > places.get(a, 0)]
    return sorted({f"{name} is not listed" for name in missing}) + wrong


def layers(edges):
    """Returns how many modules the longest chain of imports passes through. Public modules only name the items of others."""
    guides = set(re.findall(r"\bpub mod (\w+);", (SRC / "lib.rs").read_text())) - {"cpu"}

    @cache
    def depth(module):
        return 1 + max((depth(target) for target in edges.get(module, ()) if target not in guides), default=0)

    return max(depth(module) for module in edges if module not in guides)


def circles(edges):
    """Returns the modules from which an import leads back to themselves."""
    def reaches(start):
        seen, left = set(), list(edges[start])
        while left:
            module = left.pop()
            if module not in seen:
                seen.add(module)
                left += edges[module]
        return start in seen

    return sorted(module for module in list(edges) if reaches(module))


def paths_of(tree):
    """Returns the paths that a tree of `use` names."""
    head, brace, rest = tree.strip().partition("{")
    if not brace:
        return [re.sub(r"\s+as\s+\w+$", "", head).strip()]
    parts, depth = [""], 0
    for char in rest[: rest.rindex("}")]:
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [head + path for part in parts if part.strip() for path in paths_of(part)]


class Modules:
    """The modules of a crate, by the names of their paths, with the code of their files."""

    def __init__(self, crate):
        self.code, self.again = {}, {}
        for path in sorted(crate.rglob("*.rs")):
            parts = path.relative_to(crate).with_suffix("").parts
            parts = parts[:-1] if parts[-1] in ("mod", "lib", "main") else parts
            self.code[parts] = re.sub(r"//[^\n]*", "", code_of(path))
        for module, code in self.code.items():
            for tree in re.findall(r"pub(?:\([^)]*\))? use ([^;]*);", code):
                for path in paths_of(tree):
                    if place := self.place_of(module, path):
                        self.again[module, place[1][-1]] = place

    def place_of(self, module, path):
        """Returns the module that a path begins in, and the rest of the path; None if it leads out of the crate."""
        names = [name.strip() for name in path.split("::")]
        if names[0] == "crate":
            return (), names[1:]
        if names[0] in ("self", "super"):
            while names and names[0] in ("self", "super"):
                module = module[:-1] if names.pop(0) == "super" else module
            return module, names
        return (module, names) if (*module, names[0]) in self.code else None

    def file_of(self, module, names):
        """Returns the module that declares what a path names, also where others pass it on."""
        while names and (*module, names[0]) in self.code:
            module, names = (*module, names[0]), names[1:]
        if names and (further := self.again.get((module, names[0]))) and further != (module, names):
            return self.file_of(further[0], [*further[1], *names[1:]])
        return module

    def imports(self):
        """Lists what each file imports from. Files of a folder may import from the file that leads it."""
        edges = defaultdict(set)
        for module, code in self.code.items():
            paths = [path for tree in re.findall(r"(?<!pub )\buse ([^;]*);", code) for path in paths_of(tree)]
            paths += re.findall(r"(?<![\w:$])\w+(?:::\w+)+", re.sub(r"\buse [^;]*;", "", code))
            for place in filter(None, (self.place_of(module, path) for path in paths)):
                target = self.file_of(*place)
                if target != module[: len(target)]:
                    edges[module].add(target)
        return edges


def files_in_circles():
    found = {crate: circles(Modules(crate).imports()) for crate in CRATES}
    return [f"{crate.relative_to(ROOT)}/{'/'.join(module)}" for crate, modules in found.items() for module in modules]


def main():
    methods, files, functions = public_methods(), lengths_of_files(), lengths_of_functions()
    edges = imports()
    internals = uses_of_internals()
    in_circles, wrong, files_circling = circles(edges), against_the_order(edges), files_in_circles()
    found = {
        "public methods of a type": max(methods.values()),
        "items at the root of the crate": len(root_items()),
        "lines of a file in src or shaders": max(files.values()),
        "lines of a function": max(functions.values()),
        "exemptions from too_many_arguments": exemptions(),
        "folders of src in a circle of imports": len(in_circles),
        "files in a circle of imports": len(files_circling),
        "imports against the order of ARCHITECTURE.md": len(wrong),
        "layers of folders of src": 0 if in_circles else layers(edges),
        "uses of internals outside of tests and benches": len(internals),
    }
    largest = {
        "public methods of a type": methods,
        "lines of a file in src or shaders": files,
        "lines of a function": functions,
    }
    is_within = True
    for what, number in found.items():
        limit, goal = LIMITS[what]
        is_within &= number <= limit
        print(f"{what}: {number} (limit {limit}, goal {goal}){'' if number <= limit else ': ABOVE THE LIMIT'}")
        for name, count in sorted(largest.get(what, {}).items(), key=lambda item: -item[1])[:6]:
            if count > goal:
                print(f"    {count} {name}")
    for line in [*(f"in a circle: {name}" for name in [*in_circles, *files_circling]), *wrong, *internals]:
        print(f"    {line}")
    return 0 if is_within else 1


if __name__ == "__main__":
    sys.exit(main())
