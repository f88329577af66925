"""Pictures of text in scripts that RapidOCR's weights lack, as Tesseract reads them; each test is
skipped where its language or a font with its letters is not installed."""

from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from documents.exceptions import Unparsable
from documents.parsing import close_child_processes, find_line_boxes, ocr, parse_file
from tests.ocr.conftest import HERON, make_scan

FONTS = Path("/usr/share/fonts/truetype")
DEJAVU = "dejavu/DejaVuSans.ttf"
TEXTS = {
    "ru": (DEJAVU, "Цапли стоят в камышах\nи ждут часами.\nЗимородки ныряют сразу."),
    "el": (DEJAVU, "Ο ερωδιός στέκεται ακίνητος\nστα καλάμια της λίμνης."),
    "ar": (DEJAVU, "يقف البلشون بين القصب\nوينتظر ساعات طويلة"),
    "ko": ("nanum/NanumGothic.ttf", "왜가리는 갈대밭에서\n몇 시간이고 기다립니다."),
    "hi": ("lohit-devanagari/Lohit-Devanagari.ttf", "बगुला नदी के किनारे\nघंटों तक प्रतीक्षा करता है।"),
}


@pytest.fixture
def picture(tmp_path):
    yield tmp_path / "picture.png"
    close_child_processes()


def draw(language: str) -> Image.Image:
    if missing := ocr.list_missing([language]):
        pytest.skip(f"Missing: {' and '.join(missing)}")
    font, text = TEXTS[language]
    if not (FONTS / font).exists():
        pytest.skip(f"There is no font {font}.")
    drawn = Image.new("RGB", (1200, 500), "white")
    ImageDraw.Draw(drawn).multiline_text(
        (60, 80), text, fill="black", font=ImageFont.truetype(FONTS / font, 40), spacing=16
    )
    return drawn


def read(path: Path, *languages: str, name: str = "picture.png"):
    [page] = parse_file(path, file_name=name, ocr_languages=languages).pages
    return page


class TestEachLanguage:
    @pytest.mark.parametrize("language", TEXTS)
    def test_is_read_line_by_line(self, picture, language):
        draw(language).save(picture)
        text = TEXTS[language][1]

        page = read(picture, language)

        assert page.text == text
        assert len(page.ocr_lines) == text.count("\n") + 1
        [(left, top, right, bottom)] = find_line_boxes(text, page.ocr_lines, 0, 3)
        assert left == pytest.approx(60 / 1200, abs=0.02)
        assert top < 100 / 500 < bottom < 140 / 500
        assert right < 0.6
        assert all(confidence > 0.5 for confidence, *_ in page.ocr_lines)

    def test_is_read_beside_english(self, picture):
        drawn = draw("ru")
        drawn.paste(HERON.crop((0, 0, 600, 200)), (60, 280))
        drawn.save(picture)

        page = read(picture, "ru", "en")

        assert page.text == f"{TEXTS['ru'][1]}\n\nHerons wait\nfor hours."

    def test_is_read_in_a_scan(self, picture):
        picture.write_bytes(make_scan(draw("ru")))

        page = read(picture, "ru", name="scan.pdf")

        assert page.text == TEXTS["ru"][1]

    def test_leaves_rapidocr_as_it_was(self, picture):
        draw("ru").save(picture)
        read(picture, "ru")
        HERON.save(picture)

        page = read(picture, "de")

        assert page.text == "Herons wait\nfor hours.\n\nKingfishers dive\nat once."

    def test_is_not_read_as_noise_where_it_is_not_installed(self, picture, monkeypatch):
        scan = make_scan(draw("ru"))
        close_child_processes()
        monkeypatch.setenv("TESSDATA_PREFIX", str(picture.parent))
        picture.write_bytes(scan)

        document = parse_file(picture, file_name="scan.pdf", ocr_languages=["ru"])

        assert [page.text for page in document.pages] == [""]
        assert {warning.code for warning in document.warnings} == {"scanned_page", "no_text"}


class TestAPicture:
    @pytest.mark.parametrize("degrees", [90, 180, 270, 2])
    def test_that_is_turned_is_read(self, picture, degrees):
        draw("ru").rotate(degrees, expand=True, fillcolor="white").save(picture)

        page = read(picture, "ru")

        lines = [line for line in page.text.split("\n") if line]
        assert sorted(lines) == sorted(TEXTS["ru"][1].split("\n"))

    @pytest.mark.parametrize("size", [(1, 1), (3, 4_000), (4_000, 3), (300, 300)])
    def test_without_text_is_empty(self, picture, size):
        draw("ru")
        Image.new("L", size, 200).save(picture)

        assert read(picture, "ru").text == ""

    def test_that_is_huge_is_read(self, picture):
        draw("ru").resize((7_200, 3_000)).save(picture)

        assert read(picture, "ru").text == TEXTS["ru"][1]

    def test_of_noise_is_no_text(self, picture):
        draw("ru")
        Image.effect_noise((1_000, 1_000), 200).save(picture)

        assert read(picture, "ru").text == ""

    def test_that_is_cut_off_is_refused(self, picture):
        draw("ru").save(picture)
        picture.write_bytes(picture.read_bytes()[:3_000])

        with pytest.raises(Unparsable) as refused:
            read(picture, "ru")
        assert refused.value.code == "damaged_file"
