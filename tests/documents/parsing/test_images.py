"""Images, which only some callers accept."""

import io
import struct
import zlib
from dataclasses import replace

import pytest
from PIL import Image

from documents.exceptions import Unparsable
from documents.parsing import ocr, parse_file
from documents.parsing.image import MAX_PIXELS
from tests.documents.parsing.conftest import LIMITS
from tests.pictures import draw


@pytest.fixture
def parse(tmp_path):
    def parse(content, file_name, *, takes_images=True):
        path = tmp_path / "original"
        path.write_bytes(content)
        return parse_file(path, file_name=file_name, takes_images=takes_images, limits=LIMITS)

    return parse


def png_of(width, height):
    """A PNG whose header declares this size; it has no pixels."""

    def chunk(name, content):
        checksum = zlib.crc32(name + content)
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", checksum)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


def animation():
    frames = [Image.new("RGB", (4, 4), colour) for colour in ("red", "blue")]
    content = io.BytesIO()
    frames[0].save(content, "GIF", save_all=True, append_images=frames[1:])
    return content.getvalue()


class TestImage:
    @pytest.mark.parametrize(
        ("content", "file_name", "media_type"),
        [
            (draw(), "a.png", "image/png"),
            (draw(size=(1, 1)), "a.png", "image/png"),
            (draw(mode="I;16", colour=40_000), "a.png", "image/png"),
            (draw(mode="P", colour=0, transparency=b"\x00"), "a.png", "image/png"),
            (draw(format="JPEG"), "a.JPG", "image/jpeg"),
            (draw((0, 255, 255, 0), mode="CMYK", format="JPEG"), "a.jpeg", "image/jpeg"),
            (draw(format="WEBP"), "a.webp", "image/webp"),
            (animation(), "a.gif", "image/gif"),
            (draw(format="JPEG"), "a.png", "image/jpeg"),  # by its content
            (draw(), "a", "image/png"),
            (draw(), "a.picture", "image/png"),
        ],
    )
    def test_is_a_page_without_text(self, parse, content, file_name, media_type):
        document = parse(content, file_name)

        assert [page.text for page in document.pages] == [""]
        assert document.media_type == media_type
        assert document.warnings == ()

    @pytest.mark.parametrize(
        ("content", "file_name", "code"),
        [
            (draw(size=(600, 600))[:400], "a.png", "damaged_file"),
            (draw(format="JPEG", size=(600, 600))[:700], "a.jpg", "damaged_file"),
            (b"\x89PNG\r\n\x1a\n", "a.png", "damaged_file"),
            (b"", "a.png", "empty_file"),
            (b"no picture", "a.png", "wrong_format"),
            (draw(), "a.pdf", "wrong_format"),
            (draw(), "a.txt", "wrong_format"),
            (draw(format="PPM"), "a.ppm", "unsupported_format"),
            (png_of(MAX_PIXELS + 1, 1), "a.png", "too_many_pixels"),
            (png_of(60_000, 60_000), "a.png", "too_many_pixels"),
        ],
    )
    def test_refuses_incomplete_images(self, parse, content, file_name, code):
        with pytest.raises(Unparsable) as refusal:
            parse(content, file_name)

        assert refusal.value.code == code
        assert refusal.value.detail.endswith(".")

    def test_is_refused_with_the_limit_if_it_has_too_many_pixels(self, parse):
        with pytest.raises(Unparsable, match="more than 50,000,000 pixels"):
            parse(png_of(60_000, 60_000), "a.png")

    def test_suffixes_are_named_if_images_are_accepted(self, parse):
        with pytest.raises(Unparsable) as refusal:
            parse(b"?", "a.ppm")

        assert ".png" in refusal.value.fix

    @pytest.mark.parametrize(
        ("file_name", "code"),
        [("a.png", "unsupported_format"), ("a.md", "wrong_format"), ("a", "wrong_format")],
    )
    def test_is_refused_unless_images_are_accepted(self, parse, file_name, code):
        with pytest.raises(Unparsable) as refusal:
            parse(draw(), file_name, takes_images=False)

        assert refusal.value.code == code
        assert ".png," not in (refusal.value.fix or "")

    def test_acceptance_does_not_affect_other_formats(self, parse):
        assert parse(b"Herons wait.", "a.txt").pages[0].text == "Herons wait."


def scan(page_count=1, size=(400, 300), format="TIFF", **options):
    pages = [Image.new("1", size, 1) for _ in range(page_count)]
    content = io.BytesIO()
    more = {"save_all": True, "append_images": pages[1:]} if page_count > 1 else {}
    pages[0].save(content, format, **more, **options)
    return content.getvalue()


class TestScans:
    @pytest.mark.parametrize("takes_images", [True, False])
    @pytest.mark.parametrize("compression", ["group4", "tiff_lzw", None])
    def test_of_several_pages_have_each(self, parse, takes_images, compression):
        content = scan(3, compression=compression)

        document = parse(content, "fax.tiff", takes_images=takes_images)

        assert document.media_type == "image/tiff"
        assert len(document.pages) == 3

    @pytest.mark.skipif(ocr.is_installed(), reason="OCR is installed")
    @pytest.mark.parametrize(("format", "name"), [("TIFF", "a.tif"), ("BMP", "a.bmp")])
    def test_warn_where_their_text_is_not_read(self, parse, format, name):
        document = parse(scan(format=format), name, takes_images=False)

        assert [warning.code for warning in document.warnings] == ["scanned_page"]

    def test_are_recognised_by_their_content(self, parse):
        assert parse(scan(format="BMP"), "a.tiff").media_type == "image/bmp"
        document = parse(b"BM stands for bending moment; the text is plain.", "a.txt")
        assert document.media_type == "text/plain"

    def test_of_too_many_pixels_are_refused(self, parse):
        side = int(MAX_PIXELS**0.5) + 100
        with pytest.raises(Unparsable) as refused:
            parse(scan(size=(side, side), compression="group4"), "a.tiff")

        assert refused.value.code == "too_many_pixels"

    def test_of_too_many_pages_are_refused(self, parse, tmp_path):
        path = tmp_path / "scan"
        path.write_bytes(scan(4, size=(8, 8)))
        with pytest.raises(Unparsable) as refused:
            parse_file(path, file_name="a.tiff", limits=replace(LIMITS, max_pages=3))

        assert refused.value.code == "too_many_pages"
