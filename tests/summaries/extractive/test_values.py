import pytest
from hypothesis import given
from hypothesis import strategies as st

from indexing.spec import FieldSpec
from summaries.extractive import match_field_values

MUSCLES = FieldSpec(
    type="keyword",
    many=True,
    values={
        "back": {},
        "lower_back": {"synonyms": ["lumbar spine"]},
        "hip": {},
        "hip_flexors": {"synonyms": ["iliopsoas", "髂腰肌"]},
        "quads": {"synonyms": ["quadriceps"]},
        "臀部": {"synonyms": ["สะโพก"]},
    },
)
TOPIC = FieldSpec(type="keyword", values=["anatomy", "rehab_protocol", "assessment"])


def match_muscles(text):
    return match_field_values(text, {"muscles": MUSCLES}).get("muscles", [])


class TestMatchFieldValues:
    def test_finds_values_and_synonyms_in_the_order_of_the_spec(self):
        assert match_muscles("Quadriceps, iliopsoas and the back.") == [
            "back",
            "hip_flexors",
            "quads",
        ]

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
    def test_recognises_a_value_in_any_spelling(self, text):
        assert match_muscles(f"The {text} are short.") == ["hip_flexors"]

    @pytest.mark.parametrize("text", ["hips", "hipes"])
    def test_tolerates_a_plural(self, text):
        assert match_muscles(f"Both {text} hurt.") == ["hip"]

    @pytest.mark.parametrize(
        "text",
        ["hippo", "ship", "backing", "hip, flexors of the arm lower\n\nback"],
        ids=["before", "after", "ending", "apart"],
    )
    def test_matches_only_consecutive_whole_words(self, text):
        assert "hip_flexors" not in match_muscles(text)
        assert "lower_back" not in match_muscles(text)
        assert len(match_muscles(text)) == (2 if " " in text else 0)

    def test_counts_the_longest_of_overlapping_values(self):
        assert match_muscles("The hip flexors and the lower back.") == ["lower_back", "hip_flexors"]

    def test_counts_the_longest_even_if_a_shorter_one_begins_before_it(self):
        field = FieldSpec(type="keyword", values=["acute back", "back pain syndrome"])

        assert match_field_values("acute back pain syndrome", {"f": field}) == {
            "f": ["back pain syndrome"]
        }

    def test_counts_a_shorter_value_that_also_occurs_alone(self):
        assert match_muscles("The hip and its hip flexors.") == ["hip", "hip_flexors"]

    def test_lets_fields_match_the_same_words(self):
        other = FieldSpec(type="keyword", values=["hip"])

        assert match_field_values("hip flexors", {"muscles": MUSCLES, "joint": other}) == {
            "muscles": ["hip_flexors"],
            "joint": ["hip"],
        }

    def test_finds_values_in_text_without_spaces(self):
        assert match_muscles("深蹲可以强化臀部和髂腰肌。") == ["hip_flexors", "臀部"]
        assert match_muscles("ปวดสะโพกมาก") == ["臀部"]
        assert match_muscles("检查hip疼痛") == ["hip"]

    def test_keeps_words_with_combining_marks_whole(self):
        field = FieldSpec(type="keyword", values=["का"])

        assert match_field_values("काम", {"f": field}) == {}
        assert match_field_values("राम का घर", {"f": field}) == {"f": ["का"]}

    def test_does_not_cut_the_ending_of_words_that_are_not_plurals(self):
        field = FieldSpec(type="keyword", many=True, values=["pelvis", "AIDS", "thumbs"])

        assert match_field_values("First aid for the pelvi of a thumb", {"f": field}) == {
            "f": ["thumbs"]
        }

    def test_returns_lower_case_values_of_a_lowercase_field(self):
        field = FieldSpec(type="keyword", values=["ACL tear"], lowercase=True)

        assert match_field_values("An ACL tear.", {"f": field}) == {"f": ["acl tear"]}

    def test_leaves_out_fields_without_values_and_without_matches(self):
        fields = {
            "free": FieldSpec(type="keyword"),
            "year": FieldSpec(type="integer"),
            "topic": TOPIC,
        }

        assert match_field_values("The year 2020 is free.", fields) == {}

    @given(st.text())
    def test_accepts_any_text_and_any_declaration(self, text):
        field = FieldSpec(type="keyword", many=True, values=[text, "hip"])

        found = match_field_values(text, {"f": field}).get("f", [])

        assert set(found) <= set(field.normalise([text, "hip"]))

    @given(st.text(st.characters(categories=["L"]), min_size=1, max_size=12))
    def test_finds_any_declared_word(self, word):
        field = FieldSpec(type="keyword", values=[word])

        assert match_field_values(f"See: {word}.", {"f": field}) == {"f": field.normalise([word])}
