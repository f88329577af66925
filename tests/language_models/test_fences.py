import pytest

from language_models.prompts import FenceFilter, make_fence, remove_fences

FENCE = make_fence("A text.")
REPEATED = f"Dashes - and --- stay.\n{FENCE}\nSo does --- this{FENCE}. --"
WITHOUT = "Dashes - and --- stay.\n\nSo does --- this. --"


def test_are_removed_from_a_response():
    assert remove_fences(REPEATED) == WITHOUT


@pytest.mark.parametrize("size", [1, 3, 20, 1_000])
def test_are_removed_from_pieces_of_any_size(size):
    fences = FenceFilter()

    pieces = [
        fences.feed(REPEATED[start : start + size]) for start in range(0, len(REPEATED), size)
    ]

    assert "".join(pieces) + fences.finish() == WITHOUT


def test_text_that_cannot_begin_one_is_passed_on_at_once():
    fences = FenceFilter()

    assert fences.feed("Herons wait.") == "Herons wait."
    assert fences.feed(" --- 0") == " "
    assert fences.feed("x") == "--- 0x"
