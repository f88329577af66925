import pytest

from core.exceptions import InvalidInput
from retrieval.search.query_syntax import Conditions, compare_words, read_conditions, read_query


def read(query):
    """Read a query to an index with the fields board and year."""

    def read_field(name, value):
        if name == "year" and not value.isdigit():
            raise InvalidInput("The value must be a whole number.", field=name)
        if name == "depth":
            bounds = {">=": "gte", ">": "gt", "<": "lt"}
            sign = value.rstrip("-0123456789")
            return name, {bounds[sign]: value.removeprefix(sign)} if sign else value
        if name not in {"board", "year"}:
            raise LookupError(name)
        return name, value

    return read_query(query, read_field, ["board", "year"])


def required(query):
    return [[" ".join(words) for words in each] for each in read(query).typed]


def excluded(query):
    return [" ".join(words) for words in read(query).conditions.excluded]


@pytest.mark.parametrize(
    "query",
    [
        "What's the state-of-the-art of tide gauges?",
        "write to harbour@example.org",
        "https://example.org/tides?day=2#noon",
        "the boat at 10:30",
        "Re: moorings",
        "Re: „unterwegs",
        "C++ or C#",
        "AT&T Park",
        "git log --oneline",
        "rock 'n' roll, don’t ‘stop’",
        "north - south",
        "std::vector",
        'plates of 5" by 6"',
        "+47 22 00 11 22",
        "grep -r moorings",
        "Ein- und -ausgang",
        "pre-, mid- and -post",
        "el informe -de 2020- dice",
        "-moorings\n-buoys",
        "OR gates",
        "gates OR",
        "-5 degrees",
        "−5 degrees",
        '"',
        '""',
        "north – south",
        "– winch",
        "a pier –the old one– of stone",
    ],
)
def test_what_people_do_not_mean_as_syntax_is_text(query):
    found = read(query)

    assert found.text == query
    assert not found.all_conditions
    assert not found.filter


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        ('"north quay" crane', "north quay crane", [["north quay"]]),
        ("“north quay”, crane", "north quay , crane", [["north quay"]]),
        ("„Nordkai“ Kran", "Nordkai Kran", [["nordkai"]]),
        ("« quai nord »", "quai nord", [["quai nord"]]),
        ("»Nordkai« Kran", "Nordkai Kran", [["nordkai"]]),
        ("‹quai nord›", "quai nord", [["quai nord"]]),
        ("›Nordkai‹ Kran", "Nordkai Kran", [["nordkai"]]),
        ("″north quay″ crane", "north quay crane", [["north quay"]]),
        ("＋crane lift", "crane lift", [["crane"]]),
        ("「北岸壁」 crane", "北岸壁 crane", [["北 岸 壁"]]),
        ('"AT&T" merger', "AT&T merger", [["at t"]]),
        ('"C++"', "C++", [["cplusplus"]]),
        ("+crane lift", "crane lift", [["crane"]]),
        ('+"north quay"', "north quay", [["north quay"]]),
        ("crane OR ferry", "crane ferry", [["crane", "ferry"]]),
        (
            'crane OR "last ferry" OR boat',
            "crane last ferry boat",
            [["crane", "last ferry", "boat"]],
        ),
        ('she said: "no"', "she said: no", [["no"]]),
    ],
)
def test_what_a_passage_must_have_is_searched_too(query, text, words):
    assert (read(query).text, required(query)) == (text, words)


@pytest.mark.parametrize(
    ("query", "text", "words"),
    [
        ("crane -ferry", "crane", ["ferry"]),
        ("-ferry crane", "crane", ["ferry"]),
        ("crane −ferry", "crane", ["ferry"]),
        ("crane －ferry", "crane", ["ferry"]),
        ("crane –ferry", "crane", ["ferry"]),
        ('crane -"last ferry" -boat', "crane", ["last ferry", "boat"]),
        ("crane -„letzte Fähre“", "crane", ["letzte fahre"]),
        ("crane -roll-on", "crane", ["roll on"]),
        ("crane, -Fähre.", "crane,", ["fahre"]),
    ],
)
def test_what_a_passage_must_not_have_is_not_searched(query, text, words):
    assert (read(query).text, excluded(query)) == (text, words)


@pytest.mark.parametrize(
    ("query", "text", "filter"),
    [
        ("board:harbour crane", "crane", [{"board": ["harbour"]}]),
        ('board:"harbour and works" crane', "crane", [{"board": ["harbour and works"]}]),
        ("crane year:2019?", "crane", [{"year": ["2019"]}]),
        ("board:harbour OR board:works crane", "crane", [{"board": ["harbour", "works"]}]),
        ("crane -board:works", "crane", [{"not": {"board": ["works"]}}]),
        ("board:harbour", "harbour", [{"board": ["harbour"]}]),
        ("depth:-5 crane", "crane", [{"depth": ["-5"]}]),
        ("crane depth:>=3 depth:<9", "crane", [{"depth": {"gte": "3"}}, {"depth": {"lt": "9"}}]),
        ("crane -depth:>3", "crane", [{"not": {"depth": {"gt": "3"}}}]),
    ],
)
def test_the_value_of_a_declared_field_is_a_filter(query, text, filter):
    found = read(query)

    assert (found.text, found.filter) == (text, {"all_of": filter})
    assert not found.notes


