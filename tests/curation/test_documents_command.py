"""The command ``documents``, with the API in this process."""

import json
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from curation.management.commands import documents
from curation.tasks import edit_worker
from documents.models import Artifact
from tests.factories import give

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def leases(build, monkeypatch) -> list[Artifact]:
    # Tests start no workers; whoever waits for one does its work.
    monkeypatch.setattr("core.api_client.has_embedded_store", lambda: False)
    monkeypatch.setattr(documents.time, "sleep", lambda seconds: edit_worker.run("all"))
    names = ("orrin/2024/lease.pdf", "orrin/2023/deed.pdf", "skerry/will.pdf")
    return [give(f"The text of {name}.", title=name[:-4], external_id=name) for name in names]


def run(*arguments: str) -> str:
    output = StringIO()
    call_command("documents", *arguments, stdout=output, stderr=StringIO())
    return output.getvalue()


def ask(*arguments: str) -> dict[str, Any]:
    return json.loads(run(*arguments, "--json"))


class TestDocuments:
    def test_are_listed_by_folder_and_in_an_order(self):
        folder = ("--index", "plain", "--folder", "orrin/")

        printed = run("list", *folder, "--sort", "title", "--reverse")
        answer = ask("list", *folder, "--limit", "1")

        assert printed.index("orrin/2024/lease.pdf") < printed.index("orrin/2023/deed.pdf")
        assert "skerry" not in printed
        assert (answer["count"], len(answer["results"])) == (2, 1)

    def test_are_shown(self, leases):
        printed = run("show", str(leases[0].pk))

        assert "external_id: orrin/2024/lease.pdf" in printed
        assert "seen by: everybody" in printed
        assert ask("show", str(leases[0].pk))["id"] == str(leases[0].pk)

    def test_are_edited_after_a_look_at_what_would_change(self, leases):
        edit = ("edit", "--index", "plain", "--folder", "orrin/", "--set", "year=2024",
                "--set", "client=Orrin")  # fmt: skip

        previewed = run(*edit, "--dry-run")
        untouched = Artifact.objects.filter(metadata={}).count()
        printed = run(*edit)

        assert "2 of 2 documents would change" in previewed
        assert "client=Orrin" in previewed
        assert untouched == 3
        assert printed.startswith("2 of 2 documents changed.\nUndo it until ")
        assert Artifact.objects.get(pk=leases[0].pk).metadata == {"client": "Orrin", "year": 2024}

    def test_are_restricted_and_given_back(self, leases):
        edit = ask("restrict", str(leases[2].pk), "--index", "plain", "--group", "partners")
        restricted = Artifact.objects.get(pk=leases[2].pk).groups

        printed = run("undo", edit["id"])

        assert restricted == ["partners"]
        assert printed == "1 of 1 documents changed back.\n"
        assert Artifact.objects.get(pk=leases[2].pk).groups == []

    def test_are_shown_to_everybody_again(self, leases):
        Artifact.objects.update(groups=["partners"])

        run("restrict", "--all", "--index", "plain", "--everybody")

        assert not Artifact.objects.exclude(groups=[]).exists()

    def test_are_deleted(self):
        assert run("delete", "--index", "plain", "--folder", "orrin/") == (
            "2 of 2 documents deleted.\n"
        )
        assert Artifact.objects.count() == 1

    def test_are_named_before_they_are_changed(self):
        with pytest.raises(CommandError, match="Say which documents"):
            run("delete", "--index", "plain")
        assert Artifact.objects.count() == 3

    def test_show_why_one_could_not_be_changed(self, leases):
        Artifact.objects.filter(pk=leases[0].pk).update(is_held=True)

        printed = run("delete", "--all", "--index", "plain", "--dry-run")

        assert "2 of 3 documents would change; 0 need not, 1 cannot." in printed
        assert "is under a legal hold" in printed
