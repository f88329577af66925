import io
import itertools
import json
import uuid
from typing import Any
from uuid import UUID

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.signals import request_finished
from django.db import InternalError, OperationalError, close_old_connections
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from PIL import Image
from rest_framework.test import APIClient

from access.models import ApiKey
from core.exceptions import StrataError
from documents import batches, reading, services
from documents.index_catalog import get_catalog
from documents.models import Artifact, Page
from documents.parsing import single_pages
from indexing.models import IndexBuild
from tests.documents.parsing.makers import make_pdf, make_zip
from tests.factories import original_path

pytestmark = pytest.mark.django_db

ARTIFACTS = "/api/v1/indexes/plain/artifacts/"
BATCH = "/api/v1/indexes/plain/artifacts/batch"


@pytest.fixture
def api(build: IndexBuild, settings, tmp_path) -> APIClient:
    """A client with a key, and an empty index named plain."""
    settings.STRATA_FILES_DIR = tmp_path / "files"
    client = APIClient()
    client.credentials(HTTP_AUTHORIZATION=f"Bearer {ApiKey.issue('tests')[1]}")
    return client


def one(artifact_id: str, rest: str = "") -> str:
    return f"/api/v1/artifacts/{artifact_id}/{rest}"


def give(api: APIClient, **body: Any):
    return api.post(ARTIFACTS, {"text": "Herons wait.", **body}, format="json")


def give_file(api: APIClient, content: bytes = b"# Herons\n\nThey wait.", **form: Any):
    file = SimpleUploadedFile(form.pop("file_name", "herons.md"), content)
    return api.post(ARTIFACTS, {"file": file, **form}, format="multipart")


def give_lines(api: APIClient, *lines: Any, url: str = BATCH) -> list[dict[str, Any]]:
    body = b"\n".join(
        line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines
    )
    answer = api.post(url, body, content_type="application/x-ndjson")
    assert answer.status_code == 200
    return [json.loads(line) for line in answer.getvalue().splitlines()]


