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

    def test_leaves_out_lines_with_the_page_number(self):
        texts = [f"{n} ACME\n\n{word}\n- {n} -" for n, word in enumerate("abcde", start=7)]

        assert bodies(*texts) == [texts[0], *"bcde"]

    def test_leaves_out_lines_of_left_and_right_pages(self):
        headers = [f"{n} ACME" if n % 2 else f"Report {n}" for n in range(10)]
        texts = [f"{header}\n{word}" for header, word in zip(headers, "abcdefghij", strict=True)]

        assert bodies(*texts) == [texts[0], texts[1], *"cdefghij"]

    def test_keeps_numbered_lines_beside_the_page_number(self):
        chapters = [f"Chapter {n}\n{word}" for n, word in enumerate("abcdef")]
        texts = [f"ACME {n}\n{chapter}" for n, chapter in enumerate(chapters, start=1)]
        with_footers = [f"{chapter}\n{n}" for n, chapter in enumerate(chapters, start=1)]

        assert bodies(*texts) == [texts[0], *chapters[1:]]
        assert bodies(*with_footers) == [with_footers[0], *chapters[1:]]

    @pytest.mark.parametrize("numbers", [[1, 2, 3, 4], [1, 3, 4, 6, 7], [5, 4, 3, 2, 1]])
    def test_keeps_lines_with_other_numbers(self, numbers):
        texts = [f"Step {number}\n{word}" for number, word in zip(numbers, "abcde", strict=False)]

        assert bodies(*texts) == texts

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
