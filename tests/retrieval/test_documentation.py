"""The code in docs/how-to/use-from-python.md runs unchanged."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from tests.factories import give, sync
from tests.written import make_build

GUIDE = Path(settings.BASE_DIR) / "docs" / "how-to" / "use-from-python.md"
SECTIONS = ["Inside LlamaIndex", "Inside a Haystack pipeline", "Without LlamaIndex or Haystack"]


def code_of(section: str) -> str:
    text = re.split(r"^## ", GUIDE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    [content] = [part for part in text if part.startswith(f"{section}\n")]
    return "\n".join(re.findall(r"^```python\n(.*?)^```", content, re.MULTILINE | re.DOTALL))


@pytest.fixture
def minutes(db, store, embedder, monkeypatch):
    monkeypatch.setenv("HAYSTACK_TELEMETRY_ENABLED", "False")
    build = make_build("minutes", metadata={"year": {"type": "integer"}})
    kept = {"title": "Harbour", "index": "minutes", "metadata": {"year": 2024}}
    sync(
        build,
        give("Work on the breakwater starts in May.", **kept),
        give("Work on the breakwater was put off.", **{**kept, "metadata": {"year": 2020}}),
    )
    return build


class TestGuide:
    def test_runs_unchanged(self, minutes, capsys):
        namespace: dict[str, object] = {}
        for section in SECTIONS:
            code = code_of(section)
            assert code, section
            exec(compile(code, f"{GUIDE.name}: {section}", "exec"), namespace)

        out = capsys.readouterr().out
        assert "exact Harbour Work on the breakwater starts in May." in out
        assert "Harbour 0 37" in out  # what the query engine answers from
        assert "[Harbour, page 1] Work on the breakwater starts in May." in out
        assert "Query: when does work on the breakwater start" in out
        assert "put off" not in out.split("Answer from these passages.")[1].split("Question:")[0]
