#!/usr/bin/env python3
"""Checks the links of all documents, and prepares those of the guide for its web pages.

    python3 scripts/links.py          fails if a file or a heading that a document links to does not exist
    python3 scripts/links.py --book   preprocessor of mdBook: the book on standard input, and with other links on standard output
    python3 scripts/links.py --words  counts the words of all documents, without code, comments and generated blocks
"""

import base64
import json
import mimetypes
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
GUIDE = ROOT / "docs/guide/src"
LINK = re.compile(r"(!?)(\[[^\]]*\])\((?!https?://)([^)#\s]*)(#[^)\s]*)?\)")
# Every second part of a document that is split by it is a block of code.
CODE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
# A block that scripts/results.py writes, or a comment.
UNCOUNTED = re.compile(r"<!-- (?:table|chart|range) .*?<!-- end -->|<!--.*?-->", re.DOTALL)


def headings(path):
    """Returns the anchors of the headings of a document."""
    seen, anchors = {}, set()
    for title in re.findall(r"^#+ (.*)$", CODE.sub("", path.read_text(encoding="utf-8")), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title.strip())
        slug = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        seen[slug] = seen.get(slug, -1) + 1
        anchors.add(f"#{slug}" if seen[slug] == 0 else f"#{slug}-{seen[slug]}")
    return anchors


def wrong_links(document):
    """Lists the links of a document that lead nowhere."""
    wrong = []
    for part in CODE.split(document.read_text(encoding="utf-8"))[::2]:
        for _, _, path, anchor in LINK.findall(part):
            target = (document.parent / path).resolve() if path else document
            if not target.exists():
                wrong.append(f"{path}: does not exist")
            elif anchor and target.suffix == ".md" and anchor not in headings(target):
                wrong.append(f"{path}{anchor}: no such heading")
    return wrong


def list_documents():
    listed = subprocess.run(["git", "ls-files", "*.md"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [ROOT / name for name in listed.split()]


def count_words():
    total = 0
    for document in list_documents():
        text = UNCOUNTED.sub("", CODE.sub("", document.read_text(encoding="utf-8")))
        words = len(re.sub(r"^[|:-]+$|[|]", " ", text, flags=re.MULTILINE).split())
        print(f"{words:6} {document.relative_to(ROOT)}")
        total += words
    print(f"{total:6} in all")


def check():
    documents = list_documents()
    wrong = [f"{document.relative_to(ROOT)}: {link}" for document in documents for link in wrong_links(document)]
    print("\n".join(wrong) or f"the links of {len(documents)} documents lead somewhere")
    sys.exit(bool(wrong))


def address():
    """Returns the address of the files of this version in the repository."""
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    repository, version = (re.search(rf'^{key} = "(.*)"', manifest, re.MULTILINE)[1] for key in ("repository", "version"))
    return f"{repository}/blob/v{version}"


def for_web(chapter, folder):
    """Puts pictures from outside of the guide into the page, and the repository's address in place of other paths there."""

    def change(match):
        picture, text, path, anchor = match.groups()
        target = (folder / path).resolve()
        if not path or target.is_relative_to(GUIDE):
            return match[0]
        if picture:
            kind = mimetypes.guess_type(target.name)[0]
            return f"![{text[1:-1]}](data:{kind};base64,{base64.b64encode(target.read_bytes()).decode()})"
        return f"{text}({address()}/{target.relative_to(ROOT).as_posix()}{anchor or ''})"

    return "".join(part if i % 2 else LINK.sub(change, part) for i, part in enumerate(CODE.split(chapter)))


def visit_chapters(items):
    for item in items:
        if chapter := item.get("Chapter"):
            if chapter.get("path"):
                chapter["content"] = for_web(chapter["content"], (GUIDE / chapter["path"]).parent)
            visit_chapters(chapter["sub_items"])


def book():
    _, guide = json.load(sys.stdin)
    visit_chapters(guide.get("items", guide.get("sections")))
    json.dump(guide, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1:3] == ["--book", "supports"]:
        sys.exit(0)
    {"--book": book, "--words": count_words, "": check}["".join(sys.argv[1:2])]()
