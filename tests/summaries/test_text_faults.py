"""Texts that a language model could not write are named wherever people look."""

from io import StringIO

import pytest
from django.core.management import call_command

from concepts.models import Extraction
from config import diagnostics
from documents.index_catalog import get_catalog
from documents.models import Artifact
from documents.serializers import render_artifacts
from indexing.models import IndexBuild
from indexing.revisions import complete_visible_revisions
from summaries.models import EXTRACTIVE_MODEL_NAME, Summary
from tests.factories import give
from tests.summaries.conftest import write_all
from webhooks.models import Delivery

REASON = "The model declines."


def fail_summary(artifact: Artifact) -> str:
    Summary.objects.of_pages().update(state="failed", last_error=REASON)
    return "texts_missing"


def write_summary_by_rules(artifact: Artifact) -> str:
    Summary.objects.of_pages().update(model_name=EXTRACTIVE_MODEL_NAME, last_error=REASON)
    return "texts_by_rules"


def fail_extraction(artifact: Artifact) -> str:
    source = artifact.sources.get()
    Extraction.objects.create(source=source, state="failed", last_error=REASON)
    return "concepts_missing"


@pytest.fixture(params=[fail_summary, write_summary_by_rules, fail_extraction])
def code(request, wide: IndexBuild, settings) -> str:
    """The code of the fault of the only document."""
    settings.STRATA_WEBHOOK_URLS = ["https://receiver.example/"]
    artifact = give(index="wide")
    write_all(wide, artifact)
    return request.param(artifact)


def test_the_document_shows_them(code):
    [shown] = render_artifacts(get_catalog().with_status(Artifact.objects.all()))

    [warning] = shown["warnings"]
    assert (shown["status"], warning["code"]) == ("ready", code)
    assert REASON in warning["detail"]


def test_the_webhook_names_them(code):
    complete_visible_revisions()

    [delivery] = Delivery.objects.filter(event="artifact.ready")
    assert [each["code"] for each in delivery.payload["warnings"]] == [code]


def test_status_and_verify_name_them(code, capsys):
    said = StringIO()
    call_command("status", stdout=said)
    call_command("verify")

    assert REASON in said.getvalue()
    assert REASON in capsys.readouterr().err


def test_doctor_fails_only_if_they_are_missing(code):
    [result] = diagnostics._check_texts()

    assert REASON in result.detail
    assert result.is_ok == (code == "texts_by_rules")