@pytest.mark.parametrize("query", ["-moorings", '-"to be or not to be"', "-buoys, -moorings"])
def test_what_is_only_left_out_is_left_out(query):
    found = read(query)

    assert found.conditions.excluded
    assert ["order of the hits has no meaning" in note for note in found.notes] == [True]


def test_a_question_keeps_its_quotation_marks():
    found = read('papers on +"life since 2019" -acl OR talks')

    assert found.text == "papers on life since 2019 talks"
    assert found.question == 'papers on "life since 2019" talks'


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("-5 degrees", "“-5” was read as text"),
        ('a lone " mark', "it has no partner"),
        ("author:smith crane", "the fields are board, year"),
        ("year:old crane", "The value must be a whole number."),
        ("year:[2023 crane", "The value must be a whole number."),
        ("board: harbour crane", "a space follows it"),
        ("Ein- und -ausgang", "the end of a word"),
        ("OR gates", "“OR” was read as text"),
        ("board:harbour OR crane", "“OR” was read as text"),
        ("-moorings", "Only words to leave out"),
        (" ".join(f"-word{n}x" for n in range(60)) + " crane", "More than 50 signs"),
    ],
)
def test_a_note_says_which_sign_was_taken_as_text(query, note):
    [found] = read(query).notes

    assert note in found


def test_many_signs_that_are_text_have_few_notes():
    notes = read(" ".join(f"-{n} degrees" for n in range(20))).notes

    assert len(notes) == 3
    assert notes[-1] == "18 more signs are text, too."


def test_signs_of_a_pasted_text_are_text():
    query = 'File "/srv/tides.py", line 7 -jar board:harbour\n' * 30
    found = read(query)

    assert (found.text, found.all_conditions, found.filter) == (query, Conditions(), {})
    assert found.notes == ("Signs of syntax are text in a query of 1,000 characters or more.",)


@pytest.mark.parametrize(
    "query", ["Re: moorings", "the boat at 10:30", "C:\\boats", "crane -ferry"]
)
def test_there_is_no_note_where_nobody_meant_a_field(query):
    assert not read(query).notes


class TestConditions:
    @pytest.mark.parametrize(
        "text",
        [
            "The water hydrology of the bay.",
            "WATER\n hydrology",
            "water-hydrology, water / hydrology",
            "wa\u00adter hydro\u00adlogy",
            "“Water”, hydrology²",
        ],
    )
    def test_a_phrase_is_found_however_it_is_written(self, text):
        assert read_conditions(phrases=["Water  Hydrology!"]).hold(text)

    @pytest.mark.parametrize(
        "text", ["hydrology of water", "water and hydrology", "waters hydrology", "", "water"]
    )
    def test_a_phrase_is_whole_words_in_their_order(self, text):
        assert not read_conditions(phrases=["water hydrology"]).hold(text)

    def test_accents_do_not_matter(self):
        assert read_conditions(phrases=["Mole a Ostende"]).hold("le môle à Ostende")
        assert read_conditions(must=["STRASSE"]).hold("die Straße")

    def test_a_phrase_is_found_within_a_text_without_spaces(self):
        assert read_conditions(phrases=["岸壁"]).hold("北岸壁のクレーン")

    def test_words_of_one_text_may_stand_anywhere(self):
        assert read_conditions(must=["hydrology water"]).hold("water, and hydrology")

    def test_one_alternative_is_enough(self):
        either = Conditions(((("crane",), ("last", "ferry")),))

        assert either.hold("the last ferry")
        assert either.hold("a crane")
        assert not either.hold("the ferry")

    def test_an_excluded_word_or_phrase_is_nowhere(self):
        without = read_conditions(must_not=["salary", "last ferry"])

        assert without.hold("the ferry, at last")
        assert not without.hold("Salary statement")
        assert not without.hold("The last-ferry bell")

    def test_c_plus_plus_is_not_c(self):
        assert compare_words("C++") != compare_words("C") != compare_words("C#")
        assert compare_words("C#") == compare_words("c sharp")

    @pytest.mark.parametrize("name", ["must", "must_not", "phrases"])
    @pytest.mark.parametrize("texts", [["crane", "…"], ["x" * 501], ["crane"] * 51])
    def test_a_text_without_words_or_too_much_of_it_is_refused(self, name, texts):
        with pytest.raises(InvalidInput) as refused:
            read_conditions(**{name: texts})

        assert refused.value.field == name
