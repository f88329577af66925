import pytest

from indexing.exceptions import InvalidSpec
from indexing.models import IndexBuild, Node
from indexing.reuse import find_reusable_vectors
from indexing.spec import IndexSpec, dump_recipe, parse_spec
from tests.factories import give, sync
from tests.written import make_build

HERE = {"base_url": "http://127.0.0.1:8081/v1", "query_parameters": {"input_type": "query"}}
REMOTE = {"provider": "openai", "model": "acme-embed"}


class TestEndpointSpec:
    @pytest.mark.parametrize(
        ("setting", "message"),
        [
            ("base_url: ftp://acme.example", "http or https"),
            ("base_url: https://me:secret@acme.example", "without a user name"),
            ("tokenizer: gpt", "cl100k, characters"),
            ("parameters: {input: x}", "'input' is set by the service"),
            ("parameters: {encoding_format: int8}", "float, base64, null"),
            ("url: https://acme.example", "base_url, api_key_variable"),
        ],
    )
    def test_names_the_setting_and_what_is_allowed(self, setting, message):
        address = "" if "base_url" in setting else "base_url: https://acme.example, "

        with pytest.raises(InvalidSpec, match=message) as caught:
            parse_spec(
                "remote", f"embedding: {{provider: openai, endpoint: {{{address}{setting}}}}}"
            )

        assert f"embedding.endpoint.{setting.partition(':')[0]}" in str(caught.value)

    def test_is_for_endpoints_only(self):
        with pytest.raises(InvalidSpec, match="provider: openai only"):
            parse_spec("plain", "embedding: {endpoint: {base_url: https://acme.example}}")

    @pytest.mark.parametrize(
        ("changed", "is_copied"),
        [
            ({"base_url": "https://acme.example/v1", "api_key_variable": "ACME_KEY"}, True),
            ({"query_parameters": {"input_type": "search"}}, False),
        ],
    )
    def test_a_moved_endpoint_copies_vectors_and_changed_parameters_do_not(
        self, store, embedder, changed, is_copied, db
    ):
        live = make_build("remote", embedding=REMOTE | {"endpoint": HERE})
        sync(live, give(index="remote"))
        spec = IndexSpec.model_validate(
            {"name": "remote", "embedding": REMOTE | {"endpoint": HERE | changed}}
        )
        moved = IndexBuild.objects.create(
            index=live.index, number=2, recipe=dump_recipe(spec), fingerprint=spec.fingerprint
        )

        copied = find_reusable_vectors(moved, list(Node.objects.filter(build=live)))

        assert bool(copied) is is_copied
