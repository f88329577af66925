"""The code in docs/how-to/use-the-client.md runs unchanged."""

import re
from pathlib import Path

import pytest

from tests.serving import KEY

ROOT = Path(__file__).resolve().parents[2]


def programs_of(guide: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", (ROOT / guide).read_text(), re.M | re.S)


def run(program: str) -> None:
    exec(compile(program, "the guide", "exec"), {})


@pytest.fixture
def at_home(service, monkeypatch):
    monkeypatch.setenv("STRATA_URL", service.url)
    monkeypatch.setenv("STRATA_KEY", KEY)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


class TestGuide:
    def test_runs_unchanged(self, at_home, capsys):
        search, evaluation, stream, synchronous, *adapters = programs_of(
            "docs/how-to/use-the-client.md"
        )

        run(search)
        assert "exact Ferries The ferry to Ven leaves at noon." in capsys.readouterr().out

        run(evaluation)
        assert capsys.readouterr().out.endswith("The evaluation is done\n")

        run(stream)
        told = capsys.readouterr().out
        assert "passages\nThe ferry to Ven leaves at noon." in told
        assert "\nfrom {'" in told

        run(synchronous)
        assert "It carries no cars." in capsys.readouterr().out.splitlines()[-1]

        for program in adapters:
            run(program)
        lines = [line.split() for line in capsys.readouterr().out.splitlines()]
        found = {(first, last) for first, *_, last in lines}
        assert found >= {(name, "Ferries") for name in ("LangChain", "LlamaIndex", "Haystack")}

    def test_in_the_readme_of_the_client_runs(self, at_home, capsys, service):
        [program] = programs_of("client/README.md")
        named = 'AsyncStrata("http://127.0.0.1:8000", key="…")'
        assert named in program

        run(program.replace(named, "AsyncStrata()"))

        assert "The ferry to Ven leaves at noon." in capsys.readouterr().out
