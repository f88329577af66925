"""Messages of Outlook, which the tests write with the library that reads them."""

from datetime import UTC, datetime

import pytest
from aspose.email_foss.msg import CommonMessagePropertyId, PropertyTypeCode

from tests.documents.parsing.makers import make_msg


class TestRead:
    def test_reads_people_date_subject_and_body(self, parse):
        message = make_msg("Grüße", "Käse.\r\nZwei.", attachments=[("n.txt", b"words")])
        message.set_property(0x0039, PropertyTypeCode.PTYP_TIME, datetime(2024, 5, 1, tzinfo=UTC))

        document = parse(message.to_bytes(), "a.msg")

        assert document.media_type == "application/vnd.ms-outlook"
        assert document.title == "Grüße"
        assert [page.text for page in document.pages] == [
            "Subject: Grüße\nFrom: Ann <ann@x.org>\nTo: Bob Müller <bob@x.org>\n"
            "Date: Wed, 01 May 2024 00:00:00 +0000\nAttachments: n.txt\n\nKäse.\nZwei."
        ]

    def test_reads_a_body_of_html_in_another_encoding(self, parse):
        message = make_msg(body="")
        html = "<p>Größe und Käse, über alles.<p>Zwei".encode("iso-8859-1")
        message.set_property(
            CommonMessagePropertyId.BODY_HTML, PropertyTypeCode.PTYP_BINARY, html + b"\0"
        )

        [page] = parse(message.to_bytes(), "a.msg").pages

        assert page.text.endswith("\n\nGröße und Käse, über alles.\n\nZwei")

    def test_reads_text_in_the_code_page_of_the_message(self, parse):
        message = make_msg("", "", unicode_strings=False)
        for name, text in (("SUBJECT", "Привет"), ("BODY", "Цапля стоит у воды.")):
            message.set_property(
                CommonMessagePropertyId[name], PropertyTypeCode.PTYP_STRING8, text.encode("cp1251")
            )
        message.set_property(0x3FFD, PropertyTypeCode.PTYP_INTEGER32, 1251)

        [page] = parse(message.to_bytes(), "a.msg").pages

        assert page.text.startswith("Subject: Привет\n")
        assert page.text.endswith("Цапля стоит у воды.")

    def test_warns_of_a_text_that_is_only_compressed_rtf(self, parse):
        message = make_msg(body="")
        message.set_property(0x1009, PropertyTypeCode.PTYP_BINARY, b"LZFu")

        document = parse(message.to_bytes(), "a.msg")

        assert [warning.code for warning in document.warnings] == ["unread_body"]

    def test_is_recognised_by_its_content(self, parse, refusal):
        content = make_msg().to_bytes()

        assert parse(content, "a.tmp").title == "Plans"
        assert refusal(content, "a.txt") == "wrong_format"
        assert refusal(b"words", "a.msg") == "wrong_format"

    @pytest.mark.parametrize("length", [9, 1_000, 4_000])
    def test_refuses_a_damaged_file(self, refusal, length):
        content = make_msg(body="Herons wait. " * 900).to_bytes()

        assert refusal(content[:length], "a.msg") in {"wrong_format", "damaged_file"}
