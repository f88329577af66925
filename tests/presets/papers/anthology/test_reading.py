import gzip
import json
import os
from pathlib import Path

import pytest

from core.exceptions import InvalidInput
from presets.papers.anthology import Paper, open_anthology
from presets.papers.anthology.reading import make_paper_id
from tests.serving import ROOT

SLICE = ROOT.parent / "shared" / "data" / "acl"


STATM = Path("/proc/self/statm")


def resident_bytes() -> int:
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def papers(path: Path) -> list[Paper | InvalidInput]:
    return list(open_anthology(path).iter_papers())


class TestOpenAnthology:
    @pytest.mark.parametrize("place", ["", "xml", "xml/2031.owl.xml"])
    def test_finds_xml_and_names_from_folder_and_file(self, folder, place):
        first = papers(folder / place)[0]

        assert first.id == "2031.owl-main.1"
        assert "Bo A. Ek" in first.authors

    def test_finds_them_in_the_whole_repository(self, folder):
        folder.rename(folder.parent / "data")

        assert len(papers(folder.parent)) == 4

    @pytest.mark.parametrize("place", ["", "notes.txt", "nowhere"])
    def test_explains_what_to_name_if_there_are_no_files(self, tmp_path, place):
        (tmp_path / "notes.txt").write_text("not of it")

        with pytest.raises(InvalidInput) as refused:
            open_anthology(tmp_path / place)

        assert "xml/" in refused.value.fix

    def test_refuses_an_invalid_table_of_names(self, folder):
        (folder / "yaml" / "name_variants.yaml").write_text("- canonical: nobody\n")

        with pytest.raises(InvalidInput, match="table of names"):
            open_anthology(folder)

    @pytest.mark.parametrize("place", ["", "xml", "xml/2031.owl.xml.gz"])
    def test_reads_gzipped_xml_like_plain_xml(self, folder, place):
        plain = folder / "xml" / "2031.owl.xml"
        expected = papers(plain)
        plain.with_suffix(".xml.gz").write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()

        found = papers(folder / place)

        assert [each for each in found if each.id.startswith("2031.owl")] == expected
        assert open_anthology(folder / place).count_papers() == len(found)

    def test_counts_as_many_as_it_reads(self, folder):
        anthology = open_anthology(folder)

        assert anthology.count_papers() == len(list(anthology.iter_papers())) == 4


class TestPapers:
    def test_are_cleaned_and_typed(self, folder):
        paper = papers(folder)[0]

        assert paper == Paper(
            id="2031.owl-main.1",
            title="Parsing English in O(n2)",
            abstract="We parse faster, by 10% or more, as shown. It costs $5 to $10 a day; see "
            "https://owl.example/parser.",
            authors=("Ada Lind", "Bo Ek", "Bo A. Ek"),
            year=2031,
            venues=("owl", "findings"),
            awards=("Best Paper",),
            doi="10.99999/2031.owl-main.1",
        )

    def test_without_an_abstract_have_an_empty_one(self, folder):
        assert papers(folder)[1].abstract == ""

    def test_of_a_person_with_several_names_include_the_canonical_name(self, folder):
        assert papers(folder)[2].authors == ("Ada Lind-Berg", "Ada Lind")

    def test_of_two_people_with_one_name_are_assigned_to_neither(self, folder):
        assert papers(folder)[3].authors == ("Cy Ro",)

    def test_that_were_withdrawn_are_marked(self, folder):
        assert [paper.is_retracted for paper in papers(folder)] == [False, False, True, False]

    def test_use_the_current_table_of_names(self, folder):
        (folder / "yaml" / "people.yaml").write_text(
            "ada-lind:\n  names:\n  - {first: Ada, last: Lind}\n  - {first: Ada, last: Lind-Berg}\n"
        )

        assert papers(folder)[2].authors == ("Ada Lind-Berg", "Ada Lind")

    def test_before_invalid_xml_are_read_and_the_error_is_reported(self, folder):
        path = folder / "xml" / "2031.owl.xml"
        path.write_text(path.read_text().partition('<paper id="3">')[0])

        *read, broken = papers(path)

        assert [paper.id for paper in read] == ["2031.owl-main.1", "2031.owl-main.2"]
        assert isinstance(broken, InvalidInput)
        assert broken.field == str(path)

    @pytest.mark.parametrize("damage", [lambda content: content[:-20], lambda _: b"not gzip"])
    def test_of_damaged_gzip_end_with_an_error(self, folder, damage):
        plain = folder / "xml" / "2031.owl.xml"
        path = plain.with_suffix(".xml.gz")
        path.write_bytes(damage(gzip.compress(plain.read_bytes())))

        broken = papers(path)[-1]

        assert isinstance(broken, InvalidInput)
        assert broken.field == str(path)

    def test_without_an_id_are_refused_with_their_line(self, folder):
        path = folder / "xml" / "W19.xml"
        path.write_text(path.read_text().replace('<paper id="7">', "<paper>"))

        [refused] = papers(path)

        assert isinstance(refused, InvalidInput)
        assert "Line 5" in str(refused)

    @pytest.mark.skipif(not STATM.exists(), reason="needs /proc")
    def test_are_read_one_at_a_time(self, folder):
        """For a file of any size. Counts libxml2's memory, which would hold the whole tree."""
        path = folder / "xml" / "W19.xml"
        head, paper, tail = path.read_text().partition('    <paper id="7">')
        one, _, end = tail.partition("</paper>")
        long = one.replace("Larks sing early.", "Larks sing early. " * 230)
        many = "".join(f"{paper.replace('7', str(n))}{long}</paper>\n" for n in range(1, 6_001))
        path.write_text(head + many + end)
        assert path.stat().st_size > 24_000_000
        anthology = open_anthology(path)
        del many

        before, count, grown = resident_bytes(), 0, 0
        for _ in anthology.iter_papers():
            count += 1
            if count % 500 == 0:
                grown = max(grown, resident_bytes() - before)

        assert count == 6_000
        assert grown < 8_000_000