class TestCreate:
    def test_takes_what_reorders_a_name_out_of_titles_files_and_labels(self, api):
        trick = "invoice\u202efdp"
        titled = give(api, title=trick).json()
        content = f"# {trick}\n\nPay.\n\n# Terms\n\nSoon.".encode()
        file = give_file(api, content, file_name=f"{trick}.md").json()
        reading.parse_artifact(UUID(file["id"]))

        shown = api.get(one(file["id"])).json()
        labels = [page["label"] for page in api.get(one(file["id"], "pages/")).json()["results"]]

        assert titled["title"] == shown["title"] == "invoicefdp"
        assert shown["file_name"] == "invoicefdp.md"
        assert labels == ["invoicefdp", "Terms"]

    @pytest.mark.parametrize(
        ("setting", "body", "field", "said"),
        [
            ("PAGES", {"pages": ["a", "b", "c"]}, "pages", "at most 2 pages"),
            ("TEXT_CHARS", {"text": "abc"}, "text", "at most 2 characters of text"),
            ("TEXT_CHARS", {"pages": ["ab", "c"]}, "pages", "at most 2 characters of text"),
        ],
    )
    def test_refuses_a_document_above_the_limit(self, api, settings, setting, body, field, said):
        setattr(settings, f"STRATA_PARSE_MAX_{setting}", 2)

        answer = api.post(ARTIFACTS, body, format="json")

        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert said in answer.json()["detail"]
        assert give_lines(api, body)[0]["error"]["field"] == field

    def test_refuses_a_page_of_separators(self, api):
        answer = api.post(ARTIFACTS, {"pages": ["Herons.", " | " * 10_000]}, format="json")

        assert (answer.status_code, answer.json()["field"]) == (400, "pages.1")
        assert "almost only white space and punctuation" in answer.json()["detail"]

    def test_limits_the_unparsed_files_of_a_key(self, api, settings):
        settings.STRATA_KEY_WAITING_UPLOADS = 2
        answers = [give_file(api, b"# %d" % number) for number in range(3)]

        assert [each.status_code for each in answers] == [202, 202, 429]
        assert answers[-1].json()["code"] == "too_many_jobs"
        changed = api.put(
            one(answers[0].json()["id"], "content"),
            {"file": SimpleUploadedFile("a.md", b"# other")},
            format="multipart",
        )
        assert changed.status_code == 429
        assert give(api).status_code == 202  # a text needs no parsing
        reading.parse_artifact(uuid.UUID(answers[0].json()["id"]))
        assert give_file(api, b"# 3").status_code == 202

    def test_accepts_a_text(self, api):
        answer = give(api, title="Birds", metadata={"year": 2019}, external_id="b1",
                      url="https://example.org/birds")  # fmt: skip

        assert answer.status_code == 202
        body = answer.json()
        assert body["index"] == "plain"
        assert body["title"] == "Birds"
        assert body["metadata"] == {"year": 2019}
        assert body["external_id"] == "b1"
        assert body["url"] == "https://example.org/birds"
        assert (body["pages"], body["error"]) == (1, None)
        assert body["nodes"] == {"pending": 0, "synced": 0, "failed": 0}
        assert body["status"] == "indexing"
        assert uuid.UUID(body["id"]) == Artifact.objects.get().pk

    def test_accepts_pages(self, api):
        answer = api.post(ARTIFACTS, {"pages": ["One.", "Two."]}, format="json")

        assert answer.json()["pages"] == 2

    def test_accepts_a_file(self, api):
        answer = give_file(api, title="Birds", metadata='{"year": 2019}', external_id="b1")

        assert answer.status_code == 202
        body = answer.json()
        assert (body["file_name"], body["status"]) == ("herons.md", "received")
        assert (body["title"], body["metadata"]) == ("Birds", {"year": 2019})
        assert original_path(Artifact.objects.get()).read_bytes() == b"# Herons\n\nThey wait."

    def test_answers_200_to_a_document_that_exists(self, api):
        first = give(api, external_id="b1")
        again = give(api, external_id="b1")

        assert (first.status_code, again.status_code) == (202, 200)
        assert first.json()["id"] == again.json()["id"]

    def test_answers_200_to_the_same_bytes_under_another_name(self, api):
        first, again = give_file(api), give_file(api, file_name="copy.md")

        assert again.status_code == 200
        assert first.json()["id"] == again.json()["id"]

    def test_revises_the_document_with_the_same_external_id(self, api):
        first = give(api, external_id="b1")
        second = give(api, external_id="b1", text="Herons fly.")

        assert second.status_code == 202
        assert second.json()["revision"] > first.json()["revision"]
        assert first.json()["id"] == second.json()["id"]

    def test_treats_an_empty_title_like_no_title(self, api):
        assert give(api).json()["id"] == give(api, title=" ", url="").json()["id"]

    @pytest.mark.parametrize("method", ["get", "post"])
    def test_names_the_existing_indexes(self, api, method):
        answer = getattr(api, method)("/api/v1/indexes/plian/artifacts/", format="json")

        assert answer.status_code == 404
        assert answer.json()["code"] == "unknown_index"
        assert "plain" in answer.json()["allowed"]

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({}, "text"),
            ({"text": "a", "pages": ["b"]}, "pages"),
            ({"text": 5}, "text"),
            ({"text": None}, "text"),
            ({"text": ["a"]}, "text"),
            ({"pages": "a"}, "pages"),
            ({"pages": []}, "pages"),
            ({"pages": {"0": "a"}}, "pages"),
            ({"pages": ["a", 5]}, "pages.1"),
            ({"text": "a", "title": 5}, "title"),
            ({"text": "a", "title": True}, "title"),
            ({"text": "a", "title": "x" * 1_001}, "title"),
            ({"text": "a", "title": "\u0958" * 1_000}, "title"),  # NFC doubles it
            ({"text": "a", "external_id": ""}, "external_id"),
            ({"text": "a", "external_id": 5}, "external_id"),
            ({"text": "a", "external_id": "x" * 256}, "external_id"),
            ({"text": "a", "external_id": "a\x00b"}, "external_id"),
            ({"text": "a", "url": "example.org"}, "url"),
            ({"text": "a", "url": "http://["}, "url"),
            ({"text": "a", "url": "https://example.org/a b"}, "url"),
            ({"text": "a", "url": "javascript:alert(1)"}, "url"),
            ({"text": "a", "url": "JavaScript:alert(1)"}, "url"),
            ({"text": "a", "url": ["https://example.org"]}, "url"),
            ({"text": "a", "url": "https://example.org/" + "x" * 2_000}, "url"),
            ({"text": "a", "metadata": "{}"}, "metadata"),
            ({"text": "a", "metadata": [1]}, "metadata"),
            ({"text": "a", "metadata": {"n": 2**63}}, "metadata"),
            ({"text": "a", "metadata": {"n": "x" * 100_000}}, "metadata"),
            ({"text": "a", "metdata": {}}, "metdata"),
            ({"text": "a", "id": "5"}, "id"),
        ],
    )
    def test_names_the_wrong_field(self, api, body, field):
        answer = api.post(ARTIFACTS, body, format="json")

        assert answer.status_code == 400
        assert answer.json()["code"] == "invalid"
        assert answer.json()["field"] == field
        assert not Artifact.objects.exists()

    def test_lists_the_allowed_fields(self, api):
        allowed = give(api, titel="Birds").json()["allowed"]

        assert allowed == [
            "external_id", "groups", "if_exists", "metadata", "pages", "text", "title", "url",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "body",
        [
            b"", b"{", b"[]", b"5", b"null", b'"text"', b"\xff", b'{"text": "a"}}',
            b'{"text": "a", "metadata": {"n": NaN}}', b'{"text": "a", "metadata": {"n": 1e999}}',
            b'{"text": "a", "metadata": {"n": ' + b"9" * 5_000 + b"}}",
            b'{"metadata": ' + b"[" * 100_000,
            b'{"text": "a", "metadata": {"n": ' + b"[" * 50 + b"]" * 50 + b"}}",
        ],
    )  # fmt: skip
    def test_refuses_an_invalid_body(self, api, body):
        answer = api.post(ARTIFACTS, body, content_type="application/json")

        assert answer.status_code == 400
        assert answer.json()["code"] in {"malformed", "invalid"}

    def test_replaces_characters_that_cannot_be_stored(self, api):
        body = (
            b'{"text": "a\\u0000b\\ud800c", "title": "\\udfff", "metadata": {"\\u0000": "\\ud800"}}'
        )

        answer = api.post(ARTIFACTS, body, content_type="application/json")

        assert answer.status_code == 202
        assert answer.json()["title"] == "\ufffd"
        assert answer.json()["metadata"] == {"\ufffd": "\ufffd"}
        assert Page.objects.get().text == "a\ufffdb\ufffdc"

    def test_names_a_field_that_is_not_utf8(self, api):
        answer = api.post(
            ARTIFACTS, b'{"text": "a", "\\ud800": 1}', content_type="application/json"
        )

        assert (answer.status_code, answer.json()["field"]) == (400, "\ufffd")

    @pytest.mark.parametrize(
        ("form", "field"),
        [
            ({"metadata": "{"}, "metadata"),
            ({"metadata": "[]"}, "metadata"),
            ({"metadata": '{"n": NaN}'}, "metadata"),
            ({"title": "x" * 1_001}, "title"),
            ({"title": ["One", "Two"]}, "title"),
            ({"url": "javascript:alert(1)"}, "url"),
            ({"text": "a"}, "text"),
            ({"files": SimpleUploadedFile("b.md", b"b")}, "files"),
        ],
    )
    def test_names_the_wrong_part_of_a_form(self, api, form, field):
        answer = give_file(api, **form)

        assert (answer.status_code, answer.json()["field"]) == (400, field)

    def test_refuses_two_files(self, api):
        files = [SimpleUploadedFile("a.md", b"a"), SimpleUploadedFile("b.md", b"b")]

        answer = api.post(ARTIFACTS, {"file": files}, format="multipart")

        assert (answer.status_code, answer.json()["field"]) == (400, "file")

    @pytest.mark.parametrize("form", [{"title": "No file"}, {"file": "no file"}])
    def test_requires_a_file_in_a_form(self, api, form):
        answer = api.post(ARTIFACTS, form, format="multipart")

        assert (answer.status_code, answer.json()["field"]) == (400, "file")

    def test_accepts_an_empty_file(self, api):
        assert give_file(api, b"").status_code == 202

    def test_refuses_bodies_and_files_above_the_limits(self, api, settings):
        settings.STRATA_MAX_JSON_BYTES = 1_000
        settings.STRATA_MAX_UPLOAD_BYTES = 1_000

        answers = [give(api, text="x" * 1_000), give_file(api, b"x" * 1_001),
                   give_file(api, b"x" * 2**21)]  # fmt: skip

        assert [answer.status_code for answer in answers] == [413, 413, 413]
        assert {answer.json()["code"] for answer in answers} == {"too_large"}
        assert not any(path.is_file() for path in settings.STRATA_FILES_DIR.rglob("*"))

    @pytest.mark.parametrize("content_type", ["text/plain", "application/xml", "nonsense"])
    def test_refuses_other_media_types(self, api, content_type):
        answer = api.post(ARTIFACTS, b"text", content_type=content_type)

        assert answer.status_code == 415

    def test_accepts_a_url_without_the_final_slash(self, api):
        answer = api.post(ARTIFACTS.rstrip("/"), {"text": "Herons wait."}, format="json")

        assert answer.status_code == 202

    def test_answers_507_if_the_disk_is_full(self, api, settings):
        settings.STRATA_MIN_FREE_BYTES = 2**60

        answer = give(api)

        assert (answer.status_code, answer.json()["code"]) == (507, "disk_full")

    @hypothesis_settings(
        max_examples=60,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
    @given(
        body=st.fixed_dictionaries(
            {},
            optional={
                name: st.recursive(
                    st.none()
                    | st.booleans()
                    | st.integers()
                    | st.text()
                    | st.floats(allow_nan=False, allow_infinity=False),
                    lambda inner: (
                        st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
                    ),
                    max_leaves=5,
                )
                for name in ["text", "pages", "title", "external_id", "url", "metadata", "file"]
            },
        )
    )
    def test_answers_any_json_without_a_server_error(self, api, body):
        answer = api.post(ARTIFACTS, json.dumps(body), content_type="application/json")

        assert answer.status_code in {200, 202, 400}
        assert answer.status_code != 400 or answer.json()["field"]


class TestBatch:
    def test_returns_one_verdict_per_line_in_order(self, api):
        give(api, external_id="old")
        give(api, external_id="changed")

        verdicts = give_lines(
            api,
            {"text": "New."},
            {"text": "Herons wait.", "external_id": "old"},
            {"text": "Herons fly.", "external_id": "changed"},
            {"text": 5},
        )

        assert [verdict["line"] for verdict in verdicts] == [1, 2, 3, 4]
        assert [verdict["verdict"] for verdict in verdicts] == [
            "added", "unchanged", "revised", "rejected",
        ]  # fmt: skip
        assert {verdict.get("id") for verdict in verdicts[:3]} == {
            str(pk) for pk in Artifact.objects.values_list("pk", flat=True)
        }
        assert verdicts[3]["error"]["field"] == "text"

    def test_continues_after_invalid_lines(self, api):
        verdicts = give_lines(api, b"{", b"[]", b"\xff\xfe", b"{}", {"text": "Right."})

        assert [verdict["verdict"] for verdict in verdicts] == ["rejected"] * 4 + ["added"]
        assert [verdict["error"]["code"] for verdict in verdicts[:4]] == [
            "malformed", "invalid", "malformed", "invalid",
        ]  # fmt: skip

    def test_counts_blank_lines_but_returns_no_verdict_for_them(self, api):
        verdicts = give_lines(api, b"", {"text": "One."}, b"  \r", {"text": "Two."}, b"", b"")

        assert [verdict["line"] for verdict in verdicts] == [2, 4]

    def test_accepts_a_byte_order_mark_and_both_line_endings(self, api):
        body = b'\xef\xbb\xbf{"text": "One."}\r\n{"text": "Two."}'

        verdicts = give_lines(api, body)

        assert [verdict["verdict"] for verdict in verdicts] == ["added", "added"]

    def test_rejects_only_a_line_that_is_too_long(self, api, settings):
        settings.STRATA_MAX_JSON_BYTES = 100_000

        verdicts = give_lines(
            api, {"text": "One."}, {"text": "x" * 500_000}, {"text": "Three."}, b"y" * 100_001
        )

        assert [verdict["verdict"] for verdict in verdicts] == [
            "added", "rejected", "added", "rejected",
        ]  # fmt: skip
        assert verdicts[1]["error"]["code"] == "too_large"

    def test_keeps_hundreds_of_lines_in_order(self, api):
        verdicts = give_lines(api, *({"text": f"Text {number}."} for number in range(350)))

        assert [verdict["line"] for verdict in verdicts] == list(range(1, 351))
        pages = dict(Page.objects.values_list("artifact_id", "text"))
        assert [pages[uuid.UUID(verdict["id"])] for verdict in verdicts] == [
            f"Text {number}." for number in range(350)
        ]

    def test_accepts_the_same_document_twice(self, api):
        verdicts = give_lines(api, {"text": "Same."}, {"text": "Same."})

        assert [verdict["verdict"] for verdict in verdicts] == ["added", "unchanged"]

    def test_is_unchanged_when_sent_again(self, api):
        lines = [{"text": f"Text {number}."} for number in range(5)]
        give_lines(api, *lines)

        assert {verdict["verdict"] for verdict in give_lines(api, *lines)} == {"unchanged"}

    def test_accepts_a_final_slash_and_any_media_type(self, api):
        [verdict] = give_lines(api, {"text": "One."}, url=f"{BATCH}/")
        answer = api.post(BATCH, b'{"text": "One."}',
                          content_type="application/x-www-form-urlencoded",
                          HTTP_ACCEPT="application/x-ndjson")  # fmt: skip

        assert verdict["verdict"] == "added"
        assert json.loads(answer.getvalue())["verdict"] == "unchanged"
        assert answer["Content-Type"] == "application/x-ndjson"

    def test_returns_no_lines_for_an_empty_body(self, api):
        assert give_lines(api) == []

    def test_refuses_a_form(self, api):
        answer = api.post(BATCH, {"file": SimpleUploadedFile("a", b"a")}, format="multipart")

        assert answer.status_code == 415

    def test_refuses_an_unknown_index_before_it_reads_the_body(self, api):
        answer = api.post("/api/v1/indexes/no/artifacts/batch", b"{}", content_type="text/plain")

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_index")

    @pytest.mark.parametrize(
        "error", [OperationalError("database is locked"), InternalError("the session was ended")]
    )
    def test_rejects_lines_that_the_database_refuses(self, api, monkeypatch, error):
        calls = []

        def refuse_lock(*args: Any, **kwargs: Any) -> None:
            calls.append(args)
            raise error

        monkeypatch.setattr(batches, "add_artifact", refuse_lock)

        verdicts = give_lines(api, {"text": "One."}, {"text": "Two."})

        assert len(calls) == batches.GROUP_ATTEMPTS
        assert [verdict["error"]["code"] for verdict in verdicts] == ["database_unavailable"] * 2

    def test_adds_the_other_lines_if_one_raises_an_unexpected_error(self, api, monkeypatch):
        add_artifact = services.add_artifact

        def stumble(index: str, content: Any, **given: Any) -> Any:
            added = add_artifact(index, content, **given)
            if content.pages == ("Two.",):
                raise ValueError("a defect")
            return added

        monkeypatch.setattr(batches, "add_artifact", stumble)

        verdicts = give_lines(api, {"text": "One."}, {"text": "Two."}, {"text": "Three."})

        assert [verdict["verdict"] for verdict in verdicts] == ["added", "rejected", "added"]
        assert set(Page.objects.values_list("text", flat=True)) == {"One.", "Three."}


class TestBatchStream:
    """When verdicts are sent to a client that reads them during the request."""

    def lines(self, count: int) -> io.BytesIO:
        return io.BytesIO(b"".join(b'{"text": "Text %d."}\n' % n for n in range(count)))

    def test_reads_one_group_before_the_first_answer(self, api):
        body = self.lines(20_000)

        first = next(batches.add_batch("plain", body))

        assert first.count(b"\n") == Artifact.objects.count() == batches.GROUP_LINES
        assert body.tell() < len(body.getvalue())

    def test_delays_verdicts_while_the_client_is_writing(self, api, monkeypatch):
        monkeypatch.setattr(batches, "EARLY_RESPONSE_BYTES", 10_000)
        monkeypatch.setattr(batches, "RESPONSE_MEMORY_BYTES", 1_000)
        monkeypatch.setattr(batches, "GROUP_LINES", 20)
        monkeypatch.setattr("core.http_formats.READ_BYTES", 1_000)
        body, end, early, all_said = self.lines(300), len(self.lines(300).getvalue()), 0, b""

        for said in batches.add_batch("plain", body):
            all_said += said
            if body.tell() < end:
                early += len(said)

        assert 0 < early <= 10_000 < len(all_said)
        assert [json.loads(line)["line"] for line in all_said.splitlines()] == [*range(1, 301)]

    def test_adds_one_group_in_each_step_after_verdicts_are_delayed(self, api, monkeypatch):
        monkeypatch.setattr(batches, "EARLY_RESPONSE_BYTES", 1)
        steps = batches.add_batch("plain", self.lines(3 * batches.GROUP_LINES))

        counts = [Artifact.objects.count() for _ in itertools.islice(steps, 3)]

        assert counts == [batches.GROUP_LINES * number for number in (1, 2, 3)]

    def test_is_the_only_one_of_its_key(self, api):
        line = b'{"text": "One."}'
        first = api.post(BATCH, line, content_type="application/x-ndjson")

        second = api.post(BATCH, line, content_type="application/x-ndjson")

        assert (second.status_code, second.json()["code"]) == (429, "too_many_jobs")
        assert "when the other one has ended" in second.json()["fix"]
        # A client that disconnects. As in Django's test client, the test keeps its connection.
        request_finished.disconnect(close_old_connections)
        try:
            first.close()
        finally:
            request_finished.connect(close_old_connections)
        assert give_lines(api, {"text": "Two."})[0]["verdict"] == "added"
        assert give_lines(api, {"text": "Three."})[0]["verdict"] == "added"


class TestList:
    def test_pages_through_an_index(self, api):
        for number in range(5):
            give(api, text=f"Text {number}.")

        first = api.get(ARTIFACTS, {"limit": 2}).json()
        second = api.get(first["next"]).json()
        third = api.get(second["next"]).json()

        seen = [row["id"] for page in (first, second, third) for row in page["results"]]
        assert [first["count"], first["previous"], third["next"]] == [5, None, None]
        assert len(set(seen)) == 5
        assert api.get(second["previous"]).json() == first

    def test_shows_only_its_own_index(self, api):
        services.add_artifact("library", services.TextContent(("Elsewhere.",)))

        assert api.get(ARTIFACTS).json()["count"] == 0

    def test_filters_and_orders(self, api):
        give(api, external_id="a", title="Herons of the north")
        give(api, external_id="b", title="Granite")
        give_file(api)

        def ids(**query: str) -> list[str | None]:
            return [row["external_id"] for row in api.get(ARTIFACTS, query).json()["results"]]

        assert ids(title="NORTH") == ["a"]
        assert ids(external_id="b") == ["b"]
        assert ids(status="received") == [None]
        assert ids(media_type="text/plain") == ["a", "b"]
        assert ids(ordering="-created_at") == [None, "b", "a"]
        assert ids(ordering="title", media_type="text/plain") == ["b", "a"]

    @pytest.mark.parametrize(
        ("query", "field", "allowed"),
        [
            ({"titel": "a"}, "titel", "title"),
            ({"status": "done"}, "status", "ready"),
            ({"ordering": "size"}, "ordering", "-title"),
            ({"limit": "101"}, "limit", None),
            ({"limit": "0"}, "limit", None),
            ({"limit": "many"}, "limit", None),
            ({"limit": ""}, "limit", None),
            ({"offset": "-1"}, "offset", None),
            ({"offset": "9" * 30}, "offset", None),
            ({"offset": "9" * 5_000}, "offset", None),
            ({"title": "\x00"}, "title", None),
            ({"title": ["a", "b"]}, "title", None),
        ],
    )
    def test_refuses_unknown_parameters_and_values(self, api, query, field, allowed):
        answer = api.get(ARTIFACTS, query)

        assert (answer.status_code, answer.json()["field"]) == (400, field)
        assert allowed is None or allowed in answer.json()["allowed"]

    def test_takes_as_many_queries_for_many_as_for_one(self, api, django_assert_num_queries):
        for number in range(10):
            give(api, text=f"Text {number}.")

        with django_assert_num_queries(7) as queries:
            api.get(ARTIFACTS)

        assert not any('"text"' in query["sql"] for query in queries.captured_queries)


class TestRetrieve:
    def test_shows_why_a_file_cannot_be_read(self, api):
        artifact_id = give_file(api).json()["id"]
        Artifact.objects.update(state="failed", error_code="encrypted_pdf", error_detail="Locked.")

        body = api.get(one(artifact_id)).json()

        assert body["status"] == "failed"
        assert body["error"] == {"code": "encrypted_pdf", "detail": "Locked."}

    def test_shows_that_a_document_is_ready(self, api, build, django_capture_on_commit_callbacks):
        with django_capture_on_commit_callbacks(execute=True):
            artifact_id = give(api).json()["id"]

        from tests.factories import sync

        sync(build, Artifact.objects.get())
        body = api.get(one(artifact_id)).json()

        assert body["status"] == "ready"
        assert body["nodes"] == {"pending": 0, "synced": 1, "failed": 0}

    def test_shows_which_revision_is_indexed_and_since_when_it_is_found(self, api, build):
        from tests.factories import sync

        artifact_id = give(api).json()["id"]
        before = api.get(one(artifact_id)).json()
        sync(build, Artifact.objects.get())
        indexed = api.get(one(artifact_id)).json()
        api.patch(one(artifact_id), {"title": "Other"}, format="json")
        changed = api.get(one(artifact_id)).json()

        assert (before["indexed_revision"], before["searchable_at"]) == (None, None)
        assert indexed["indexed_revision"] == indexed["revision"]
        assert changed["indexed_revision"] == indexed["revision"] < changed["revision"]
        assert changed["searchable_at"] == indexed["searchable_at"] > indexed["created_at"]

    @pytest.mark.parametrize("artifact_id", [str(uuid.UUID(int=1)), "5", "nonsense", "a" * 300])
    @pytest.mark.parametrize(
        ("method", "rest"),
        [
            ("get", ""), ("patch", ""), ("delete", ""), ("put", "content"), ("get", "pages/"),
            ("get", "pages/0/"), ("get", "original"),
        ],
    )  # fmt: skip
    def test_answers_404_to_an_unknown_id(self, api, artifact_id, method, rest):
        answer = getattr(api, method)(one(artifact_id, rest), format="json")

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_artifact")


class TestPartialUpdate:
    def test_changes_only_the_given_fields(self, api):
        given = give(api, title="Birds", metadata={"year": 2019}).json()

        answer = api.patch(one(given["id"]), {"title": "Herons"}, format="json")

        assert answer.status_code == 200
        assert (answer.json()["title"], answer.json()["metadata"]) == ("Herons", {"year": 2019})
        assert answer.json()["revision"] > given["revision"]

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ({"text": "a"}, "text"),
            ({"external_id": None}, "external_id"),
            ({"title": None}, "title"),
            ({"metadata": None}, "metadata"),
            ({"url": "data:text/html,a"}, "url"),
        ],
    )
    def test_refuses_fields_that_cannot_be_changed(self, api, body, field):
        artifact_id = give(api).json()["id"]

        answer = api.patch(one(artifact_id), body, format="json")

        assert (answer.status_code, answer.json()["field"]) == (400, field)

    def test_gives_an_external_id_to_an_artifact_without_one(self, api):
        path = one(give(api).json()["id"])

        assert api.patch(path, {"external_id": "b1"}, format="json").json()["external_id"] == "b1"
        assert give(api, external_id="b1", text="Herons fly.").json()["id"] in path
        answer = api.patch(path, {"external_id": "b2"}, format="json")
        assert (answer.status_code, answer.json()["field"]) == (400, "external_id")

    def test_gives_no_external_id_that_another_artifact_has(self, api):
        give(api, external_id="b1", text="One.")
        path = one(give(api, text="Two.").json()["id"])

        answer = api.patch(path, {"external_id": "b1"}, format="json")

        assert (answer.status_code, answer.json()["code"]) == (409, "content_conflict")


