import pytest

from answers.abbreviations import find_definitions


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "We compare neural machine translation (NMT) with phrases.",
            [("NMT", "neural machine translation")],
        ),
        ("NMT (neural machine translation) is new.", [("NMT", "neural machine translation")]),
        (
            "Convolutional neural networks (CNNs) are common.",
            [("CNN", "Convolutional neural networks")],
        ),
        (
            "Named entity recognition (NER; see below) is hard.",
            [("NER", "Named entity recognition")],
        ),
        ("An anterior cruciate ligament (ACL) tear.", [("ACL", "anterior cruciate ligament")]),
        ("It was first shown at a conference (ACL).", []),
        ("We read the data (see Table 2) and the code (online).", []),
        ("Translation (NMT)", []),
        ("(NMT) begins a text.", []),
        (
            "Das Bundesamt für Verfassungsschutz (BfV) berichtet.",
            [("BfV", "Bundesamt für Verfassungsschutz")],
        ),
        ("", []),
    ],
)
def test_definitions_are_found_by_the_letters_of_the_long_form(text, expected):
    assert list(find_definitions(text)) == expected
