"""No text takes more than linear time, however awkward it is.

Each pass over a user's text runs on texts of many shapes, in two sizes: the larger as large as a
moment of processor time allows, at most 1 MB. In linear time the ratio of the times is that of the
sizes, in quadratic time its square.
"""

import gc
import json
import re
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from itertools import count
from pkgutil import resolve_name
from time import process_time

import numpy as np
import pytest

from answers.citing import find_citations
from answers.exceptions import InvalidPipeline
from answers.pipelines.declaring import parse_declaration
from answers.pipelines.identifier_lookup import find_identifier_matches
from answers.questions.clauses import extract_topic
from answers.questions.english.answer_types import has_requested_kind_of_answer
from answers.questions.english.names import (
    find_mark_clauses,
    find_name_clauses,
    find_person_clauses,
    find_unknown_names,
)
from answers.questions.english.rules import MAX_PARSED_CHARS, find_quoted_spans
from answers.questions.english.years import find_year_clauses
from answers.questions.values import MarkLookup, NameLookup, PersonLookup
from answers.questions.wordings import extract_keywords, is_question
from answers.quoting import join_wrapped_lines, select_quotations
from concepts.models import normalise_name
from concepts.quote_matching import find_quote
from core.exceptions import InvalidInput
from core.text import clean_page, clean_text
from documents.exceptions import Unparsable
from documents.parsing import ParsedPage, is_nearly_all_separators
from documents.parsing.alignment import Alignment
from documents.parsing.boxes import Box
from documents.parsing.document import DocumentDraft
from documents.source_splitting import MAX_CHARS, split_into_sources
from evidence.wording import has_same_words
from indexing.exceptions import InvalidSpec, UnchunkableText
from indexing.spec import (
    FieldSpec,
    NodeParserStrategy,
    ParagraphStrategy,
    SemanticStrategy,
    SentenceStrategy,
    parse_spec,
)
from indexing.stores import get_bm25_encoder
from presets.papers.anthology.papers import to_plain_text
from processing.pages import format_pages, read_pages
from retrieval.filters import parse_filter
from summaries.extractive import match_field_values, summarise_in_one_line, summarise_texts
from tests.answers.making import make_context
from tests.documents.parsing.conftest import LIMITS
from tests.indexing.chunking.fakes import cut
from text.question_languages import is_in_languages
from text.quotable_sentences import find_quotable_sentences
from text.sentences import find_sentences

MAX_CHARS_TRIED = 2**20
RATIO = 8  # of the two sizes
# Between 8 and 64: caches and other work on the machine make a linear pass look a little worse.
MAX_TIME_RATIO = 28
SECONDS = 0.01  # about, of the larger text
IGNORED_SECONDS = 0.003  # a larger text that takes less is not measured again
ATTEMPTS = 25

# Each is a prefix, a unit that is repeated, and a suffix.
SHAPES = {
    "spaces": ("x", " ", "y"),
    "spaces in a heading": ("# x", " ", "y\n\nbody"),
    "hashes in a heading": ("# x", " #", " y\n\nbody"),
    "hashes": ("", "#", ""),
    "headings": ("", "# a\n", ""),
    "blank lines": ("a", " \t\n", "b"),
    "Windows lines": ("---\r\n", "a\r\n", ""),
    "rules": ("", "---\n", ""),
    "abbreviations at line ends": ("", "Dr.\n", ""),
    "stops": ("", ".", "x"),
    "initials": ("", "A. ", ""),
    "brackets": ("", "[", ""),
    "links": ("", "[](", ""),
    "marked numbers": ("", "[1, ", ""),
    "parentheses": ("", "(", ")"),
    "braces": ("", "\\a{", ""),
    "formulas": ("$", "_", ""),
    "sorted marks": ("a", "\u0301", ""),
    "unsorted marks": ("a", "\u0301\u0316", ""),
    "marks made of two": ("a", "\u0f73", ""),
    "accented letters": ("", "a\u0301", ""),
    "flags": ("", "\U0001f1e9", ""),
    "families": ("", "\U0001f468\u200d", ""),
    "straight quotes": ("", '"', ""),
    "opening quotes": ("", "“", ""),
    "low quotes": ("", "„", ""),
    "apostrophes": ("", "a'", ""),
    "pipes": ("", "|", ""),
    "rows": ("", "a | b\n", ""),
    "long word": ("", "x", ""),
    "one line": ("", "word ", ""),
    "names": ("", "Ada ", ""),
    "full lines": ("", "One two three four\n", ""),
    "digits": ("", "1", "x"),
    "thousands": ("", "111,", "x"),
    "codes": ("", "a-a1", "-"),
    "superscripts": ("é", "³", ""),
    "soft hyphens": ("a", "\u00ad", ""),
    "emphasis": ("", "*a ", ""),
    "fences": ("", "~~~\n", ""),
    "lists": ("", "- ", "a"),
    "quotations": ("", "> ", "a"),
    "tags": ("", "<b>", ""),
    "unclosed comments": ("", "<!--", ""),
    "entities": ("", "&amp", ""),
    "fillers": ("", "and the ", "x"),
    "alternatives": ("", "or ", "x"),
    "addresses": ("", "https://a 10.1/b ", ""),
    "pages": ("", "\\# Page 1\n", ""),
    "Thai": ("", "ก ", ""),
    "Chinese": ("", "中", ""),
}
SPEC = parse_spec(
    "texts",
    "title: Texts\nmetadata: {year: {type: integer}, venue: {type: keyword}}\n"
    "identifiers: {doi: {pattern: '10\\.\\d+/\\S+'}}\n",
)
FIELDS = {"topic": FieldSpec(type="keyword", values=["word", "a a a", "one_two", "111"])}


