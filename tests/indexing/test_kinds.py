import pytest

from indexing.drafting import get_drafter
from indexing.exceptions import InvalidSpec
from indexing.kinds import KINDS, RESERVED_FIELDS
from indexing.spec import IndexSpec, parse_spec


class TestKinds:
    def test_have_a_drafter_each(self):
        for kind in KINDS:
            assert callable(get_drafter(kind).draft)
            assert callable(get_drafter(kind).make_payload)

    def test_are_enabled_by_a_setting_of_the_spec(self):
        spec = IndexSpec.model_validate(
            {
                "name": "all",
                "metadata": {"smiles": {"type": "keyword"}},
                "page_summaries": True,
                "artifact_summaries": True,
                "questions": True,
                "concepts": True,
                "compounds": True,
                "images": True,
            }
        )

        assert spec.kinds == tuple(KINDS)
        assert IndexSpec(name="plain").kinds == ("chunk",)

    def test_reserve_the_fields_of_their_payloads(self):
        for kind in KINDS.values():
            assert {kind.text_field, *kind.indexed_fields} <= RESERVED_FIELDS | kind.payload_fields


class TestCollections:
    def test_must_be_named_after_kinds(self):
        with pytest.raises(InvalidSpec, match=r"collections\.pages: .* allowed here: chunk, summ"):
            parse_spec("plain", "collections: {pages: my_pages}\n")
