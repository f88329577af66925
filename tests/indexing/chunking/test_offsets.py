from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from indexing.chunking.offsets import cover, locate, locate_json_elements

# Few letters, so that most pieces repeat.
REPETITIVE_TEXTS = st.text("ab \n", max_size=60)


def cut_at(text, places):
    ends = [0, *sorted({place % (len(text) + 1) for place in places}), len(text)]
    return [(start, end) for start, end in pairwise(ends) if text[start:end].strip()]


def strip_span(text, start, end):
    piece = text[start:end]
    return (start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip()))


class TestLocate:
    def test_finds_each_occurrence_of_repeated_text(self):
        text = "ha ha ha. ha ha."

        assert locate(text, ["ha ha ha.", "ha ha."]) == [(0, 9), (10, 16)]

    def test_leaves_room_for_later_pieces(self):
        text = "x. x. x. x."

        assert locate(text, ["x. x.", "x. x.", "x. x."]) == [(0, 5), (3, 8), (6, 11)]

    def test_finds_no_piece_inside_the_previous_one(self):
        assert locate("abcab and ca", ["abcab", "ca"]) == [(0, 5), (10, 12)]

    def test_skips_text_between_the_pieces(self):
        assert locate("one, two, three", ["one", "three"]) == [(0, 3), (10, 15)]

    def test_ignores_differences_in_white_space(self):
        assert locate("#\tOne\r\ntext  here", ["# One\ntext here"]) == [(0, 17)]

    def test_returns_none_for_missing_pieces(self):
        assert locate("one two", ["two", "three", "", "one"]) == [None, None, None, (0, 3)]

    def test_ignores_markup_between_words(self):
        text = "<p class='a'>R&amp;D is <i>fun</i>&nbsp;</p><!-- <p>fun</p> --><p>fun, 1 < 2</p>"

        spans = locate(text, ["R&D\nis fun", "fun, 1 < 2"], is_markup=True)

        assert [text[start:end] for start, end in spans] == [
            "R&amp;D is <i>fun",
            "fun, 1 < 2",
        ]

    @given(text=REPETITIVE_TEXTS, places=st.lists(st.integers(0, 1_000), max_size=12))
    @settings(deadline=None, max_examples=500)
    def test_finds_every_cut_of_a_text(self, text, places):
        spans = [strip_span(text, start, end) for start, end in cut_at(text, places)]

        assert locate(text, [text[start:end] for start, end in spans]) == spans

    @given(
        text=st.text("ab", min_size=1, max_size=60),
        steps=st.lists(st.tuples(st.integers(1, 9), st.integers(1, 20)), min_size=1, max_size=12),
        is_markup=st.booleans(),
    )
    @settings(deadline=None, max_examples=500)
    def test_returns_ordered_spans_for_overlapping_pieces(self, text, steps, is_markup):
        start, end, pieces = 0, 0, []
        for step, length in steps:
            if end < start + length <= len(text):
                end = start + length
                pieces.append(text[start:end])
            start += step

        spans = locate(text, pieces, is_markup=is_markup)

        assert is_markup or None not in spans
        found = [(span, piece) for span, piece in zip(spans, pieces, strict=True) if span]
        assert all(text[start:end] == piece for (start, end), piece in found)
        for ((start, end), _), ((next_start, next_end), _) in pairwise(found):
            assert start < next_start
            assert end < next_end


class TestLocateJsonElements:
    def test_finds_each_element_of_a_list(self):
        text = ' [ {"a": "]"},\n{}, [1, [2]], "x, y",null ]'

        spans = locate_json_elements(text, ["a ]", "", "1\n2", "x, y", "None"])

        assert [text[start:end] for start, end in spans] == [
            '{"a": "]"}', "{}", "[1, [2]]", '"x, y"', "null",
        ]  # fmt: skip

    def test_finds_no_elements_in_text_that_is_not_a_list(self):
        assert locate_json_elements('{"a": 1}', ["a 1"]) == [None]
        assert locate_json_elements("no JSON", []) == []


class TestCover:
    def test_adds_text_between_spans_to_a_neighbour(self):
        assert cover("aa bb cc dd", [(3, 5), (9, 10)]) == [(0, 9), (9, 11)]

    def test_keeps_spans_apart_if_only_white_space_is_between_them(self):
        assert cover(" aa bb ", [(1, 3), (4, 6)]) == [(1, 3), (4, 6)]

    def test_covers_the_whole_text_without_spans(self):
        assert cover("text", []) == [(0, 4)]
        assert cover(" ", []) == []

    @given(text=REPETITIVE_TEXTS, spans=st.lists(st.tuples(st.integers(0, 60), st.integers(1, 9))))
    def test_covers_all_text(self, text, spans):
        spans = sorted((start, start + length) for start, length in spans)
        spans = [(start, min(end, len(text))) for start, end in spans if start < len(text)]

        end = 0
        for start, stop in cover(text, spans):
            assert not text[end:start].strip()
            end = max(end, stop)
        assert not text[end:].strip()