def make_text(shape: str, size: int) -> str:
    prefix, unit, suffix = SHAPES[shape]
    return prefix + (unit * (size // len(unit) + 1))[:size] + suffix


def embed(texts):
    return np.ones((len(texts), 2), dtype=np.float32) / np.sqrt(np.float32(2))


def read_file(reader, before="", after="", encoding="utf-8"):
    """Read a text as a file, as the child processes do."""
    read_into = resolve_name(f"documents.parsing.{reader}")

    def read(text, folder):
        path = folder / "original"
        path.write_bytes(f"{before}{text}{after}".encode(encoding, "replace"))
        with suppress(Unparsable, RecursionError):  # to refuse it must take no longer
            read_into(path, DocumentDraft(LIMITS))

    return read


def read_json_text(text, folder):
    read_file("json:read")(json.dumps({text: [[], text[:8], *[""] * (len(text) // 8)]}), folder)


def cut_sources(strategy):
    """Chunk the sources of a text."""

    def chunk(text, folder):
        for span in split_into_sources(text):
            with suppress(UnchunkableText):
                cut(text[span.start : span.end], strategy, window=256)

    return chunk


def quote(text, folder):
    encoder = get_bm25_encoder(SPEC.sparse)
    context = make_context(1, text[:MAX_CHARS])

    def embed_both(query, texts):
        return np.ones(2, dtype=np.float32), embed(texts)

    select_quotations("word", [context], max_sentences=3, embed=embed_both, encoder=encoder)


def align(text, folder):
    """Place a text on a page that has its letters in another order, one on each line."""
    boxes = [Box(0, n, 1, n + 1) for n in range(len(text))]
    alignment = Alignment(text, text[::-1], boxes)
    alignment.place_words([word.span() for word in re.finditer(r"\S+", text)])
    alignment.place_repeated(0, len(text))
    alignment.place_nearer(0, len(text))


def filter_by(text, folder):
    for content in (
        {text: 1},
        {"venue": text},
        {"venue": [text[:9]] * (len(text) // 9)},
        {"year": {text: 1}},
        {"any_of": [{"venue": text}, {text: text}]},
    ):
        with suppress(InvalidInput):
            parse_filter(content, SPEC)


def load_yaml(text, folder):
    with suppress(InvalidSpec):
        parse_spec("texts", text)
    with suppress(InvalidPipeline):
        parse_declaration("texts", text)


def on_text(read: Callable[[str], object]):
    """Ignore the folder; consume an iterator."""

    def run(text, folder):
        found = read(text)
        if hasattr(found, "__next__"):
            list(found)

    return run


PASSES = {
    "clean_text": on_text(clean_text),
    "clean_page": on_text(clean_page),
    "is_nearly_all_separators": on_text(is_nearly_all_separators),
    "plain text": read_file("text:read"),
    "Latin-1": read_file("text:read", "déjà vu par là ", encoding="latin-1"),
    "Markdown": read_file("markdown:read"),
    "title in Markdown": read_file("markdown:read", "---\ntitle: ", "\n---\n"),
    "HTML": read_file("html:read"),
    "HTML table": read_file("html:read", "<table><tr><td>"),
    "CSV": read_file("csv:read"),
    "RTF": read_file("rtf:read", "{\\rtf1 ", "}"),
    "passage on its page": align,
    "JSON": read_file("json:read"),
    "text in JSON": read_json_text,
    "JSON lines": read_file("json:read_lines"),
    "e-mail": read_file("eml:read", "Subject: a\n\n"),
    "subject": read_file("eml:read", "Subject: "),
    "sender": read_file("eml:read", "From: "),
    "content type": read_file("eml:read", "Subject: a\nContent-Type: "),
    "HTML e-mail": read_file("eml:read", "Subject: a\nContent-Type: text/html\n\n"),
    "XML": read_file("xml:read", "<a b='c'>", "</a>"),
    "feed": read_file("xml:read", "<rss><description><![CDATA[", "]]></description></rss>"),
    "flowed e-mail": read_file("eml:read", "From: a\nContent-Type: text/plain; format=flowed\n\n"),
    "MBOX": read_file("eml:read_mbox", "From a Tue Mar 3 09:15 2026\nFrom: a\n\n"),
    "subtitles": read_file("transcripts:read", "WEBVTT\n\n00:01.000 --> 00:02.000\n"),
    "calendar": read_file(
        "ics:read", "BEGIN:VCALENDAR\nBEGIN:VEVENT\nDESCRIPTION:", "\nEND:VEVENT"
    ),
    "sources": on_text(split_into_sources),
    "sources that overlap": on_text(lambda text: split_into_sources(text, overlap=100)),
    "sentences": on_text(find_sentences),
    "sentence chunks": cut_sources(SentenceStrategy()),
    "paragraph chunks": cut_sources(ParagraphStrategy()),
    "semantic chunks": cut_sources(SemanticStrategy()),
    **{
        f"{parser} chunks": cut_sources(NodeParserStrategy(parser=parser))
        for parser in ("markdown", "sentence_window", "semantic", "html", "json")
    },
    "sparse vector": on_text(lambda text: get_bm25_encoder(SPEC.sparse).encode_document(text)),
    "quotable sentences": on_text(find_quotable_sentences),
    "summary": on_text(lambda text: summarise_texts([text], sentence_count=3, embed=embed)),
    "one line": on_text(lambda text: summarise_in_one_line(text, heading="word one")),
    "field values": on_text(lambda text: match_field_values(text, FIELDS)),
    "parsed pages": on_text(lambda text: read_pages(format_pages([ParsedPage(text)]))),
    "quote in a text": on_text(lambda text: find_quote(text, "a quote")),
    "quote": on_text(lambda text: find_quote("a text", text)),
    "concept": on_text(normalise_name),
    "finding": on_text(lambda text: has_same_words(text, text[::-1])),
    "paper": on_text(to_plain_text),
    "spec and pipeline": load_yaml,
    "filter": filter_by,
    "answer": quote,
    "wrapped lines": on_text(lambda text: join_wrapped_lines(text, find_quotable_sentences(text))),
    "citations": on_text(lambda text: find_citations(text, [])),
    "answer type": on_text(lambda text: has_requested_kind_of_answer("Who?", text)),
    "question's answer type": on_text(lambda text: has_requested_kind_of_answer(text, "a")),
    "question's languages": on_text(lambda text: is_in_languages(text, ["en"])),
    "question's keywords": on_text(lambda text: (extract_keywords(text), is_question(text))),
    "question's topic": on_text(lambda text: extract_topic(text, [(0, 1)])),
    "question's quotes": on_text(find_quoted_spans),
    "question's identifiers": on_text(lambda text: find_identifier_matches(text, SPEC.identifiers)),
    "question's unknown names": on_text(lambda text: list(find_unknown_names(text))),
    "question's marks": on_text(lambda text: find_mark_clauses(text, "award", MarkLookup(()))),
    "question's names": on_text(lambda text: find_name_clauses(text, "venue", NameLookup(()))),
    "question's people": on_text(lambda text: find_person_clauses(text, "by", PersonLookup(()))),
    "question's years": on_text(lambda text: find_year_clauses(text, "year", date(2026, 1, 1))),
}
# The smallest of the smaller texts, and the largest of the larger ones. Longer texts are cut into
# sources, longer questions are not parsed, headers are cut, and front matter has at most 500 lines.
MIN_SIZES = {
    "sources": 16_384,
    "sources that overlap": 16_384,
    "title in Markdown": 16_384,
    "subject": 8_192,
    "sender": 8_192,
}
MAX_SIZES = {
    **{name: MAX_CHARS for name in PASSES if name.endswith("chunks")},
    **{
        f"question's {filters}": MAX_PARSED_CHARS
        for filters in ("marks", "names", "people", "unknown names", "years")
    },
}

_numbers = count()


def measure(run, text: str, folder) -> float:
    """Seconds of processor time. Each text is new, so that no cache holds its result."""
    text = f"{text} {next(_numbers)}"
    gc.collect(0)
    started = process_time()
    run(text, folder)
    return process_time() - started


def choose_sizes(name: str, shape: str, folder) -> tuple[int, int]:
    """The sizes of a smaller and a larger text."""
    first = MIN_SIZES.get(name, 512)
    seconds = measure(PASSES[name], make_text(shape, first), folder)
    size = max(int(first * SECONDS / max(seconds, 1e-6)), first * RATIO)
    size = min(size, MAX_SIZES.get(name, MAX_CHARS_TRIED))
    return size // RATIO, size


@pytest.fixture
def without_collection():
    """The garbage collector looks at all objects again and again, which is not the pass's time."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize("name", PASSES)
def test_takes_linear_time_for_any_shape_of_text(name, tmp_path, without_collection):
    run = PASSES[name]
    run("a b", tmp_path)  # loads what it imports

    slow = {}
    for shape in SHAPES:
        small_size, size = choose_sizes(name, shape, tmp_path)
        small, large = make_text(shape, small_size), make_text(shape, size)
        small_seconds = large_seconds = float("inf")
        for _ in range(ATTEMPTS):  # other work on the machine can only add time
            large_seconds = min(large_seconds, measure(run, large, tmp_path))
            if large_seconds < IGNORED_SECONDS:
                break
            small_seconds = min(small_seconds, measure(run, small, tmp_path))
            if large_seconds < MAX_TIME_RATIO * small_seconds:
                break
        else:
            slow[shape] = (
                f"{size} characters take {large_seconds / small_seconds:.0f} times as long"
            )

    assert slow == {}
