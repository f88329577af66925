import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from documents.source_splitting import (
    MAX_CHARS,
    MAX_WORDS,
    MIN_WORDS,
    count_words,
    split_into_sources,
)

FRAGMENTS = st.sampled_from(
    [
        "word ", "Sentence ends. ", "\n", "\n\n", "\r\n", "# Head\n", "## Sub #\n\n", "```\n",
        "文字", "。", "ไทย", "e\u0301", "\u0301", "\u200d", "\u3000", "\x1c", "\ufffd", " ",
        "long" * 4_000, "文" * 3_500, "a " * 1_700, "\u0301" * 13_000, "A line of it\n" * 400,
    ]
)  # fmt: skip


def words(count, word="word"):
    return " ".join([word] * count)


def passages(text):
    return [text[span.start : span.end] for span in split_into_sources(text)]


def assert_keeps_its_promises(text):
    spans = split_into_sources(text)
    end = 0
    for span in spans:
        passage = text[span.start : span.end]
        assert text[end : span.start].strip() == ""
        assert passage == passage.strip() != ""
        assert len(passage) <= MAX_CHARS
        assert count_words(passage) <= MAX_WORDS
        end = span.end
    assert text[end:].strip() == ""


class TestSplitIntoSources:
    @given(st.lists(FRAGMENTS | st.text(max_size=20), max_size=40).map("".join))
    def test_covers_all_text_in_order_within_its_limits(self, text):
        assert_keeps_its_promises(text)

    @pytest.mark.parametrize("text", ["", " ", "\n\t\u3000\x1c"])
    def test_returns_no_source_for_white_space(self, text):
        assert split_into_sources(text) == []

    def test_keeps_a_short_page_whole(self):
        text = "  # Head\n\n" + words(1_400) + "\n"

        assert passages(text) == [text.strip()]

    def test_prefers_to_split_before_a_heading(self):
        text = "\n\n".join([words(700), words(200), "## Next", words(300), words(700)])

        assert passages(text)[1].startswith("## Next")

    def test_splits_between_paragraphs_without_headings(self):
        text = "\n\n".join(["One. " * 900, "Two. " * 900])

        assert passages(text) == ["One. " * 899 + "One.", "Two. " * 899 + "Two."]

    def test_splits_between_sentences_without_paragraphs(self):
        text = "Five words make a sentence. " * 500

        assert all(passage.endswith("sentence.") for passage in passages(text))

    def test_returns_no_tiny_last_source(self):
        text = "Five words make a sentence. " * 320

        assert all(count_words(passage) >= MIN_WORDS for passage in passages(text))

    def test_never_separates_a_heading_from_its_text(self):
        text = words(1_200) + "\n\n## Next\n\n" + words(1_200)

        assert passages(text)[0].endswith("word")

    def test_splits_chinese_and_thai_by_characters(self):
        assert len(passages("这是一个句子。" * 1_000)) == 3
        assert len(passages("ภาษาไทย" * 1_000)) == 2
        assert all(passage.endswith("。") for passage in passages("这是一个句子。" * 1_000))

    def test_never_separates_a_character_from_its_marks(self):
        text = "a" + "e\u0301\u0302" * 20_000

        for passage in passages(text):
            assert not unicodedata.combining(passage[0])

    def test_splits_long_runs_of_marks(self):
        assert_keeps_its_promises("e" + "\u0301" * 50_000)

    @pytest.mark.parametrize(
        "unit",
        [
            "a",
            "word ",
            "文",
            "\n",
            "\n \n",
            "# h\n",
            "e\u0301",
            "```\n# x\n",
            ". ",
            "a\n\n",
            " \r\n",
        ],
        ids=repr,
    )
    def test_terminates_on_two_megabytes_of_one_unit(self, unit):
        text = unit * (2_000_000 // len(unit.encode()))

        assert_keeps_its_promises(text)  # about 1 s; in quadratic time it would be many minutes

    def test_counts_a_split_word_on_both_sides(self):
        assert_keeps_its_promises("文" * 3_000 + "。0" + "文" * 5_000)

    def test_names_the_heading_of_each_source(self):
        text = "\n\n".join(
            [words(600), "# A", "## B ##", words(900), words(900), "```", "# code", "```"]
        )

        assert [span.heading for span in split_into_sources(text)] == ["", "B", "B"]

    def test_joins_the_lines_of_a_heading(self):
        text = "# Report\n\n## Balance sheets\n\n## In millions ##\n\n" + words(10)

        [span] = split_into_sources(text)

        assert span.heading == "Balance sheets In millions"

    def test_joins_only_as_many_lines_as_a_heading_may_have(self):
        text = f"# A\n\n# {words(20)}\n\n# {words(20)}\n\n" + words(10)

        [span] = split_into_sources(text)

        assert span.heading == f"A {words(20)}"

    def test_begins_after_a_header(self):
        text = "Annual report\n\n# Costs\n\n" + words(10)

        [span] = split_into_sources(text, start=13)

        assert (span.start, span.heading) == (15, "Costs")


class TestOverlap:
    @given(
        st.lists(FRAGMENTS | st.text(max_size=20), max_size=40).map("".join),
        st.integers(1, MIN_WORDS // 2),
    )
    def test_moves_only_the_start_of_sources(self, text, overlap):
        spans, without = split_into_sources(text, overlap=overlap), split_into_sources(text)

        assert [(span.end, span.heading) for span in spans] == [
            (span.end, span.heading) for span in without
        ]
        starts = [span.start for span in spans]
        assert starts == sorted(set(starts))
        for span, plain in zip(spans, without, strict=True):
            repeated = text[span.start : plain.start]
            assert count_words(repeated) <= overlap
            assert repeated == repeated.lstrip()

    def test_repeats_whole_sentences(self):
        sentences = [f"Sentence number {n} has these six words." for n in range(400)]

        first, second, *_ = split_into_sources(" ".join(sentences), overlap=20)

        text = " ".join(sentences)
        repeated = text[second.start : first.end].split(". ")
        assert len(repeated) == 2
        assert all(sentence.startswith("Sentence number") for sentence in repeated)

    def test_repeats_words_if_there_is_no_sentence(self):
        first, second = split_into_sources(words(2_000), overlap=20)

        assert count_words(words(2_000)[second.start : first.end]) == 20
