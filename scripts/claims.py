#!/usr/bin/env python3
"""Checks that each claim of docs/exactness.md names tests, and that these tests exist.

A claim is a section with a number. Its paragraph `**Tests.**` has links to files, each followed by names of tests in that file.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROOFS = ROOT / "docs/exactness.md"


def tests_in(source):
    """Lists the functions of Rust that have the attribute `#[test]`, also behind other attributes."""
    return set(re.findall(r"#\[test\]\s+(?:#\[[^\n]*\]\s+)*(?:async )?fn (\w+)\(", source))


def mistakes_of(number, section):
    """Lists the mistakes in the tests of a claim."""
    paragraphs = re.findall(r"^\*\*Tests\.\*\* .*?(?=\n\n|\Z)", section.strip(), re.M | re.S)
    if len(paragraphs) != 1:
        return [f"claim {number} has {len(paragraphs)} paragraphs of tests, must be 1"]
    # Each link, with the text up to the next one.
    links = re.findall(r"\]\(([^)]+)\)([^\[]*)", paragraphs[0])
    mistakes = [] if links else [f"claim {number} names no file of tests"]
    for path, text in links:
        names = re.findall(r"`(\w+)`", text)
        file = (PROOFS.parent / path).resolve()
        found = tests_in(file.read_text()) if file.is_file() else set()
        if not names:
            mistakes.append(f"claim {number} names no test in {path}")
        mistakes += [f"claim {number}: {path} has no test {name}" for name in names if name not in found]
    return mistakes


def main():
    sections = re.findall(r"^### (\d+)\. [^\n]*\n(.*?)(?=^##|\Z)", PROOFS.read_text(), re.M | re.S)
    numbers = [int(number) for number, _ in sections]
    mistakes = [] if numbers == [*range(1, len(numbers) + 1)] and numbers else [f"claims have the numbers {numbers}, must ascend from 1"]
    for number, section in sections:
        mistakes += mistakes_of(number, section)
    print(*mistakes or [f"{len(numbers)} claims, each with tests that exist"], sep="\n")
    return 1 if mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
