import io
import json
import os
import signal
import subprocess
import sys
import threading
from importlib.resources import files
from pathlib import Path

import onnxruntime
import pytest
import yaml

from documents.exceptions import Unparsable
from documents.originals import get_recognised_pages_path, save_incoming_file
from documents.parsing import close_child_processes, find_line_boxes, ocr, parse_file
from documents.reading import parse_artifact
from documents.services import add_artifact
from tests.clients import client_with_key
from tests.factories import sync
from tests.ocr.conftest import HERON, draw, make_scan
from tests.serving import ROOT

READ_A_SCAN = """
import sys
from pathlib import Path
import django
django.setup()
from documents.parsing import parse_file
scan, pages = map(Path, sys.argv[1:])
parse_file(scan, file_name="scan.pdf", recognised=pages)
"""
EGRET = draw("Egrets follow\nthe cattle.")


@pytest.fixture
def scan(settings, tmp_path):
    """The path of a scan of three pages, the second blank, among the originals."""
    settings.STRATA_FILES_DIR = tmp_path
    path = tmp_path / "scan"
    path.write_bytes(make_scan(HERON, None, EGRET))
    yield path
    close_child_processes()


def texts(document):
    return [page.text for page in document.pages]


class TestAScan:
    def test_is_read_paragraph_by_paragraph(self, scan):
        document = parse_file(scan, file_name="scan.pdf")

        assert texts(document) == [
            "Herons wait\nfor hours.\n\nKingfishers dive\nat once.",
            "",
            "Egrets follow\nthe cattle.",
        ]
        assert document.warnings == ()

    def test_keeps_the_pages_that_were_read(self, scan):
        pages = scan.with_suffix(".ocr")

        parse_file(scan, file_name="scan.pdf", recognised=pages)

        kept = [json.loads(line) for line in pages.read_text().splitlines() if line]
        assert [page["index"] for page in kept] == [0, 2]

    def test_does_not_read_a_kept_page_again(self, scan):
        pages = scan.with_suffix(".ocr")
        cut_off = '{"index": 2, "te'
        pages.write_text(json.dumps({"index": 0, "text": "kept", "lines": []}) + "\n" + cut_off)

        document = parse_file(scan, file_name="scan.pdf", recognised=pages)

        assert texts(document) == ["kept", "", "Egrets follow\nthe cattle."]

    def test_is_read_on_after_its_reader_is_killed(self, scan):
        scan.write_bytes(make_scan(*[HERON] * 12))
        pages = scan.with_suffix(".ocr")
        killer = threading.Thread(target=kill_reader_after_a_page, args=[pages])
        killer.start()
        with pytest.raises(Unparsable, match="crashed"):
            parse_file(scan, file_name="scan.pdf", recognised=pages)
        killer.join()
        read_before = [line for line in pages.read_text().splitlines() if line]

        document = parse_file(scan, file_name="scan.pdf", recognised=pages)

        lines = [line for line in pages.read_text().splitlines() if line]
        assert 1 <= len(read_before) < 12
        assert lines[: len(read_before)] == read_before
        assert sorted(json.loads(line)["index"] for line in lines) == list(range(12))
        assert all("Herons" in text for text in texts(document))

    def test_is_read_on_after_the_service_is_killed(self, scan):
        scan.write_bytes(make_scan(*[EGRET] * 6))
        pages = scan.with_suffix(".ocr")
        service = subprocess.Popen([sys.executable, "-c", READ_A_SCAN, scan, pages], cwd=ROOT)
        while not pages.exists() or not pages.read_text().strip():
            assert service.poll() is None
        service.kill()
        service.wait()
        read_before = [line for line in pages.read_text().splitlines() if line]

        document = parse_file(scan, file_name="scan.pdf", recognised=pages)

        indexes = [json.loads(line)["index"] for line in pages.read_text().splitlines() if line]
        assert 1 <= len(read_before) < 6
        assert indexes == list(range(6))
        assert texts(document) == ["Egrets follow\nthe cattle."] * 6

    def test_reports_each_page(self, scan):
        reported = []

        parse_file(scan, file_name="scan.pdf", report_page=lambda *page: reported.append(page))

        assert reported == [(1, 3), (3, 3)]

    def test_knows_where_each_line_stands(self, scan):
        heron, blank, _ = parse_file(scan, file_name="scan.pdf").pages

        boxes = find_line_boxes(heron.text, heron.ocr_lines, 0, len(heron.text))
        start = heron.text.index("dive")
        [dive] = find_line_boxes(heron.text, heron.ocr_lines, start, start + 4)

        assert len(boxes) == 4
        assert dive == boxes[2]
        left, top, right, bottom = dive
        assert left == pytest.approx(640 / 1200, abs=0.02)
        assert top < 75 / 500 < bottom < 110 / 500
        assert right < 940 / 1200
        assert min(confidence for confidence, *_ in heron.ocr_lines) > 0.5
        assert list(blank.ocr_lines) == []


