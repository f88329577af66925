"""``docs/reference/errors.md`` names every code that users meet, and the status of its answer."""

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from rest_framework import exceptions

from concepts import extraction
from config.error_statuses import OTHER_ERRORS, exception_handler, http_status
from core.exceptions import StrataError
from documents.exceptions import Unparsable
from indexing.exceptions import TooManyNodes, UnchunkableText
from indexing.services import rereading
from summaries.services import failures
from tests.config.test_error_statuses import every_condition

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "errors.md"
NOT_SERVED = {"benchmarks", "demo", "tests"}
# What Django REST framework raises by itself.
DRF_ERRORS = [
    exceptions.MethodNotAllowed("PUT"),
    exceptions.NotAcceptable(),
    exceptions.NotAuthenticated(),
    exceptions.ParseError(),
    exceptions.PermissionDenied(),
    exceptions.UnsupportedMediaType("a/b"),
]


# --- What the page names ---------------------------------------------------------------------


def read_section(start: str, end: str) -> str:
    text = "\n" + PAGE.read_text(encoding="utf-8")
    return text[text.index(f"\n{start}\n") : text.index(f"\n{end}\n")]


def documented_codes(start: str, end: str) -> set[str]:
    return set(re.findall(r"^\| `(\w+)` \|", read_section(start, end), re.MULTILINE))


def documented_statuses() -> dict[str, set[int]]:
    statuses: dict[str, set[int]] = defaultdict(set)
    section = read_section("## The request", "## Messages of `invalid`")
    for code, status in re.findall(r"^\| `(\w+)` \| (\d{3}) \|", section, re.MULTILINE):
        statuses[code].add(int(status))
    return statuses


# --- What the code says ----------------------------------------------------------------------


@cache
def every_node() -> list[ast.AST]:
    """The syntax of every module that a server runs."""
    packages = {each.parent for each in ROOT.glob("*/__init__.py")}
    paths = [
        path
        for package in packages
        if package.name not in NOT_SERVED
        for path in package.rglob("*.py")
    ]
    return [
        node for path in paths for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    ]


def every_call(*names: str) -> Iterator[ast.Call]:
    """The calls of a function, class or method of one of these names."""
    return find_calls(every_node(), *names)


def find_calls(nodes: Iterable[ast.AST], *names: str) -> Iterator[ast.Call]:
    for node in nodes:
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in names:
                yield node


def walk_module(path: str) -> Iterator[ast.AST]:
    return ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))


def constants(nodes: list[ast.expr], kind: type) -> list:
    return [
        node.value for node in nodes if isinstance(node, ast.Constant) and type(node.value) is kind
    ]


def answered_statuses() -> dict[str, set[int]]:
    """The statuses that each code of an answer comes with."""
    statuses: dict[str, set[int]] = defaultdict(set)
    for condition in every_condition():
        if condition is not Unparsable:  # its instances have codes of their own, on artifacts
            statuses[condition.code].add(http_status(condition()))
    for call in find_calls(walk_module("documents/virus_scan.py"), "Unparsable"):
        # A request for an original has it scanned.
        [code] = constants(call.args[:1], str)
        statuses[code].add(http_status(Unparsable(code, "")))
    for error in DRF_ERRORS:
        answer = exception_handler(error, {})
        assert answer is not None
        statuses[answer.data["code"]].add(answer.status_code)
    for call in every_call("NotFound", "AuthenticationFailed"):
        [code] = constants([each.value for each in call.keywords if each.arg == "code"], str)
        statuses[code].add(getattr(exceptions, ast.unparse(call.func)).status_code)
    for status, code, _ in OTHER_ERRORS.values():
        statuses[code].add(status)
    statuses["server_error"].add(500)
    return statuses


def artifact_codes() -> set[str]:
    refusals = [constants(call.args[:1], str) for call in every_call("Unparsable", "_error_reply")]
    written = literal_codes(
        node
        for path in ("indexing/catalog.py", "documents/serializers.py")
        for node in walk_module(path)
    )
    return {code for codes in refusals for code in codes} | written


def literal_codes(nodes: Iterable[ast.AST]) -> set[str]:
    """The codes of errors that are written out: ``code = "x"``, ``error_code="x"`` and
    ``{"code": "x"}``."""
    values: list[ast.expr] = []
    for node in nodes:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "code":
            value = node.value
            values += [value.body, value.orelse] if isinstance(value, ast.IfExp) else [value]
        elif isinstance(node, ast.keyword) and node.arg == "error_code":
            values.append(node.value)
        elif isinstance(node, ast.Dict) and {"code", "detail"} <= set(
            constants([key for key in node.keys if key is not None], str)
        ):
            pairs = zip(node.keys, node.values, strict=True)
            values += [value for key, value in pairs if getattr(key, "value", "") == "code"]
    return {code for code in constants(values, str) if code}


def describe_difference(what: str, written: set[str], documented: set[str]) -> str:
    """One sentence on what is missing on either side; empty where nothing is."""
    problems = []
    if missing := sorted(written - documented):
        problems.append(f"{PAGE.name} lacks these {what}: {', '.join(missing)}.")
    if extra := sorted(documented - written):
        problems.append(f"{PAGE.name} names {what} that no code gives: {', '.join(extra)}.")
    return " ".join(problems)


class TestErrorReference:
    def test_lists_exactly_the_codes_of_responses(self):
        problem = describe_difference(
            "codes of answers", set(answered_statuses()), set(documented_statuses())
        )

        assert not problem, problem

    def test_lists_each_code_with_its_status(self):
        answered, documented = answered_statuses(), documented_statuses()

        wrong = [
            f"{code} is answered with {sorted(answered[code])}, but {PAGE.name} says "
            f"{sorted(documented[code])}."
            for code in sorted(answered.keys() & documented.keys())
            if answered[code] != documented[code]
        ]

        assert not wrong, " ".join(wrong)

    def test_lists_exactly_the_codes_of_artifacts(self):
        written = artifact_codes() | {UnchunkableText.code, TooManyNodes.code}

        problem = describe_difference(
            "codes of artifacts", written, documented_codes("## Artifacts", "### Warnings")
        )

        assert not problem, problem

    def test_lists_exactly_the_codes_of_warnings(self):
        calls = every_call("warn", "leave_out", "_warn_of_pages")
        written = {code for call in calls for code in constants(call.args[:1], str)}
        # of texts that a language model did not write, and of files that were not read anew
        for module in (failures, extraction, rereading):
            code = re.compile(r'"((?:texts|concepts)_[a-z_]+|not_reread)"')
            written |= set(code.findall(inspect.getsource(module)))

        problem = describe_difference(
            "codes of warnings", written, documented_codes("### Warnings", "## Commands")
        )

        assert not problem, problem

    def test_lists_every_code_that_other_modules_write_out(self):
        named = set(documented_statuses()) | documented_codes("## Artifacts", "## Commands")
        bases = {
            StrataError.code,
            Unparsable.code,
        }  # no answer has these: other errors derive from them

        unnamed = sorted(literal_codes(every_node()) - named - bases)

        assert not unnamed, f"{PAGE.name} lacks these codes: {', '.join(unnamed)}."
