"""Encodings that a file does not declare."""

import random
import struct

import pytest

SENTENCES = {
    "Turkish": "Türkiye'nin en büyük şehri İstanbul'dur. Şehir, Boğaziçi'nin iki yakasında "
    "kurulmuştur ve güneşli günlerde çok kalabalık olur.",
    "Arabic": "اللغة العربية هي أكثر اللغات السامية تحدثاً وإحدى أكثر اللغات انتشاراً في العالم",
    "Russian": "Москва является столицей России и крупнейшим по численности населения городом.",
    "Hebrew": "ירושלים היא עיר הבירה של מדינת ישראל והעיר הגדולה ביותר בה לפי מספר התושבים",
    "Greek": "Η Αθήνα είναι η πρωτεύουσα της Ελλάδας και η μεγαλύτερη πόλη της χώρας",
    "Polish": "Warszawa jest stolicą Polski. Miasto leży nad Wisłą, a jego mieszkańcy często "
    "chodzą na długie spacery wzdłuż rzeki; żółte łódki płyną.",
    "German": "Die Straße führt über die Brücke zum Schloß, in dem früher Könige lebten "
    "und wo heute ein Museum für schöne Künste ist.",
    "Chinese": "北京是中华人民共和国的首都，也是全国的政治中心和文化中心，拥有三千多年的历史。",
    "Japanese": "東京は日本の首都であり、世界でも有数の大都市です。"
    "多くの人々がここで働き、生活しています。",
    "Korean": "서울은 대한민국의 수도이자 최대 도시이다. 한강을 끼고 있으며 많은 사람이 산다.",
    "Thai": "กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทยและเป็นเมืองที่มีประชากรมากที่สุด",
    "English": "The keeper rises with the kettle and reads the gauge at six.",
}
ENCODINGS = {
    "Turkish": ["cp1254", "iso-8859-9"],
    "Arabic": ["iso-8859-6", "cp1256"],
    "Russian": ["cp1251", "koi8-r", "iso-8859-5", "cp866"],
    "Hebrew": ["cp1255", "iso-8859-8"],
    "Greek": ["cp1253", "iso-8859-7"],
    "Polish": ["cp1250", "iso-8859-2"],
    "German": ["cp1252", "cp850"],
    "Chinese": ["gb18030"],
    "Japanese": ["shift_jis", "euc_jp"],
    "Korean": ["cp949"],
    "Thai": ["cp874"],
}
WIDE = ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]


@pytest.mark.parametrize(
    ("language", "encoding"),
    [(language, each) for language, names in ENCODINGS.items() for each in names],
)
def test_of_one_byte_are_told_apart_by_the_language(parse, language, encoding):
    text = SENTENCES[language].encode(encoding, "ignore").decode(encoding)

    [page] = parse(text, "a.txt", encoding=encoding).pages

    assert page.text == text


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("language", SENTENCES)
def test_of_several_bytes_need_no_mark(parse, language, encoding):
    [page] = parse(SENTENCES[language], "a.txt", encoding=encoding).pages

    assert page.text == SENTENCES[language]


def test_do_not_turn_binary_data_into_text(refusal):
    chance = random.Random(7)
    samples = [
        chance.randbytes(4_000),
        struct.pack("<2000h", *(chance.randrange(-9_000, 9_000) for _ in range(2_000))),
        struct.pack("<1000f", *(chance.gauss(0, 1) for _ in range(1_000))),
        struct.pack("<1000I", *(chance.randrange(2**21) for _ in range(1_000))),
    ]

    assert [refusal(each, "a.txt") for each in samples] == ["binary_file"] * len(samples)
