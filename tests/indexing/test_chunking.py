import unicodedata
from itertools import pairwise

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from indexing.chunking import Chunk, cut_chunks, embedded_text, fit_context
from indexing.spec import ParagraphStrategy, SemanticStrategy, SentenceStrategy

SENTENCE = SentenceStrategy()
STRATEGIES = [
    SentenceStrategy(max_chars=50),
    SENTENCE,
    ParagraphStrategy(),
    SemanticStrategy(max_chars=120, breakpoint_percentile=60),
]
FAMILY = "👨‍👩‍👧‍👦"
FLAG = "🇩🇪"


class Counter:
    """A tokenizer with two special tokens and a fixed number per character; counts its calls."""

    def __init__(self, per_character=1):
        self.per_character = per_character
        self.calls = 0

    def __call__(self, texts):
        self.calls += 1
        return [len(text) * self.per_character + 2 for text in texts]


def by_words(texts):
    return [len(text.split()) + 2 for text in texts]


def by_letters(texts):
    """A deterministic embedding: the same letters mean the same."""
    return np.array([[1 + text.count(letter) for letter in "aeinost"] for text in texts])


def cut(
    text, strategy=SENTENCE, *, context="", window=100_000, count_tokens=None, embed=by_letters
):
    return cut_chunks(
        text,
        strategy,
        context=context,
        window=window,
        count_tokens=count_tokens or Counter(),
        embed=embed,
    )


def texts(chunks):
    return [chunk.text for chunk in chunks]


def sentences(text):
    """What the segmentation takes for sentences, seen through a chunk size of one sentence."""
    from indexing.chunking import _find_sentences

    return [text[sentence.start : sentence.end] for sentence in _find_sentences(text)]


def assert_sound(text, chunks):
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    covered = 0
    for chunk in chunks:
        assert text[chunk.start : chunk.end] == chunk.text
        assert chunk.text == chunk.text.strip() != ""
        assert not text[covered : chunk.start].strip()
        assert chunk.start >= covered
        covered = chunk.end
    assert not text[covered:].strip()


def graphemes_cut(text, chunks):
    """Cuts that fall inside a grapheme; white space between two chunks is no cut."""
    ends = {match.end() for match in regex.finditer(r"\X", text)}
    return [
        before.end
        for before, after in pairwise(chunks)
        if before.end == after.start and before.end not in ends
    ]


class TestSentenceBoundaries:
    @pytest.mark.parametrize(
        "text",
        [
            "Drugs, e.g. Aspirin, help.",
            "Dr. Smith and Prof. Jones met Mrs. May.",
            "As Fig. 3 and Eq. 4 show, it grows.",
            "Pi is 3.14 and so on.",
            "J. R. R. Tolkien wrote it.",
            "Smith et al. 2010 found it.",
            "In the U.S. Senate they met.",
            "See No. 5 and p. 12 of vol. 2 for it.",
            "1. First point",
            "He waited… and went home! he thought.",
            "wrapped by the\npage at its margin",
            "３．１４ is wide",
        ],
    )
    def test_stay_away_from(self, text):
        assert sentences(text) == [text]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
            ('He said "no." Then left.', ['He said "no."', "Then left."]),
            ("It was hepatitis C. We treated it.", ["It was hepatitis C.", "We treated it."]),
            ("It binds. p53 does not.", ["It binds.", "p53 does not."]),
            ("No. That is wrong.", ["No.", "That is wrong."]),
            ("今天很好。明天呢？“后天！”再见", ["今天很好。", "明天呢？", "“后天！”", "再见"]),
            ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
            ("هل هذا صحيح؟ نعم هو.", ["هل هذا صحيح؟", "نعم هو."]),
            ("สวัสดีครับ วันนี้ดีมาก", ["สวัสดีครับ", "วันนี้ดีมาก"]),
            ("# head\nbody text", ["# head", "body text"]),
            ("list:\n- one\n- two\n* three", ["list:", "- one", "- two", "* three"]),
            ("a) one\nb) two", ["a) one", "b) two"]),
            ("above\n\nbelow", ["above", "below"]),
            ("above\r\n \r\nbelow", ["above", "below"]),
            ("Line\r\nLine\u2028Line", ["Line", "Line", "Line"]),
            ("met Dr.\nSmith there", ["met Dr.\nSmith there"]),
        ],
    )
    def test_stand_after(self, text, expected):
        assert sentences(text) == expected


