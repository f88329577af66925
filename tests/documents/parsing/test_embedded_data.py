"""Pictures and other data that are written into texts, and errors of notebooks."""

import base64
import json
import random

import pytest

PICTURE = base64.b64encode(random.Random(1).randbytes(3_000)).decode()


class TestMarkdown:
    def test_keeps_the_text_in_place_of_a_picture(self, parse):
        content = (
            f"# Lamp\n\n![wiring](data:image/png;base64,{PICTURE})\n\n![][image1]\n\n"
            f"<img alt='fuse' src='data:image/png;base64,{PICTURE}'>\n\nThe end.\n\n"
            f"[image1]: <data:image/png;base64,{PICTURE}>\n[a page]: https://a.example\n"
        )

        [page] = parse(content, "a.md").pages

        assert page.text.split("\n\n") == [
            "# Lamp", "![wiring](data:image/png)", "![][image1]",
            "<img alt='fuse' src='data:image/png'>", "The end.", "[a page]: https://a.example\n",
        ]  # fmt: skip

    def test_keeps_short_addresses_of_data(self, parse):
        content = "Write `data:text/plain,hello` for data: the text."

        assert parse(content, "a.md").pages[0].text == content


class TestJson:
    def test_names_the_place_of_data(self, parse):
        lines = "\n".join(PICTURE[at : at + 76] for at in range(0, len(PICTURE), 76))
        content = {"photo": PICTURE, "scans": [lines], "icon": f"data:image/png;base64,{PICTURE}"}

        [page] = parse(json.dumps({**content, "note": "Rated 10 A"}), "a.json").pages

        assert page.text == (
            "photo: (data in base64)\nscans[0]: (data in base64)\nicon: data:image/png\n"
            "note: Rated 10 A"
        )

    @pytest.mark.parametrize(
        "value",
        ["ACGT" * 100, "a1B2" * 20, "The 3 Ships " * 40 + ".", "x" * 500, "0123456789ABCDEF" * 30],
    )
    def test_keeps_other_long_values(self, parse, value):
        assert parse(json.dumps({"a": value}), "a.json").pages[0].text == f"a: {value}"


class TestNotebooks:
    def test_have_their_errors_without_codes_for_terminals(self, parse):
        errors = [
            {"ename": "ValueError", "evalue": "bad tide", "traceback": ["\x1b[31mLine 1\x1b[0m"]},
            {"ename": "KeyError", "evalue": "'x'", "traceback": ["\x1b[0;31mKeyError\x1b[0m: 'x'"]},
        ]
        cells = [
            {"cell_type": "code", "source": "f()", "outputs": [{"output_type": "error", **error}]}
            for error in errors
        ]
        picture = {"output_type": "display_data", "data": {"image/png": PICTURE}}
        cells.append({"cell_type": "code", "source": "g()", "outputs": [picture]})

        [page] = parse(json.dumps({"cells": cells, "nbformat": 4}), "a.ipynb").pages

        assert page.text == (
            "```\nf()\n```\n\n```\nLine 1\nValueError: bad tide\n```\n\n"
            "```\nf()\n```\n\n```\nKeyError: 'x'\n```\n\n```\ng()\n```"
        )