class TestLanguages:
    def test_are_those_of_the_weights_in_the_wheel(self):
        package = files("rapidocr")
        routes = yaml.safe_load((package / "default_models.yaml").read_text())["model_routes"]
        [model] = routes["PP-OCRv6"]["rec"]["small"]
        codes = {"ch": "zh", "chinese_cht": "zh", "japan": "ja", "rs_latin": "sr-Latn"}
        words = {"french", "german"}  # further names of codes
        listed_in_error = {"vi"}

        languages = {codes.get(name, name) for name in model["supported_langs"]} - words
        languages -= listed_in_error

        assert sorted(languages) == list(ocr.RAPIDOCR_LANGUAGES)
        weights = {each.name for each in (package / "models").iterdir() if "rec" in each.name}
        assert weights == {"PP-OCRv6_rec_small.onnx"}

    @pytest.mark.parametrize(
        ("code", "letters"),
        [
            ("cs", "áčďéěíňóřšťúůýž"),
            ("de", "äöüß"),
            ("fr", "àâæçéèêëîïôœùûüÿ"),
            ("hu", "áéíóöőúüű"),
            ("is", "áðéíóúýþæö"),
            ("mt", "ċġħż"),
            ("pl", "ąćęłńóśźż"),
            ("ro", "ăâîșț"),
            ("tr", "çğıİöşü"),
            ("vi", "ếạựờ"),
        ],
    )
    def test_have_all_their_letters_in_the_weights(self, code, letters):
        weights = files("rapidocr") / "models" / "PP-OCRv6_rec_small.onnx"
        metadata = onnxruntime.InferenceSession(str(weights)).get_modelmeta()

        characters = set(metadata.custom_metadata_map["character"].splitlines())

        assert (set(letters) <= characters) == (code in ocr.RAPIDOCR_LANGUAGES)


class TestAnImage:
    def test_is_a_page_with_its_text(self, scan):
        stream = io.BytesIO()
        HERON.save(stream, "PNG")
        scan.write_bytes(stream.getvalue())

        [page] = parse_file(scan, file_name="heron.png").pages

        assert "Kingfishers dive" in page.text
        assert len(page.ocr_lines) == 4


@pytest.mark.django_db
class TestTheService:
    def test_finds_a_page_of_a_scan(self, build, store, django_capture_on_commit_callbacks):
        content = save_incoming_file("birds.pdf", [make_scan(HERON, EGRET)])
        artifact, _ = add_artifact("plain", content)
        with django_capture_on_commit_callbacks(execute=True):
            parsed = parse_artifact(artifact.pk)
        sync(build, parsed)

        answer = client_with_key().post(
            "/api/v1/search/pages", {"index": "plain", "query": "egrets"}, "json"
        )

        [hit] = [hit for hit in answer.json()["hits"] if "Egrets" in hit["text"]]
        assert hit["page"]["index"] == 1
        assert (parsed.pages_read, parsed.page_count) == (2, 2)
        at = f"/api/v1/artifacts/{parsed.pk}/pages/1/boxes"
        marked = client_with_key().get(at, {"start": 0, "end": len("Egrets")}).json()
        assert marked["are_whole_lines"]
        assert len(marked["boxes"]) == 1
        assert not get_recognised_pages_path(parsed).exists()


def kill_reader_after_a_page(pages: Path) -> None:
    while not pages.exists() or not pages.read_text().strip():
        pass
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_child = f"PPid:\t{os.getpid()}\n" in (process / "status").read_text()
            is_reader = b"documents.parsing.child_process" in (process / "cmdline").read_bytes()
        except OSError:  # it has just ended
            continue
        if is_child and is_reader:
            os.kill(int(process.name), signal.SIGKILL)