class TestSentenceStrategy:
    def test_packs_whole_sentences(self):
        text = " ".join(f"Sentence number {i} has a handful of words." for i in range(60))

        chunks = cut(text)

        assert_sound(text, chunks)
        assert all(chunk.text.startswith("Sentence") for chunk in chunks)
        assert all(chunk.text.endswith("words.") for chunk in chunks)
        assert all(400 < len(chunk.text) <= 500 for chunk in chunks[:-1])

    @pytest.mark.parametrize("text", ["", " ", "\r\n\t \u3000\n", "\u2028"])
    def test_cuts_nothing_from_no_text(self, text):
        counter = Counter()

        assert cut(text, count_tokens=counter) == []
        assert counter.calls == 0

    def test_leaves_outer_space_out(self):
        [chunk] = cut("  \r\n Words here. \n")

        assert chunk == Chunk(0, 5, 16, "Words here.", 13)

    def test_gives_identical_lines_their_own_offsets(self):
        text = "The same line again.\n" * 700

        chunks = cut(text)

        assert_sound(text, chunks)
        assert len({chunk.start for chunk in chunks}) == len(chunks) >= 28
        assert all(chunk.start % 21 == 0 for chunk in chunks)

    def test_splits_long_sentences_at_clauses(self):
        text = ", ".join(["a clause that goes on for some while"] * 40)

        chunks = cut(text)

        assert_sound(text, chunks)
        assert all(chunk.text.endswith(",") for chunk in chunks[:-1])

    def test_splits_clauses_at_words(self):
        chunks = cut("word " * 400)

        assert all(set(chunk.text.split()) == {"word"} for chunk in chunks)

    def test_cuts_text_without_spaces_at_the_limit(self):
        text = "x" * 2_000_000

        chunks = cut(text)

        assert_sound(text, chunks)
        assert {len(chunk.text) for chunk in chunks} == {500}

    def test_cuts_text_without_spaces_evenly(self):
        assert [len(chunk.text) for chunk in cut("x" * 1_002)] == [334, 334, 334]

    @pytest.mark.parametrize(
        "grapheme", [FAMILY, FLAG, "e\u0301\u0323", "한", "क्षि", "1️⃣", "👍🏽", "นี้"]
    )
    @pytest.mark.parametrize("lead", ["", "x", "xy"])
    def test_keeps_graphemes_whole(self, grapheme, lead):
        text = lead + grapheme * 700

        chunks = cut(text, SentenceStrategy(max_chars=50))

        assert_sound(text, chunks)
        assert len(chunks) > 10
        assert not graphemes_cut(text, chunks)
        assert all(len(chunk.text) <= 50 for chunk in chunks)

    def test_keeps_a_grapheme_that_fits_the_limit_beside_others(self):
        text = "a" + "\u0301" * 44 + "b" + "\u0301" * 14

        assert [len(chunk.text) for chunk in cut(text, SentenceStrategy(max_chars=50))] == [45, 15]

    def test_cuts_a_grapheme_longer_than_the_limit(self):
        text = "a" + "\u0301" * 200_000

        chunks = cut(text)

        assert_sound(text, chunks)
        assert {len(chunk.text) for chunk in chunks[1:-1]} == {500}

    def test_stays_fast_on_runs_of_flags_and_of_marks_on_spaces(self):
        for text in (FLAG * 20_000, " \u0301" * 20_000):
            assert_sound(text, cut(text, ParagraphStrategy(), window=64))

    def test_never_parts_a_mark_from_the_space_it_stands_on(self):
        text = "a \u0301" * 300

        chunks = cut(text, SentenceStrategy(max_chars=50))

        assert_sound(text, chunks)
        assert not any(unicodedata.combining(chunk.text[0]) for chunk in chunks)

    @pytest.mark.parametrize(
        "text",
        [
            "Erste Zeile.\r\nZweite Zeile\r\n" * 100,
            "هذا نص عربي طويل، يمتد إلى أسطر كثيرة. هل هو واضح؟ نعم. " * 40,
            "人工智能正在改变世界。它的影响很大，但也有风险！我们应该怎么办？" * 40,
            "ภาษาไทยไม่มีจุดจบประโยค จึงเว้นวรรคระหว่างวลี " * 40,
            "यह हिन्दी का एक वाक्य है। और यह दूसरा है। " * 40,
        ],
    )
    def test_cuts_other_scripts_at_their_boundaries(self, text):
        chunks = cut(text)

        assert_sound(text, chunks)
        assert not graphemes_cut(text, chunks)
        assert all(len(chunk.text) <= 500 for chunk in chunks)
        whole = set(sentences(text))
        assert all(set(sentences(chunk.text)) <= whole for chunk in chunks)

    def test_levels_a_tiny_last_chunk(self):
        text = " ".join(["A sentence of just about sixty characters, more or less so."] * 9)

        before, last = cut(text)

        assert len(last.text) > 200
        assert len(before.text) <= 500

    def test_lets_short_paragraphs_share_a_chunk(self):
        text = "\n\n".join(["Short bullet of a slide"] * 20)

        assert len(cut(text)) == 2

    def test_keeps_a_heading_with_its_text(self):
        body = "A sentence that says something under a heading. " * 7
        text = "\n\n".join(f"# Heading {i}\n\n{body}" for i in range(6))

        chunks = cut(text)

        assert [chunk.text[:9] for chunk in chunks] == ["# Heading"] * 6

    def test_changes_no_chunk_beyond_the_paragraph_edited(self):
        paragraphs = [
            " ".join(f"Paragraph {i} says thing {j} at some length." for j in range(i % 5 + 8))
            for i in range(12)
        ]
        before = texts(cut("\n\n".join(paragraphs)))

        paragraphs[5] = "A new sentence came in first. " + paragraphs[5]
        after = texts(cut("\n\n".join(paragraphs)))

        gone = set(before) - set(after)
        assert gone
        assert all("Paragraph 5" in text for text in gone)


