from dataclasses import replace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from core.exceptions import DiskFull, InvalidInput
from documents.models import Artifact
from presets.papers import importing
from presets.papers.anthology import Paper
from presets.papers.importing import add_papers

pytestmark = pytest.mark.django_db

OWLS = Paper(
    id="2031.owl-main.1",
    title="Owls",
    abstract="Owls see well.",
    authors=("Ada Lind",),
    year=2031,
    venues=("owl",),
    awards=("Best Paper",),
    doi="10.99999/owl.1",
)


def verdicts(papers) -> list[str | None]:
    return [each.verdict and str(each.verdict) for each in add_papers("papers", papers)]


class TestAddPapers:
    def test_stores_all_metadata_of_a_paper(self):
        [given] = add_papers("papers", [OWLS])

        artifact = Artifact.objects.get(pk=given.artifact_id)
        assert artifact.external_id == "2031.owl-main.1"
        assert artifact.title == "Owls"
        assert artifact.pages.get().text == "Owls see well."
        assert artifact.url == "https://aclanthology.org/2031.owl-main.1/"
        assert artifact.metadata == {
            "authors": ["Ada Lind"],
            "year": 2031,
            "venue": ["owl"],
            "awards": ["Best Paper"],
            "doi": "10.99999/owl.1",
        }

    def test_leaves_out_papers_without_an_abstract(self):
        [given] = add_papers("papers", [replace(OWLS, abstract="")])

        assert (given.artifact_id, given.verdict, given.error) == (None, None, None)
        assert not Artifact.objects.exists()

    def test_changes_nothing_when_run_again(self):
        papers = [replace(OWLS, id=f"2031.owl-main.{n}") for n in range(30)]
        assert set(verdicts(papers)) == {"added"}
        before = list(Artifact.objects.values_list("pk", "revision"))

        with CaptureQueriesContext(connection) as queries:
            again = verdicts(papers)

        assert set(again) == {"unchanged"}
        assert list(Artifact.objects.values_list("pk", "revision")) == before
        assert len(queries) <= 4  # one transaction and one query, for any number of papers

    def test_updates_changed_papers(self):
        verdicts([OWLS])

        assert verdicts([replace(OWLS, abstract="Owls hear better.")]) == ["revised"]
        verdicts([replace(OWLS, abstract="Owls hear better.", awards=())])

        artifact = Artifact.objects.get()
        assert artifact.pages.get().text == "Owls hear better."
        assert "awards" not in artifact.metadata

    def test_adds_a_failed_paper_again(self):
        verdicts([OWLS])
        Artifact.objects.update(state=Artifact.State.FAILED)

        verdicts([OWLS])

        assert Artifact.objects.get().state == Artifact.State.PARSED

    def test_reports_errors_and_continues(self, monkeypatch):
        def refuse_owls(index, *, title, **given):
            if title == "Owls":
                raise InvalidInput("No owls here.")
            return add_artifact(index, title=title, **given)

        add_artifact = importing.add_artifact
        monkeypatch.setattr(importing, "add_artifact", refuse_owls)
        unread = InvalidInput("The XML is truncated.", field="2031.owl.xml")

        refused, missing, added = add_papers(
            "papers", [OWLS, unread, replace(OWLS, id="2031.owl-main.2", title="Larks")]
        )

        assert (refused.name, str(refused.error)) == ("2031.owl-main.1", "No owls here.")
        assert (missing.name, missing.error) == ("2031.owl.xml", unread)
        assert added.verdict == "added"

    def test_stops_if_the_disk_is_full_and_keeps_added_papers(self, monkeypatch):
        monkeypatch.setattr(importing, "PAPERS_PER_TRANSACTION", 2)
        add_artifact, left = importing.add_artifact, iter(range(3))

        def fill_up(index, **given):
            if next(left, None) is None:
                raise DiskFull()
            return add_artifact(index, **given)

        monkeypatch.setattr(importing, "add_artifact", fill_up)
        given = add_papers("papers", [replace(OWLS, id=f"p{n}") for n in range(6)])

        assert [next(given).name, next(given).name] == ["p0", "p1"]
        with pytest.raises(DiskFull):
            next(given)

        assert set(Artifact.objects.values_list("external_id", flat=True)) == {"p0", "p1"}
