import pytest

from text.superscripts import lower_text, raise_text


@pytest.mark.parametrize(
    ("text", "raised"),
    [("6", "⁶"), ("-3", "⁻³"), ("th", "ᵗʰ"), (" 2 ", " ² "), ("a, b", "^(a, b)"), ("*", "^(*)")],
)
def test_superscripts_stay_apart_from_what_they_stand_at(text: str, raised: str):
    assert raise_text(text) == raised


@pytest.mark.parametrize(
    ("text", "lowered"), [("2", "₂"), ("max", "ₘₐₓ"), ("B", "_(B)"), ("", ""), (" ", " ")]
)
def test_subscripts_stay_apart_from_what_they_stand_at(text: str, lowered: str):
    assert lower_text(text) == lowered