class TestParagraphStrategy:
    def test_keeps_a_source_whole_where_it_fits(self):
        text = "One paragraph. Two sentences.\n\nAnother paragraph."
        counter = Counter()

        [chunk] = cut(text, ParagraphStrategy(), context="Title", window=60, count_tokens=counter)

        assert chunk.text == text
        assert chunk.token_count == len("Title\n") + len(text) + 2
        assert counter.calls == 1

    def test_cuts_into_as_few_pieces_as_fit(self):
        text = " ".join(f"Sentence {i} has six words." for i in range(100))

        chunks = cut(text, ParagraphStrategy(), window=102, count_tokens=by_words)

        assert_sound(text, chunks)
        assert len(chunks) == 5
        assert all(chunk.token_count == 102 for chunk in chunks)

    def test_prefers_paragraphs_where_that_costs_no_piece(self):
        paragraph = " ".join(["Four words stand here."] * 15)
        text = "\n\n".join([paragraph] * 3)

        chunks = cut(text, ParagraphStrategy(), window=82, count_tokens=by_words)

        assert texts(chunks) == [paragraph] * 3


class TestSemanticStrategy:
    def test_cuts_where_the_meaning_turns(self):
        cats = " ".join(["Cats sat at a mat and ate that."] * 8)
        moods = " ".join(["Moody moon roots grow on woods."] * 8)
        text = f"{cats} {moods}"

        chunks = cut(text, SemanticStrategy())

        assert_sound(text, chunks)
        # A window mixes its neighbours, so the turn may be felt one sentence off.
        assert any(abs(chunk.start - len(cats) - 1) <= 32 for chunk in chunks[1:])

    def test_cuts_no_text_that_keeps_to_one_thing(self):
        assert len(cut("All the same. " * 60, SemanticStrategy())) == 1

    def test_keeps_to_its_limit(self):
        chunks = cut("All the same here. " * 500, SemanticStrategy())

        assert all(len(chunk.text) <= 1_000 for chunk in chunks)

    def test_embeds_once(self):
        calls = []

        def embed(windows):
            calls.append(len(windows))
            return by_letters(windows)

        cut("One. Two. Three. Four. Five.", SemanticStrategy(), embed=embed)

        assert calls == [5]

    def test_bears_vectors_of_zero(self):
        cut("One. Two. Three.", SemanticStrategy(), embed=lambda windows: np.zeros((3, 4)))

    def test_asks_for_an_embedding(self):
        with pytest.raises(ValueError, match="needs embed"):
            cut("One. Two.", SemanticStrategy(), embed=None)


class TestWindow:
    @pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
    @pytest.mark.parametrize("per_character", [1, 3])
    def test_is_never_exceeded(self, strategy, per_character):
        text = "Some words stand here. 今天很好。" * 60 + "x" * 900 + FAMILY * 30
        counter = Counter(per_character)

        chunks = cut(text, strategy, context="A title", window=64, count_tokens=counter)

        assert_sound(text, chunks)
        for chunk in chunks:
            [count] = counter([embedded_text("A title", chunk.text)])
            assert chunk.token_count == count <= 64

    def test_leaves_chunks_that_fit_in_one_call(self):
        counter = Counter()

        cut("A sentence. " * 500, context="Title", window=600, count_tokens=counter)

        assert counter.calls == 1

    def test_splits_in_few_calls(self):
        counter = Counter()

        chunks = cut("一二三四五六七。" * 500, context="Title", window=256, count_tokens=counter)

        assert counter.calls == 3
        assert all(chunk.text.endswith("。") for chunk in chunks)

    def test_splits_where_characters_weigh_unevenly(self):
        def count_tokens(texts):
            return [len(text) + 30 * text.count("﷽") + 2 for text in texts]

        text = "plain words " * 30 + "﷽" * 40 + " plain words" * 30

        chunks = cut(text, window=64, count_tokens=count_tokens)

        assert_sound(text, chunks)
        assert all(chunk.token_count <= 64 for chunk in chunks)

    def test_splits_what_weighs_more_than_its_parts(self):
        def count_tokens(texts):
            return [len(text.split()) ** 2 + 2 for text in texts]

        text = "One two. Three four. " * 40

        chunks = cut(text, window=32, count_tokens=count_tokens)

        assert_sound(text, chunks)
        assert all(chunk.token_count <= 32 for chunk in chunks)

    def test_cuts_a_grapheme_only_where_it_must(self):
        text = FAMILY * 20

        kept = cut(text, window=16, count_tokens=Counter())
        broken = cut(text, window=16, count_tokens=Counter(3))

        assert not graphemes_cut(text, kept)
        assert graphemes_cut(text, broken)
        assert all(chunk.token_count <= 16 for chunk in kept + broken)

    def test_refuses_a_character_that_cannot_fit(self):
        with pytest.raises(ValueError, match="character at 0"):
            cut("x", window=16, count_tokens=Counter(20))