class TestContent:
    def test_saves_other_text_as_a_new_revision(self, api):
        given = give(api, title="Birds").json()

        answer = api.put(one(given["id"], "content"), {"text": "Herons fly."}, format="json")

        assert answer.status_code == 202
        assert answer.json()["id"] == given["id"]
        assert answer.json()["revision"] > given["revision"]
        assert answer.json()["title"] == "Birds"
        assert Page.objects.get().text == "Herons fly."

    def test_answers_200_to_the_same_content(self, api):
        given = give(api).json()

        answer = api.put(one(given["id"], "content"), {"text": "Herons wait."}, format="json")

        assert (answer.status_code, answer.json()["revision"]) == (200, given["revision"])

    def test_replaces_a_text_by_a_file(self, api):
        artifact_id = give(api).json()["id"]

        answer = api.put(
            one(artifact_id, "content"),
            {"file": SimpleUploadedFile("herons.md", b"They fly.")},
            format="multipart",
        )

        assert (answer.status_code, answer.json()["file_name"]) == (202, "herons.md")

    def test_refuses_the_content_of_another_artifact(self, api):
        artifact_id = give(api).json()["id"]
        give(api, text="Herons fly.")

        answer = api.put(one(artifact_id, "content"), {"text": "Herons fly."}, format="json")

        assert (answer.status_code, answer.json()["code"]) == (409, "content_conflict")

    def test_refuses_a_title(self, api):
        artifact_id = give(api).json()["id"]

        answer = api.put(one(artifact_id, "content"), {"text": "a", "title": "b"}, format="json")

        assert (answer.status_code, answer.json()["field"]) == (400, "title")


