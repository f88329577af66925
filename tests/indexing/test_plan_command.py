from io import StringIO

from django.core.management import call_command

from indexing.lifecycle import apply_spec
from indexing.models import Index


class TestPlan:
    def test_shows_changed_search_settings_without_applying_them(self, specs, build):
        specs("search: {rrf_k: 3}\n")
        output = StringIO()

        call_command("plan", stdout=output)

        lines = output.getvalue().splitlines()
        assert lines[0] == "plain: no new build"
        assert lines[1].startswith("  Search settings, changed immediately (now number 1): ")
        assert "search.rrf_k: 60 -> 3" in lines[1]
        assert Index.objects.get(pk="plain").search_settings.number == 1

    def test_names_the_build_in_progress(self, specs, build):
        specs("chunks: {context: []}\n")
        number = apply_spec("plain").number
        output = StringIO()

        call_command("plan", stdout=output)

        assert f"Build {number} of this spec is being built." in output.getvalue()
