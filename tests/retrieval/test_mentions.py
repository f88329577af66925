import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.mentions import mentions_any


class TestMentionsAny:
    @pytest.mark.parametrize(
        "text",
        [
            "hip flexors",
            "Hip-Flexors",
            "hip_flexors",
            "HIP\nFLEXORS",
            "hip flexor",
            "ＨＩＰ flexors",
        ],
    )
    def test_finds_a_value_in_any_spelling(self, text):
        assert mentions_any(f"The {text} are short.", ["hip_flexors"])

    def test_finds_any_of_several_wordings(self):
        assert mentions_any("The iliopsoas is short.", ["hip_flexors", "iliopsoas"])
        assert not mentions_any("The iliopsoas is short.", ["hip_flexors", "quadriceps"])

    @pytest.mark.parametrize("text", ["hips", "hipes"])
    def test_finds_a_plural(self, text):
        assert mentions_any(f"Both {text} hurt.", ["hip"])

    @pytest.mark.parametrize("text", ["hippo", "ship", "shipping"])
    def test_finds_whole_words_only(self, text):
        assert not mentions_any(text, ["hip"])

    @pytest.mark.parametrize("text", ["hip, flexors of the arm", "hip\n\nflexors", "flexors hip"])
    def test_finds_words_in_a_row_only(self, text):
        assert not mentions_any(text, ["hip_flexors"])

    @pytest.mark.parametrize(
        ("text", "wording"),
        [
            ("深蹲可以强化臀部和髂腰肌。", "髂腰肌"),
            ("ปวดสะโพกมาก", "สะโพก"),
            ("检查hip疼痛", "hip"),
        ],
    )
    def test_finds_a_wording_in_a_text_without_spaces(self, text, wording):
        assert mentions_any(text, [wording])

    def test_keeps_words_with_combining_marks_whole(self):
        assert not mentions_any("काम", ["का"])
        assert mentions_any("राम का घर", ["का"])

    @pytest.mark.parametrize(
        ("text", "wording", "is_mentioned"),
        [("pelvi", "pelvis", False), ("first aid", "AIDS", False), ("a thumb", "thumbs", True)],
    )
    def test_finds_the_singular_only_of_plurals(self, text, wording, is_mentioned):
        assert mentions_any(text, [wording]) is is_mentioned

    def test_finds_no_empty_wording(self):
        assert not mentions_any("A hip.", ["", " "])

    @given(st.text(), st.text())
    def test_accepts_any_text_and_any_wording(self, text, wording):
        assert mentions_any(text, [wording]) in {True, False}

    @given(st.text(st.characters(categories=["L"]), min_size=1, max_size=12))
    def test_finds_any_word(self, word):
        assert mentions_any(f"See: {word}.", [word])