class TestDestroy:
    def test_reports_that_no_point_is_left(self, api):
        given = give_file(api).json()

        answer = api.delete(one(given["id"]))

        assert answer.status_code == 200
        receipt = answer.json()
        assert receipt.pop("revision") > given["revision"]
        assert all(count == 0 for count in receipt.pop("collections").values())
        assert receipt == {
            "id": given["id"], "deleted": True, "parts": [], "points": 0, "waits_for": []
        }  # fmt: skip
        assert api.get(one(given["id"])).status_code == 404

    def test_deletes_the_files_of_a_zip_with_it(self, api):
        archive = make_zip({"a.md": "# Herons", "b.md": "Terns"})
        given = give_file(api, archive, file_name="birds.zip").json()
        reading.parse_artifact(uuid.UUID(given["id"]))
        files = api.get(ARTIFACTS, {"part_of": given["id"]}).json()["results"]
        assert {(each["title"], each["part_of"]) for each in files} == {
            ("a", given["id"]),
            ("b", given["id"]),
        }

        answer = api.delete(one(given["id"]))

        assert answer.status_code == 200
        assert set(answer.json()["parts"]) == {each["id"] for each in files}
        assert answer.json()["points"] == 0
        assert not Artifact.objects.exists()

    def test_reports_that_points_are_deleted_later_if_the_store_is_away(self, api, monkeypatch):
        class Away(StrataError):
            """The store is away."""

        def remove_points(artifact_ids: list[uuid.UUID], index: str) -> dict[str, int]:
            raise Away

        monkeypatch.setattr(get_catalog(), "remove_artifact_points", remove_points)
        artifact_id = give(api).json()["id"]

        answer = api.delete(one(artifact_id))

        assert (answer.status_code, answer.json()["points"]) == (202, None)
        assert "automatically" in answer.json()["detail"]
        assert not Artifact.objects.exists()


