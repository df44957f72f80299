"""What the README shows runs."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_of_the_readme_run(capsys):
    if not README.exists():
        pytest.skip("an installed package has no README")
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    exec(compile("\n".join(blocks), str(README), "exec"), {"__name__": "readme"})
    assert "BroadPhase(device='cpu'" in capsys.readouterr().out