class TestLines:
    LINE = {
        "id": "2031.owl-main.1",
        "title": "Owls",
        "abstract": "Owls \\emph{see} well.",
        "authors": ["Ada  Lind"],
        "year": 2031,
        "venue": ["OWL"],
        "booktitle": "passed over",
    }

    @pytest.mark.parametrize("name", ["papers.jsonl", "papers.jsonl.gz"])
    def test_are_read_plain_and_gzipped(self, tmp_path, name):
        text = json.dumps(self.LINE).encode() + b"\n\n"
        path = tmp_path / name
        path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

        assert papers(path) == [
            Paper(
                id="2031.owl-main.1",
                title="Owls",
                abstract="Owls see well.",
                authors=("Ada Lind",),
                year=2031,
                venues=("owl",),
            )
        ]

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("{", "JSON"),
            ("[]", "the line"),
            ('{"id": 7}', "id"),
            ('{"id": "a", "year": "x"}', "year"),
        ],
    )
    def test_that_are_invalid_are_reported_and_the_next_is_read(self, tmp_path, line, said):
        path = tmp_path / "papers.jsonl"
        path.write_text(f"{line}\n{json.dumps(self.LINE)}\n")

        wrong, right = papers(path)

        assert isinstance(wrong, InvalidInput)
        assert wrong.field == f"{path}:1"
        assert said in str(wrong)
        assert isinstance(right, Paper)

    def test_end_with_an_error_if_the_archive_is_truncated(self, tmp_path):
        path = tmp_path / "papers.jsonl.gz"
        path.write_bytes(gzip.compress(json.dumps(self.LINE).encode() * 1_000)[:-20])

        assert isinstance(papers(path)[-1], InvalidInput)
        assert open_anthology(path).count_papers() == 0


class TestMakeId:
    @pytest.mark.parametrize(
        ("parts", "name"),
        [
            (("P19", "1", "1"), "P19-1001"),
            (("W19", "59", "7"), "W19-5907"),
            (("D19", "50", "12"), "D19-5012"),
            (("D19", "4", "12"), "D19-4012"),
            (("C69", "1", "2"), "C69-0102"),
            (("2020.acl", "main", "1"), "2020.acl-main.1"),
        ],
    )
    def test_returns_the_ids_of_the_anthology(self, parts, name):
        assert make_paper_id(*parts) == name


@pytest.mark.skipif(not SLICE.is_dir(), reason="needs ../shared/data/acl")
class TestRealSlice:
    def test_is_read_without_warnings_or_markup(self):
        read = papers(SLICE)

        assert all(isinstance(paper, Paper) for paper in read)
        assert len({paper.id for paper in read}) == len(read) == 2_307
        assert not [p.id for p in read if "<" in p.title or "\\text" in p.title + p.abstract]

    def test_has_the_ids_of_the_urls_of_the_papers(self):
        text = (SLICE / "xml" / "P19.xml").read_text()

        assert all(f">{paper.id}</url>" in text for paper in papers(SLICE / "xml" / "P19.xml"))
