"""The Python code of the README and of the guide runs."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
CHAPTER = Path(__file__).parents[2] / "docs/guide/src/python.md"


@pytest.mark.parametrize("document", [README, CHAPTER], ids=lambda path: path.name)
def test_the_python_code_of_a_document_runs(document, capsys):
    if not document.exists():
        pytest.skip(f"an installed package has no {document.name}")
    blocks = re.findall(r"^```python\n(.*?)^```", document.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    exec(compile("\n".join(blocks), str(document), "exec"), {"__name__": "document"})
    assert "BroadPhase(device='cpu'" in capsys.readouterr().out
