"""A chunking strategy that a distribution adds: a class, and a line in the metadata."""

import sys

import pytest

from indexing.checks import check_specs
from indexing.chunking import split_into_chunks
from indexing.exceptions import InvalidSpec, UnchunkableText
from indexing.models import Node
from indexing.spec import parse_spec
from indexing.verification import verify_build
from tests.factories import give, sync
from tests.written import make_build

MODULE = '''
from llama_index.core.node_parser import TextSplitter


class LineSplitter(TextSplitter):
    """So many lines a node, of which the next repeats the last ``overlap``."""

    lines: int = 2
    overlap: int = 0

    def split_text(self, text: str) -> list[str]:
        lines = text.splitlines()
        step = self.lines - self.overlap
        starts = range(0, max(1, len(lines) - self.overlap), step)
        return ["\\n".join(lines[start : start + self.lines]) for start in starts]


class Shouting(TextSplitter):
    def split_text(self, text: str) -> list[str]:
        return [text.upper()]
'''
ENTRY_POINTS = """
[strata.node_parsers]
line-splitter = added_splitters:LineSplitter
sentence-splitter = llama_index.core.node_parser:SentenceSplitter
shouting = added_splitters:Shouting
broken = added_splitters:Missing
function = builtins:sorted
markdown = added_splitters:Shouting
"""
VERSE = "row, row, row your boat\n" * 3 + "gently down the stream\n" + "merrily\n" * 4


@pytest.fixture(autouse=True)
def distribution(tmp_path, monkeypatch):
    (tmp_path / "added_splitters.py").write_text(MODULE)
    metadata = tmp_path / "added_splitters-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: added-splitters\nVersion: 1\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("added_splitters", None)


def strategy(parser, **options):
    return {"name": "node_parser", "parser": parser, "options": options}


def split(text, parser, **options):
    spec = make_spec(strategy(parser, **options))
    return split_into_chunks(
        text,
        spec.chunks.strategies[0],
        context="",
        window=1_000,
        count_tokens=lambda texts: [len(text) for text in texts],
    )


def make_spec(strategy):
    return parse_spec("verses", f"chunks: {{strategies: [{strategy}]}}")


@pytest.mark.django_db
class TestAddedStrategy:
    def test_is_indexed_and_verified(self, store, embedder):
        build = make_build("verses", chunks={"strategies": [strategy("line-splitter", lines=2)]})
        artifact = give(VERSE, index="verses")

        sync(build, artifact)

        text = artifact.sources.get().text
        nodes = Node.objects.filter(build=build).order_by("chunk_index")
        assert {node.strategy for node in nodes} == {"node_parser:line-splitter"}
        assert [text[node.start_offset : node.end_offset] for node in nodes] == [
            "row, row, row your boat\nrow, row, row your boat",
            "row, row, row your boat\ngently down the stream",
            "merrily\nmerrily",
            "merrily\nmerrily",
        ]
        assert verify_build(build).is_sound


class TestOffsets:
    def test_are_right_if_nodes_overlap_and_text_repeats(self):
        chunks = split(VERSE, "line-splitter", lines=3, overlap=1)

        assert [(chunk.start, chunk.end) for chunk in chunks] == [
            (0, 71),
            (48, 102),
            (95, 118),
            (111, 126),
        ]
        assert all(VERSE[chunk.start : chunk.end] == chunk.text for chunk in chunks)

    def test_are_right_for_the_splitter_of_llamaindex(self):
        text = "The heron waits. " * 30

        chunks = split(text, "sentence-splitter", chunk_size=40, chunk_overlap=10)

        assert len(chunks) > 3
        assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
        assert all(chunk.start % 17 == 0 for chunk in chunks)

    def test_are_refused_if_the_nodes_are_not_parts_of_the_text(self):
        with pytest.raises(UnchunkableText, match="'shouting' returned a node that is not"):
            split("Quiet words.", "shouting")


class TestSpec:
    def test_lists_the_added_parsers_as_allowed(self):
        with pytest.raises(
            InvalidSpec, match=r"allowed: markdown, .*, json, broken, function, line"
        ):
            make_spec(strategy("line-spliter"))

    def test_cannot_replace_the_parsers_of_llamaindex(self):
        [chunk] = split("# Quiet words", "markdown")

        assert chunk.text == "# Quiet words"

    @pytest.mark.parametrize(
        ("parser", "options", "message"),
        [
            ("line-splitter", {"line": 2}, "no option 'line'; allowed: lines, overlap"),
            ("line-splitter", {"lines": "many"}, "lines"),
            ("broken", {}, "added_splitters:Missing, cannot be imported"),
            ("function", {}, "builtins:sorted, is not a class derived from"),
        ],
    )
    def test_is_checked_with_its_options(self, settings, tmp_path, parser, options, message):
        settings.STRATA_SPECS_DIR = tmp_path / "specs"
        settings.STRATA_SPECS_DIR.mkdir()
        path = settings.STRATA_SPECS_DIR / "verses.yaml"
        path.write_text(f"chunks: {{strategies: [{strategy(parser, **options)}]}}")

        [error] = check_specs()

        assert error.id == "indexing.E002"
        assert message in error.msg
