#!/usr/bin/env bash
# Checks what would be published: packages of the library, its support code and the command line. Needs Rust, git, Python 3
# and, for the tests, a Vulkan adapter.
#
#   scripts/release.sh              prepares the tree, packages and compiles, checks sizes, tests the packaged library
#   scripts/release.sh --tree       prepares the tree only, target/release-tree: the published wheels are built there
#   scripts/release.sh --publish    after the same checks, publishes on crates.io
#
# The tree is a copy of HEAD with two changes. Relative links and pictures of READMEs become addresses in the repository, at the tag
# of the version: a registry shows a README without the files beside it. And each package gets the licences.
#
# The address is `repository` in Cargo.toml, and nowhere else. --publish refuses a placeholder, and a HEAD without the tag.

set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
mode=${1:-}
case $mode in '' | --tree | --publish) ;; *) sed -n '2,13s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;; esac

target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
repository=$(sed -n 's/^repository = "\(.*\)"/\1/p' Cargo.toml)
tree=$target/release-tree
# All features are compiled: a file that a package does not have is seen only where it is read.
packages=(-p broadsweep -p broadsweep-laboratory -p broadsweep-cli --features broadsweep-cli/peers)
# Of the library's package, compressed.
most_bytes=1000000

step() {
    printf '\n== %s [%d:%02d]\n' "$*" $((SECONDS / 60)) $((SECONDS % 60))
}

fail() {
    printf '\nFAILED: %s\n' "$*" >&2
    exit 1
}

if [ "$mode" = --publish ]; then
    case $repository in *example.org*) fail "repository in Cargo.toml is a placeholder ($repository): enter the real address" ;; esac
    git tag --points-at HEAD | grep -qxF "v$version" || fail "HEAD has no tag v$version, which the links of the READMEs need"
fi

git diff --quiet HEAD || fail "there are uncommitted changes, and this script checks HEAD"
step "the tree of version $version, with links to $repository"
rm -rf "$tree"
git worktree prune
git worktree add --quiet --detach "$tree" HEAD
for folder in benches cli python; do
    cp LICENSE-* "$tree/$folder"
done
python3 - "$tree" "$repository" "v$version" <<'END'
import pathlib, posixpath, re, sys

tree, repository, tag = pathlib.Path(sys.argv[1]), sys.argv[2].rstrip("/"), sys.argv[3]
link = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://|#)([^)#\s]+)(#[^)\s]*)?\)")
for readme in ["README.md", "cli/README.md", "python/README.md"]:
    def absolute(match):
        picture, text, path, anchor = match.groups()
        path = posixpath.normpath(posixpath.join(posixpath.dirname(readme), path))
        if not (tree / path).exists():
            sys.exit(f"FAILED: {readme} links to {path}, which does not exist")
        return f"{picture}{text}({repository}/{'raw' if picture else 'blob'}/{tag}/{path}{anchor or ''})"

    # Every second part is a block of code.
    parts = re.split(r"(^```.*?^```$)", (tree / readme).read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    count = 0
    for i in range(0, len(parts), 2):
        parts[i], found = link.subn(absolute, parts[i])
        count += found
    (tree / readme).write_text("".join(parts), encoding="utf-8", newline="\n")
    print(f"{readme}: {count} links")
END
[ "$mode" != --tree ] || exit 0

step "packages, compiled as crates.io has them"
cd "$tree"
export CARGO_TARGET_DIR=$target
rm -rf "$target"/package/*.crate "$target"/package/*/*.crate
# The worktree has the links and licences from above: dirty, and recorded as such in the package.
cargo publish --dry-run --allow-dirty --locked "${packages[@]}"

step "sizes"
for name in broadsweep broadsweep-laboratory broadsweep-cli; do
    crate=$(find "$target/package" -name "$name-$version.crate" -print -quit)
    [ -n "$crate" ] || fail "there is no $name-$version.crate in $target/package"
    printf '%s: %d bytes, %d in %d files uncompressed\n' "$name" "$(wc -c <"$crate")" \
        "$(gzip -dc "$crate" | tar -xO | wc -c)" "$(tar -tzf "$crate" | wc -l)"
done
library=$(find "$target/package" -name "broadsweep-$version.crate" -print -quit)
[ "$(wc -c <"$library")" -le "$most_bytes" ] || fail "the library has more than $most_bytes bytes"

step "tests of the packaged library"
# Outside the workspace: nothing of it can be used by mistake.
outside=$(mktemp -d)
trap 'rm -rf "$outside"' EXIT
tar -xzf "$library" -C "$outside"
(cd "$outside/broadsweep-$version" && cargo test --locked)

if [ "$mode" = --publish ]; then
    step "publishing"
    cargo publish --allow-dirty --locked "${packages[@]}"
fi
