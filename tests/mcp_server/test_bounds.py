"""Answers that would be longer than a client takes."""

import pytest

from mcp_server.bounds import MAX_TOKENS, estimate_tokens, render_within_bound
from retrieval.hit_text import render_hits
from tests.hit_texts import CHUNK


def make_answer(count, text="word " * 200):
    return {"hits": [CHUNK | {"text": f"{number}: {text}"} for number in range(count)]}


def test_show_fewer_hits_and_where_the_next_page_begins():
    shown = render_within_bound(render_hits, make_answer(100), 40)

    assert estimate_tokens(shown) <= MAX_TOKENS
    count = shown.count("\n[") + shown.startswith("[")
    assert 10 < count < 100
    assert f"Only the first {count} of 100 are here." in shown
    assert f"the same arguments and offset {40 + count}." in shown


def test_are_not_changed_if_they_fit():
    answer = make_answer(5)

    assert render_within_bound(render_hits, answer, 0) == render_hits(answer)


@pytest.mark.parametrize("text", ["word " * 50_000, "字" * 60_000])
def test_cut_a_text_that_is_too_long_alone(text):
    shown = render_within_bound(render_hits, make_answer(2, text), None)

    assert estimate_tokens(shown) <= MAX_TOKENS
    assert "Ask for less" in shown
    assert "open_document reads them whole" in shown
    first, *_, last = [line for line in shown.splitlines() if line.startswith("---")]
    assert first == last


def test_end_within_the_bound_even_if_nothing_can_be_left_out():
    shown = render_within_bound(lambda content: content["x"] * 100_000, {"x": "long "}, None)

    assert estimate_tokens(shown) <= MAX_TOKENS