class TestEmbeddedText:
    def test_puts_the_context_in_front(self):
        assert embedded_text("Cat", "A cat sat.") == "Cat\nA cat sat."

    def test_is_the_text_alone_without_context(self):
        assert embedded_text("", "A cat sat.") == "A cat sat."

    def test_does_not_repeat_a_context_the_text_begins_with(self):
        assert embedded_text("Cat", "Cat: it sat.") == "Cat: it sat."
        assert embedded_text("Cat", "Caterpillars crawl.") == "Cat\nCaterpillars crawl."


class TestFitContext:
    def test_keeps_what_leaves_half_the_window(self):
        assert fit_context(" A title ", 32, Counter()) == "A title"

    @pytest.mark.parametrize("context", ["words of a title " * 500, "x" * 10_000, FAMILY * 900])
    def test_shortens_to_half_the_window(self, context):
        counter = Counter()

        fitted = fit_context(context, 64, counter)

        assert context.startswith(fitted)
        assert 20 < len(fitted) <= 32
        assert counter.calls == 2
        assert fit_context(fitted, 64, counter) == fitted

    def test_ends_after_a_word(self):
        assert fit_context("title " * 50, 64, Counter()).split() == ["title"] * 5

    def test_gives_up_a_context_without_room(self):
        assert fit_context("x" * 100, 16, Counter(9)) == ""

    def test_is_what_cut_chunks_does_itself(self):
        context, text = "words of a title " * 500, "A sentence of a text. " * 90
        fitted = fit_context(context, 64, Counter())

        chunks = cut(text, context=context, window=64)

        assert chunks == cut(text, context=fitted, window=64)
        assert_sound(text, chunks)
        assert all(len(embedded_text(fitted, chunk.text)) + 2 <= 64 for chunk in chunks)


FRAGMENTS = st.sampled_from(
    [
        "A short sentence.", "Dr. Who said 3.14, e.g. pi!", "# Heading", "- entry",
        "1. point", " ", "  ", "\n", "\n\n", "\r\n", "\r\n\r\n", "\t", "\u2028", "\x1c", "\f", ".",
        "...", ")",
        "今天很好。", "再见", "สวัสดี", "यह है।", "هل؟", FAMILY, FLAG, "🇩", "\u200d",
        "\u0301", "e\u0301", "\ufe0f", "क्", "ष", "\u1100", "\u1161", "\u0600", "word", "x" * 70,
        "\u0301" * 60, "a, b; c",
    ]
)  # fmt: skip
TEXTS = st.text(max_size=300) | st.lists(FRAGMENTS, max_size=80).map("".join)


class TestEveryText:
    @pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda strategy: strategy.name)
    @given(
        text=TEXTS,
        context=st.sampled_from(["", "Title"]) | st.text(max_size=40),
        window=st.integers(16, 80) | st.just(10_000),
        per_character=st.integers(1, 3),
    )
    @settings(deadline=None, max_examples=150)
    def test_is_cut_soundly(self, strategy, text, context, window, per_character):
        counter = Counter(per_character)

        chunks = cut(text, strategy, context=context, window=window, count_tokens=counter)

        assert_sound(text, chunks)
        fitted = fit_context(context, window, counter)
        for chunk in chunks:
            [count] = counter([embedded_text(fitted, chunk.text)])
            assert chunk.token_count == count <= window
            assert len(chunk.text) <= getattr(strategy, "max_chars", len(text))

    @given(text=TEXTS)
    @settings(deadline=None, max_examples=200)
    def test_keeps_its_graphemes(self, text):
        longest = max((len(match[0]) for match in regex.finditer(r"\X", text)), default=0)
        if longest <= 50:
            assert not graphemes_cut(text, cut(text, SentenceStrategy(max_chars=50)))
