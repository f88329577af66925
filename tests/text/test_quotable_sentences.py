import pytest

from tests.text.texts import ENDLESS, EVERY_TEXT, UNBROKEN
from text.quotable_sentences import MAX_SENTENCE_CHARS, find_quotable_sentences, is_fragment


class TestQuotableSentences:
    @pytest.mark.parametrize("text", EVERY_TEXT.values(), ids=EVERY_TEXT)
    def test_have_exact_offsets(self, text):
        sentences = find_quotable_sentences(text)

        assert sentences
        for sentence in sentences:
            assert sentence.text == text[sentence.start : sentence.end] != ""

    def test_leave_out_headings_labels_and_page_numbers(self):
        text = "# All there is to know of squats\n\nFigure 3\n\nSquats make the legs strong.\n\n12"

        [sentence] = find_quotable_sentences(text)

        assert sentence.text == "Squats make the legs strong."

    def test_are_fragments_if_there_is_no_sentence(self):
        assert [sentence.text for sentence in find_quotable_sentences("Figure 3")] == ["Figure 3"]

    def test_begin_after_the_marker_of_a_list(self):
        text = "- Bend the knees until they hurt.\n2. Then straighten them again slowly."

        first, second = find_quotable_sentences(text)

        assert first.text == "Bend the knees until they hurt."
        assert second.text == "Then straighten them again slowly."

    def test_are_cut_at_a_word(self):
        [sentence] = find_quotable_sentences(ENDLESS)

        assert MAX_SENTENCE_CHARS / 2 < len(sentence.text) <= MAX_SENTENCE_CHARS
        assert sentence.text.split()[-1] in ENDLESS.split()

    def test_are_cut_anywhere_without_spaces(self):
        [sentence] = find_quotable_sentences(UNBROKEN)

        assert len(sentence.text) == MAX_SENTENCE_CHARS

    def test_are_never_cut_inside_a_grapheme(self):
        family = "👩‍👩‍👧‍👦"

        [sentence] = find_quotable_sentences("a" + family * 100)

        assert sentence.text == "a" + family * (len(sentence.text) // len(family))

    @pytest.mark.parametrize("text", ["", " ", "\n\t\n"])
    def test_do_not_exist_in_a_blank_text(self, text):
        assert find_quotable_sentences(text) == []


class TestIsFragment:
    @pytest.mark.parametrize(
        "text",
        ["Squats", "Table 4 on page 12", "| one | two | three | four |", "3.5 4.5 a b c d 8.25"],
    )
    def test_is_true_for_labels_and_single_words(self, text):
        assert is_fragment(text)

    @pytest.mark.parametrize(
        "text", ["Squats make legs strong.", "深蹲可以强化臀部。", "ช่วยลดอาการปวดหลัง"]
    )
    def test_is_false_for_a_sentence_in_any_script(self, text):
        assert not is_fragment(text)
