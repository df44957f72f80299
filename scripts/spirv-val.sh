#!/usr/bin/env bash
# Validates SPIR-V with Khronos' validator.
#
#   scripts/spirv-val.sh FOLDER
#
# The folder is one that `cargo run -p broadsweep-compilers --example translate -- FOLDER` wrote. Each module is validated
# for the version of Vulkan that it was written for. Prints `ok FILE` or `BAD FILE` behind the validator's message, and
# fails where one is bad or there is none. Needs spirv-val (Debian's spirv-tools).

set -euo pipefail
export LC_ALL=C

folder=$1
validate='
    case $1 in
    *.vulkan11.spv) environment=vulkan1.1 ;;
    *) environment=vulkan1.3 ;;
    esac
    spirv-val --target-env $environment "$1" || { echo "BAD $1"; exit 1; }
    echo "ok $1"'
[ -n "$(find "$folder" -name '*.spv' -print -quit)" ] || { echo "there is no SPIR-V in $folder" >&2; exit 1; }
find "$folder" -name '*.spv' -print0 | sort -z | xargs -0 -n 1 -P "$(nproc)" sh -c "$validate" spirv-val