class TestPages:
    def test_lists_pages_without_their_text(self, api):
        artifact_id = api.post(
            ARTIFACTS, {"pages": ["One.", "Two, longer."]}, format="json"
        ).json()["id"]

        body = api.get(one(artifact_id, "pages/"), {"limit": 1, "offset": 1}).json()

        assert (body["count"], body["next"]) == (2, None)
        [page] = body["results"]
        assert (page["index"], page["char_count"]) == (1, len("Two, longer."))
        assert "text" not in page

    def test_reads_one_page(self, api):
        artifact_id = api.post(ARTIFACTS, {"pages": ["One.", "Two."]}, format="json").json()["id"]

        assert api.get(one(artifact_id, "pages/1/")).json()["text"] == "Two."

    @pytest.mark.parametrize("index", ["2", "-1", "one", "9" * 40, "٠"])
    def test_answers_404_to_an_unknown_page(self, api, index):
        artifact_id = api.post(ARTIFACTS, {"pages": ["One.", "Two."]}, format="json").json()["id"]

        answer = api.get(one(artifact_id, f"pages/{index}/"))

        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_page")


class TestOriginal:
    def test_is_a_download_even_if_it_is_html(self, api):
        artifact_id = give_file(api, b"<script>alert(1)</script>", file_name="a.html").json()["id"]
        Artifact.objects.update(media_type="text/html")

        answer = api.get(one(artifact_id, "original"), HTTP_ACCEPT="text/html")

        assert answer.getvalue() == b"<script>alert(1)</script>"
        assert answer["Content-Disposition"] == 'attachment; filename="a.html"'
        assert answer["X-Content-Type-Options"] == "nosniff"
        assert "sandbox" in answer["Content-Security-Policy"]

    def test_removes_line_breaks_from_its_headers(self, api):
        artifact_id = give_file(api).json()["id"]
        Artifact.objects.update(file_name='a\r\nSet-Cookie: b="c"')

        answer = api.get(one(artifact_id, "original"))

        assert answer.status_code == 200
        assert "\n" not in answer["Content-Disposition"]
        answer.close()

    def test_answers_404_for_a_document_without_a_file(self, api):
        artifact_id = give(api).json()["id"]

        assert api.get(one(artifact_id, "original")).json()["code"] == "no_original"

    def test_answers_404_if_the_file_is_missing(self, api):
        artifact_id = give_file(api).json()["id"]
        original_path(Artifact.objects.get()).unlink()

        assert api.get(one(artifact_id, "original")).json()["code"] == "missing_file"


