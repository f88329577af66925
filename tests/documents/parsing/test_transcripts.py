"""Subtitles, transcripts and calendars."""

import pytest

VTT = """WEBVTT
Kind: captions

NOTE made by hand

STYLE
::cue { color: red }

1
00:01.000 --> 00:04.000 align:start
<v Maria Holm>The crane is <b>repaired</b>

2
00:04.000 --> 00:07.500
<v Maria Holm>on Friday &amp; tested.

00:08.000 --> 00:11.000
<v.loud Jan Ekvall>So the ferry docks.</v>
"""


class TestTranscripts:
    def test_are_what_each_person_says(self, parse):
        [page] = parse(VTT, "a.vtt").pages

        assert page.text == (
            "Maria Holm: The crane is repaired on Friday & tested.\n\n"
            "Jan Ekvall: So the ferry docks."
        )
        assert page.label == "0:00:01"

    def test_of_srt_have_no_markup(self, parse):
        content = (
            "1\r\n00:00:01,000 --> 00:00:04,000\r\n{\\an8}<i>The crane</i>\r\nis repaired\r\n\r\n"
            "2\r\n00:00:04,000 --> 00:00:07,500\r\nby 9 < 10.\r\n\r\n"
            "3\r\n00:00:20,000 --> 00:00:22,000\r\nLater: the ferry.\r\n"
        )

        [page] = parse(content, "a.srt").pages

        assert page.text == "The crane is repaired by 9 < 10.\n\nLater: the ferry."

    def test_say_once_what_is_shown_twice(self, parse):
        content = (
            "WEBVTT\n\n00:01.000 --> 00:02.000\nthe crane<00:01.500><c> is</c>\n\n"
            "00:02.000 --> 00:03.000\nthe crane is\nrepaired\n\n00:03.000 --> 00:04.000\nrepaired\n"
        )

        assert parse(content, "a.vtt").pages[0].text == "the crane is repaired"

    def test_have_a_page_for_five_minutes(self, parse):
        cues = [
            f"{at // 3600:02}:{at // 60 % 60:02}:{at % 60:02}.000 --> 01:59:59.000\nSentence {at}."
            for at in range(0, 4000, 100)
        ]

        pages = parse("WEBVTT\n\n" + "\n\n".join(cues), "a.vtt").pages

        assert [page.label for page in pages[:2]] == ["0:00:00", "0:05:00"]
        assert pages[-1].label == "1:05:00"
        assert all(page.text.startswith("Sentence") for page in pages)

    @pytest.mark.parametrize("name", ["a.vtt", "a.srt"])
    def test_are_recognised(self, refusal, name):
        assert refusal("Just a text.", name) == "wrong_format"


class TestCalendars:
    def test_have_a_page_for_each_event(self, parse):
        content = (
            "BEGIN:VCALENDAR\r\nX-WR-CALNAME:Harbour\r\nBEGIN:VEVENT\r\n"
            "DTSTART;TZID=Europe/Stockholm:20260306T090000\r\nDTEND:20260306T110000Z\r\n"
            "SUMMARY:Repair of the\r\n  crane\\, north\r\nLOCATION:North quay\r\n"
            'ATTENDEE;CN="Holm, Maria":mailto:maria@example.org\r\n'
            "ATTENDEE:mailto:jan@example.org\r\n"
            "DESCRIPTION:Bring <b>tools</b>.<br>Shut\\; closed.\r\n"
            "BEGIN:VALARM\r\nDESCRIPTION:Beep\r\nEND:VALARM\r\nEND:VEVENT\r\n"
            "BEGIN:VTODO\r\nSUMMARY:Order rope\r\nDUE;VALUE=DATE:20260401\r\nEND:VTODO\r\n"
            "END:VCALENDAR\r\n"
        )

        document = parse(content, "a.ics")

        assert document.title == "Harbour"
        assert [page.label for page in document.pages] == [
            "Repair of the crane, north",
            "Order rope",
        ]
        assert document.pages[0].text == (
            "# Repair of the crane, north\n\nStart: 2026-03-06 09:00 (Europe/Stockholm)\n"
            "End: 2026-03-06 11:00 (UTC)\nPlace: North quay\n"
            "Attendees: Holm, Maria <maria@example.org>, jan@example.org\n\n"
            "Bring tools.\nShut; closed."
        )
        assert document.pages[1].text == "# Order rope\n\nDue: 2026-04-01"

    def test_are_recognised(self, refusal):
        assert refusal("Just a text.", "a.ics") == "wrong_format"
