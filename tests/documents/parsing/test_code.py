"""Source code is cut at its functions and classes, where tree-sitter's grammars are installed."""

from dataclasses import replace
from importlib.util import find_spec

import pytest

from tests.documents.parsing.conftest import LIMITS

needs_grammars = pytest.mark.skipif(
    find_spec("tree_sitter_language_pack") is None,
    reason="tree-sitter-language-pack is not installed; .ci/extras runs this with it",
)
PYTHON = '''\
"""Herons."""
LIMIT = 9

# How long they wait.
@cache
def wait(minutes):
    return "längst"

class Heron:
    legs = 2

    def stand(self):
        {body}

    def fly(self): ...

print(wait(1))
'''


def sections(document):
    return [(page.label, page.text) for page in document.pages]


@pytest.mark.skipif(
    find_spec("tree_sitter_language_pack") is not None, reason="the grammars are installed"
)
def test_is_one_page_without_the_grammars(parse):
    assert sections(parse(PYTHON, "heron.py")) == [("", PYTHON)]


@needs_grammars
class TestSections:
    def test_are_functions_with_the_comments_above_and_short_classes(self, parse):
        assert sections(parse(PYTHON, "heron.PY")) == [
            ("", '"""Herons."""\nLIMIT = 9'),
            (
                "def wait(minutes)",
                '# How long they wait.\n@cache\ndef wait(minutes):\n    return "längst"',
            ),
            (
                "class Heron",
                "class Heron:\n    legs = 2\n\n    def stand(self):\n        {body}\n\n"
                "    def fly(self): ...",
            ),
            ("", "print(wait(1))"),
        ]

    def test_are_the_methods_of_a_long_class(self, parse):
        body = "return " + "1 + " * 600 + "1"

        pages = parse(PYTHON.replace("{body}", body), "heron.py").pages

        assert [page.label for page in pages[2:]] == [
            "class Heron",
            "class Heron › def stand(self)",
            "class Heron › def fly(self): ...",
            "",
        ]
        assert pages[2].text == "class Heron:\n    legs = 2"

    def test_are_functions_that_are_exported_or_assigned(self, parse):
        source = (
            "import a from 'b'\nexport const wait = async (x) => {\n}\nexport function fly() {\n}"
        )

        assert [label for label, _ in sections(parse(source, "heron.ts"))] == [
            "",
            "export const wait = async (x) =>",
            "function fly()",
        ]

    @pytest.mark.parametrize(
        ("file_name", "source", "label"),
        [
            ("a.java", "/** d */\npublic class A {\n}", "public class A"),
            ("a.c", "#include <a.h>\nint f(int a) {\n}", "int f(int a)"),
            ("a.go", "package p\nfunc (a *A) F() {\n}", "func (a *A) F()"),
            ("a.rs", "use a;\nimpl A {\n}", "impl A"),
            ("a.rb", "class A\nend", "class A"),
            ("a.kt", "fun f() {\n}", "fun f()"),
            ("a.cs", "using A;\nnamespace N {\n}", "namespace N"),
            ("a.php", "<?php\nfunction f() {\n}", "function f()"),
        ],
    )
    def test_are_found_in_other_languages(self, parse, file_name, source, label):
        assert parse(source, file_name).pages[-1].label == label

    def test_are_not_cut_if_they_are_too_many(self, parse):
        source = "def a(): ...\ndef b(): ..."

        assert len(parse(source, "a.py", limits=replace(LIMITS, max_pages=1)).pages) == 1