class TestPageOfFile:
    @pytest.fixture
    def pdf_id(self, api) -> str:
        answer = give_file(api, make_pdf("Gannets dive."), file_name="gannets.pdf")
        reading.parse_artifact(UUID(answer.json()["id"]))
        return answer.json()["id"]

    def test_is_drawn_as_people_see_it(self, api, pdf_id):
        answer = api.get(one(pdf_id, "pages/0/picture"))

        assert (answer.status_code, answer["Content-Type"]) == (200, "image/webp")
        with Image.open(io.BytesIO(answer.content)) as picture:
            assert picture.height > picture.width > 1_000

    def test_says_where_a_passage_stands(self, api, pdf_id):
        answer = api.get(one(pdf_id, "pages/0/boxes"), {"start": 0, "end": 7})

        [box] = answer.json()["boxes"]
        assert 0 < box["left"] < box["right"] < 0.5
        assert 0 < box["top"] < box["bottom"] < 0.5

    def test_says_on_which_lines_a_passage_stands_that_ocr_read(self, api, pdf_id):
        lines = [[0.9, 0.1, 0.2, 0.3, 0.4], [0.8, 0.1, 0.5, 0.3, 0.6]]
        Page.objects.update(text="Gannets\ndive.", ocr_lines=lines)

        answer = api.get(one(pdf_id, "pages/0/boxes"), {"start": 8, "end": 12})

        box = {"left": 0.1, "top": 0.5, "right": 0.3, "bottom": 0.6}
        assert answer.json() == {"boxes": [box], "are_whole_lines": True}
        assert api.get(one(pdf_id, "pages/0")).json()["ocr_confidence"] == 0.85

    @pytest.mark.parametrize(
        ("passage", "field"),
        [({}, "start"), ({"start": 4, "end": 4}, "end"), ({"start": -1, "end": 4}, "start")],
    )
    def test_names_what_is_wrong_with_a_passage(self, api, pdf_id, passage, field):
        answer = api.get(one(pdf_id, "pages/0/boxes"), passage)

        assert (answer.status_code, answer.json()["field"]) == (400, field)

    def test_counts_the_pages_that_ocr_has_read(self, api, pdf_id):
        Artifact.objects.update(state=Artifact.State.PARSING, pages_read=2, page_count=300)

        answer = api.get(one(pdf_id))

        assert answer.json()["ocr"] == {"pages_read": 2, "page_count": 300}
        Artifact.objects.update(state=Artifact.State.PARSED)
        assert api.get(one(pdf_id)).json()["ocr"] is None

    def test_cannot_be_drawn_if_the_format_has_no_pages(self, api):
        artifact_id = give_file(api, b"Terns fly.", file_name="a.txt").json()["id"]
        reading.parse_artifact(UUID(artifact_id))

        answer = api.get(one(artifact_id, "pages/0/picture"))

        assert (answer.status_code, answer.json()["code"]) == (404, "no_picture")
        boxes = api.get(one(artifact_id, "pages/0/boxes"), {"start": 0, "end": 4})
        assert boxes.json() == {"boxes": [], "are_whole_lines": False}

    def test_is_not_found_if_its_file_is_gone(self, api, pdf_id):
        original_path(Artifact.objects.get()).unlink()

        for rest in ("picture", "boxes?start=0&end=7"):
            answer = api.get(one(pdf_id, f"pages/0/{rest}"))
            assert (answer.status_code, answer.json()["code"]) == (404, "missing_file")

    def test_that_is_damaged_is_named_by_its_ending(self, api, pdf_id):
        original_path(Artifact.objects.get()).write_bytes(make_pdf("One."))
        Page.objects.update(index=7)

        answer = api.get(one(pdf_id, "pages/7/picture"))

        assert answer.status_code == 422
        assert ".pdf" in answer.json()["detail"]

    def test_waits_only_for_a_while_for_other_pages(self, api, pdf_id, monkeypatch):
        monkeypatch.setattr(single_pages, "PAGE_SECONDS", 0.1)
        with single_pages._page_reader:
            answer = api.get(one(pdf_id, "pages/0/picture"))

        assert (answer.status_code, answer.json()["code"]) == (503, "pages_busy")
        assert answer["Retry-After"]


class TestAccess:
    @pytest.mark.parametrize(
        ("method", "url"),
        [("get", ARTIFACTS), ("post", ARTIFACTS), ("post", BATCH), ("get", one("5"))],
    )
    def test_answers_401_without_a_key(self, client, method, url):
        assert getattr(client, method)(url).status_code == 401
