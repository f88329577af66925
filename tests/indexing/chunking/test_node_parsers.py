import importlib.util
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings

from indexing.exceptions import InvalidSpec, UnchunkableText
from indexing.models import Node
from indexing.spec import NodeParserStrategy, parse_spec
from indexing.verification import verify_build
from tests.factories import give, sync
from tests.indexing.chunking.fakes import Counter, by_letters, cut, texts
from tests.indexing.chunking.soundness import assert_sound
from tests.indexing.chunking.test_chunker import TEXTS
from tests.serving import ROOT
from tests.written import make_build

MARKDOWN = """\
Before any heading.

#\tHerons
They stand at dawn.

```
# no heading
```

## Food
Fish.

# Herons
They stand at dawn.
"""
HTML = """\
<html><head><title>Notes</title></head><body>
<h1>Q&amp;A</h1><p>The same words.</p><p>The <em>same</em> words.</p>
<h2>Again</h2><p>The same words.</p><script>let x = 1</script>
</body></html>"""
REPEATED = "The same sentence. Another one. " * 40

needs_grammars = pytest.mark.skipif(
    importlib.util.find_spec("tree_sitter_language_pack") is None,
    reason="tree-sitter-language-pack is not installed; .ci/extras runs this with it",
)


def parser(name, **options):
    return NodeParserStrategy(parser=name, options=options)


class TestMarkdown:
    def test_cuts_before_headings(self):
        chunks = cut(MARKDOWN, parser("markdown"))

        assert_sound(MARKDOWN, chunks)
        assert [text.splitlines()[0] for text in texts(chunks)] == [
            "Before any heading.", "#\tHerons", "## Food", "# Herons",
        ]  # fmt: skip

    def test_distinguishes_a_heading_from_the_same_line_in_code(self):
        text = "# Example\n\n```\n# Title\nText.\n```\n\n# Title\nText."

        [_, chunk] = cut(text, parser("markdown"))

        assert chunk.start == text.rindex("# Title")  # LlamaIndex gives 15, in the example


class TestSentenceWindow:
    def test_makes_each_sentence_a_chunk_with_its_own_offsets(self):
        chunks = cut(REPEATED, parser("sentence_window"))

        assert_sound(REPEATED, chunks)
        assert texts(chunks) == ["The same sentence.", "Another one."] * 40


class TestSemantic:
    def test_cuts_at_topic_changes_found_by_the_model_of_the_index(self):
        text = "A a a. A a. A a a a. " * 5 + "E e e. E e. E e e e. " * 5

        chunks = cut(text, parser("semantic"))

        assert_sound(text, chunks)
        letters = [set(chunk.text) & set("ae") for chunk in chunks]
        assert letters == [{"a"}, {"a", "e"}, {"e"}]  # the sentences around the change are separate

    def test_embeds_in_one_call(self):
        calls = []

        def embed(windows):
            calls.append(list(windows))
            return by_letters(windows)

        cut("One. Two. Three.", parser("semantic", buffer_size=1), embed=embed)

        assert calls == [["One. Two. ", "One. Two. Three.", "Two. Three."]]

    def test_needs_a_model(self):
        with pytest.raises(ValueError, match="needs embed"):
            cut("One. Two.", parser("semantic"), embed=None)

    def test_does_not_cut_text_without_change(self):
        assert (
            len(cut("One. Two. Three.", parser("semantic"), embed=lambda t: np.ones((3, 4)))) == 1
        )


class TestHtml:
    def test_cuts_where_the_tag_changes(self):
        chunks = cut(HTML, parser("html"))

        assert_sound(HTML, chunks)
        firsts = ["Q&amp;A", "The same words.</p><p>The <em>same</em>", "Again", "The same words."]
        assert len(chunks) == 4
        assert all(first in chunk.text for first, chunk in zip(firsts, chunks, strict=True))

    def test_leaves_text_without_tags_whole(self):
        assert texts(cut("No tags. 1 < 2.", parser("html"))) == ["No tags. 1 < 2."]


class TestJson:
    def test_makes_each_element_of_a_list_a_chunk(self):
        text = json.dumps([{"name": "Ada"}, {}, {"name": "Ada"}, ["x", "y"]], indent=1)

        chunks = cut(text, parser("json"))

        assert_sound(text, chunks)
        assert [json.loads(chunk.text.strip("[],\n ")) for chunk in chunks[:3]] == [
            {"name": "Ada"}, {}, {"name": "Ada"},
        ]  # fmt: skip

    @pytest.mark.parametrize("text", ['{"name": "Ada"}', "[0].name: Ada", "[1]", '[1, "tor'])
    def test_leaves_other_text_whole(self, text):
        assert texts(cut(text, parser("json"))) == [text]

    def test_names_the_parser_that_cannot_read_a_text(self):
        with pytest.raises(UnchunkableText, match="node parser 'json' cannot read the text"):
            cut("42", parser("json"))


