import pytest

from text.plain_spelling import spell_plainly
from text.words import fold_words


class TestSpellPlainly:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("10⁶ events", "10 6 events"),
            ("10⁻³ of it", "10 −3 of it"),
            ("Revenue was 451² million", "Revenue was 451 2 million"),
            ("Revenue¹ of 2025¹", "Revenue 1 of 2025 1"),
            ("12 m², 3 km² of CO₂ and x⁶", "12 m², 3 km² of CO₂ and x⁶"),
            ("The ﬁre ofﬁce", "The fire office"),
            ("Ｒｅｐｏｒｔ １２３", "Report 123"),
            ("ｺﾝﾋﾟｭｰﾀ", "コンピュータ"),
            ("\ufefc \ufe8d", "لا ا"),
            ("Kün\u00addigungs\u00adfrist", "Kündigungsfrist"),
            ("ไทย\u200bภาษา", "ไทย ภาษา"),
            ("\u200fשלום\u200f", "שלום"),
            ("می\u200cخواهم", "می\u200cخواهم"),
            ("½ of № 7", "½ of № 7"),
        ],
        ids=ascii,
    )
    def test_writes_words_as_they_are_searched(self, text, words):
        assert spell_plainly(text).split() == words.split()


class TestFoldWords:
    def test_keeps_a_raised_number_apart_from_another_number(self):
        assert fold_words("10⁶ 451² H₂O m²") == ("10", "6", "451", "2", "h2o", "m2")
