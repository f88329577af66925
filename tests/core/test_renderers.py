"""Answers are written as DRF would write them."""

import json
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

import pytest
from django.utils.translation import gettext_lazy
from rest_framework import renderers

from core.http_formats import JSONRenderer


class Colour(StrEnum):
    RED = "red"


ID = UUID("0d3e3b8e-7c52-4e1c-9d61-6a3e2f0c8a11")


@pytest.mark.parametrize(
    "answer",
    [
        {"text": 'a "b" \\ \n é 汉 👩‍👩‍👧 e\u0301', "none": None, "yes": True},
        {"score": 0.1, "small": 1e-7, "large": 1.5e300, "whole": 1.0, "count": 2**70},
        {"id": ID, "colour": Colour.RED, "tuple": (1, 2), "lazy": gettext_lazy("No")},
        {"at": datetime(2024, 5, 6, 7, 8, 9, tzinfo=UTC), "empty": [], "nested": {"a": {}}},
        {"at": datetime(2024, 5, 6, 7, 8, 9, 120, tzinfo=UTC)},
        {"text": "NaN is no number, and Infinity none that ends"},
        [],
        "text",
    ],
)
def test_answers_read_as_from_drf(answer: Any) -> None:
    theirs = renderers.JSONRenderer().render(answer, "application/json", {})
    assert json.loads(JSONRenderer().render(answer, "application/json", {})) == json.loads(theirs)


def test_is_utf_8_without_spaces() -> None:
    assert JSONRenderer().render({"a": "é", "b": [1, 2]}) == '{"a":"é","b":[1,2]}'.encode()


def test_none_is_rendered_as_no_bytes() -> None:
    assert JSONRenderer().render(None) == b""


def test_is_indented_on_request() -> None:
    rendered = JSONRenderer().render({"a": 1}, "application/json; indent=2", {})
    assert rendered == b'{\n  "a": 1\n}'


def test_a_type_without_json_is_an_error() -> None:
    with pytest.raises(Exception, match="serializ"):
        JSONRenderer().render({"a": object()})


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_number_that_is_not_finite_is_an_error(number: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        JSONRenderer().render({"score": number})