@needs_grammars
class TestCode:
    def test_cuts_between_statements(self):
        text = (ROOT / "indexing/chunking/offsets.py").read_text()

        chunks = cut(text, parser("code", language="python", max_chars=600))

        assert_sound(text, chunks)
        assert any(chunk.text.startswith("def cover") for chunk in chunks)
        assert max(len(chunk.text) for chunk in chunks) <= 600

    def test_rejects_unknown_languages(self):
        with pytest.raises(InvalidSpec, match="does not support the language 'klingon'"):
            parse_spec("a", strategies("{parser: code, options: {language: klingon}}"))


class TestEveryText:
    @pytest.mark.parametrize("name", ["markdown", "sentence_window", "semantic", "html"])
    @given(text=TEXTS)
    @settings(deadline=None, max_examples=100)
    def test_is_cut_into_valid_chunks(self, name, text):
        counter = Counter()

        chunks = cut(text, parser(name), context="Title", window=40, count_tokens=counter)

        assert_sound(text, chunks)
        assert all(chunk.token_count <= 40 for chunk in chunks)


def strategies(*parsers):
    entries = ", ".join(each.replace("{", "{name: node_parser, ", 1) for each in parsers)
    return f"chunks: {{strategies: [{entries}]}}"


class TestSpec:
    def test_accepts_several_parsers(self):
        spec = parse_spec("a", strategies("{parser: markdown}", "{parser: semantic}"))

        assert [strategy.key for strategy in spec.chunks.strategies] == [
            "node_parser:markdown",
            "node_parser:semantic",
        ]

    def test_fills_in_default_options(self):
        [strategy] = parse_spec(
            "a", strategies("{parser: semantic, options: {buffer_size: 2}}")
        ).chunks.strategies

        assert strategy.options == {"buffer_size": 2, "breakpoint_percentile_threshold": 95}

    @pytest.mark.parametrize(
        ("parsers", "message"),
        [
            (["{parser: markdwn}"], "no node parser 'markdwn'; allowed: markdown, sentence_window"),
            (["{parser: os.path}"], "parser: String should match"),
            (["{parser: markdown}"] * 2, "may be listed only once"),
            (
                ["{parser: semantic, options: {size: 2}}"],
                "size: there is no such option; options of semantic: buffer_size, breakpoint",
            ),
            (
                ["{parser: semantic, options: {buffer_size: 0}}"],
                "buffer_size: Input should be greater than or equal to 1",
            ),
            (["{parser: sentence_window, options: {window_size: 2}}"], "window: none"),
            (["{parser: code}"], "language: Field required; options of code: language, max_chars"),
            (["{parser: html, options: {tags: p}}"], "tags: Input should be a valid tuple"),
        ],
    )
    def test_names_the_allowed_parsers_and_options(self, parsers, message):
        with pytest.raises(InvalidSpec, match=message):
            parse_spec("a", strategies(*parsers))

    def test_says_what_to_install_for_code(self, monkeypatch):
        monkeypatch.setattr("indexing.spec.node_parsers.find_spec", lambda name: None)

        with pytest.raises(InvalidSpec, match="strata install code"):
            parse_spec("a", strategies("{parser: code, options: {language: python}}"))

    def test_does_not_load_llamaindex(self):
        code = (
            "import sys, django; django.setup(); "  # the apps bring the kinds of node
            "import indexing.chunking; from indexing.spec import parse_spec; "
            f"parse_spec('a', {strategies('{parser: markdown}')!r}); "
            "sys.exit('llama_index' in sys.modules)"
        )
        environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings.test"}

        done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=False)

        assert done.returncode == 0


@pytest.mark.django_db
class TestBuild:
    def test_stores_the_chunks_of_each_parser(self, store, embedder):
        build = make_build(
            "notes",
            chunks={
                "strategies": [
                    {"name": "sentence"},
                    {"name": "node_parser", "parser": "markdown"},
                    {"name": "node_parser", "parser": "sentence_window"},
                    {"name": "node_parser", "parser": "semantic"},
                ]
            },
        )

        sync(build, give(MARKDOWN, index="notes"))

        counts = {
            strategy.key: Node.objects.filter(build=build, strategy=strategy.key).count()
            for strategy in build.spec.chunks.strategies
        }
        assert counts["node_parser:markdown"] == 4
        assert min(counts.values()) > 0
        assert verify_build(build).is_sound
