import pytest

from tests.indexing.chunking.fakes import cut
from tests.indexing.chunking.soundness import assert_sound, graphemes_cut
from text.sentences import find_sentences


def sentences(text):
    """The texts of the sentences that are found."""
    return [text[sentence.start : sentence.end] for sentence in find_sentences(text)]


class TestSentenceBoundaries:
    @pytest.mark.parametrize(
        "text",
        [
            "Drugs, e.g. Aspirin, help.",
            "Dr. Smith and Prof. Jones met Mrs. May.",
            "As Fig. 3 and Eq. 4 show, it grows.",
            "Pi is 3.14 and so on.",
            "J. R. R. Tolkien wrote it.",
            "Jeffrey P. Bezos founded it.",
            "Smith et al. 2010 found it.",
            "In the U.S. Senate they met.",
            "See No. 5 and p. 12 of vol. 2 for it.",
            "1. First point",
            "He waited… and went home! he thought.",
            "wrapped by the\npage at its margin",
            "３．１４ is wide",
        ],
    )
    def test_are_not_found_in(self, text):
        assert sentences(text) == [text]

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("One. Two! Three? Four", ["One.", "Two!", "Three?", "Four"]),
            ('He said "no." Then left.', ['He said "no."', "Then left."]),
            ("It was hepatitis C. We treated it.", ["It was hepatitis C.", "We treated it."]),
            ("It binds. p53 does not.", ["It binds.", "p53 does not."]),
            ("No. That is wrong.", ["No.", "That is wrong."]),
            ("今天很好。明天呢？“后天！”再见", ["今天很好。", "明天呢？", "“后天！”", "再见"]),
            ("यह एक है। वह दो है।", ["यह एक है।", "वह दो है।"]),
            ("هل هذا صحيح؟ نعم هو.", ["هل هذا صحيح؟", "نعم هو."]),
            ("สวัสดีครับ วันนี้ดีมาก", ["สวัสดีครับ", "วันนี้ดีมาก"]),
            ("# head\nbody text", ["# head", "body text"]),
            ("list:\n- one\n- two\n* three", ["list:", "- one", "- two", "* three"]),
            ("a) one\nb) two", ["a) one", "b) two"]),
            ("above\n\nbelow", ["above", "below"]),
            ("above\r\n \r\nbelow", ["above", "below"]),
            ("Line\r\nLine\u2028Line", ["Line", "Line", "Line"]),
            ("met Dr.\nSmith there", ["met Dr.\nSmith there"]),
        ],
    )
    def test_are_found_after(self, text, expected):
        assert sentences(text) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "Erste Zeile.\r\nZweite Zeile\r\n" * 100,
            "هذا نص عربي طويل، يمتد إلى أسطر كثيرة. هل هو واضح؟ نعم. " * 40,
            "人工智能正在改变世界。它的影响很大，但也有风险！我们应该怎么办？" * 40,
            "ภาษาไทยไม่มีจุดจบประโยค จึงเว้นวรรคระหว่างวลี " * 40,
            "यह हिन्दी का एक वाक्य है। और यह दूसरा है। " * 40,
        ],
    )
    def test_cuts_other_scripts_at_their_boundaries(self, text):
        chunks = cut(text)

        assert_sound(text, chunks)
        assert not graphemes_cut(text, chunks)
        assert all(len(chunk.text) <= 500 for chunk in chunks)
        whole = set(sentences(text))
        assert all(set(sentences(chunk.text)) <= whole for chunk in chunks)
