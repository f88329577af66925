import pytest

from documents.models import Source
from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from documents.running_lines import find_bodies
from documents.services import add_artifact
from tests.documents.parsing.makers import make_pdf_with_layout


def bodies(*texts):
    return [
        text[start:end].strip()
        for text, (start, end) in zip(texts, find_bodies(texts), strict=True)
    ]


class TestFindBodies:
    def test_leaves_out_headers_and_footers_after_their_first_page(self):
        texts = [f"Annual report\n\n{word}\nmore\n\nACME Inc." for word in ("one", "two", "three")]

        assert bodies(*texts) == [texts[0], "two\nmore", "three\nmore"]

    def test_leaves_out_headers_of_two_lines(self):
        texts = [f"ACME\nAnnual report\n\n{word}" for word in ("one", "two", "three", "four")]

        assert bodies(*texts) == [texts[0], "Annual report\n\ntwo", "three", "four"]

    def test_keeps_lines_of_two_pages(self):
        texts = ["Preface\nfirst", "Preface\nsecond", "Chapter\nthird"]

        assert bodies(*texts) == texts

    def test_keeps_a_page_that_has_nothing_else(self):
        assert bodies("Blank", "Blank", "Blank", "") == ["Blank", "Blank", "Blank", ""]

    def test_keeps_headings_and_rows(self):
        texts = [f"# Notes\n| a | {word} |" for word in ("one", "two", "three")]
        tables = [f"| Year | Sales |\n| {word} | 3 |" for word in ("one", "two", "three")]

        assert bodies(*texts) == texts
        assert bodies(*tables) == tables

    def test_keeps_white_space_only_pages(self):
        assert find_bodies(["", " \n", "a"]) == [(0, 0), (0, 2), (0, 1)]


@pytest.mark.django_db
def test_sources_of_a_pdf_begin_after_its_running_header(settings, tmp_path):
    settings.STRATA_FILES_DIR = tmp_path
    content = make_pdf_with_layout("Markets", "Costs", "People", header="Annual report")
    artifact, _ = add_artifact("plain", save_incoming_file("report.pdf", [content]))

    parse_artifact(artifact.pk)

    first, *others = Source.objects.order_by("ordinal")
    assert first.text.startswith("Annual report")
    assert [(source.heading, source.text[:4]) for source in others] == [
        ("Costs", "# Co"),
        ("People", "# Pe"),
    ]
