"""How the values of a chunk's fields come together."""

from indexing.spec import IndexSpec
from summaries.text_nodes import merge_metadata_fields

FIELDS = {
    "muscle": {"type": "keyword"},
    "topics": {"type": "keyword", "many": True},
}
SPEC = IndexSpec.model_validate({"name": "physio", "metadata": FIELDS})


class TestMergeMetadataFields:
    def test_takes_what_was_found_where_the_owner_gave_no_value(self):
        found = {"muscle": "neck", "topics": ["posture"]}

        assert merge_metadata_fields(SPEC, {"muscle": None, "topics": None}, found) == found

    def test_prefers_the_value_of_the_owner_and_joins_lists(self):
        owned = {"muscle": "core", "topics": ["pain"]}
        found = {"muscle": "neck", "topics": ["posture", "pain"]}

        assert merge_metadata_fields(SPEC, owned, found) == {
            "muscle": "core",
            "topics": ["pain", "posture"],
        }
