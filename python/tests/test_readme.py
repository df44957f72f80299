"""The Python code of the READMEs and of the guide runs."""

import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "README.md"
PROJECT = Path(__file__).parents[2] / "README.md"
CHAPTER = Path(__file__).parents[2] / "docs/guide/src/python.md"


@pytest.mark.parametrize(
    ("document", "block_count"),
    [(PACKAGE, 5), (CHAPTER, 5), (PROJECT, 1)],
    ids=["package", "chapter", "project"],
)
def test_the_python_code_of_a_document_runs(document, block_count, capsys):
    if not document.exists():
        pytest.skip(f"an installed package has no {document.name}")
    blocks = re.findall(r"^```python\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= block_count
    exec(compile("\n".join(blocks), str(document), "exec"), {"__name__": "document"})
    assert document == PROJECT or "BroadPhase(device='cpu'" in capsys.readouterr().out
