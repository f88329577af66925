from concurrent.futures import ThreadPoolExecutor

import pytest

from indexing.exceptions import InvalidSpec
from indexing.sparse_vectors import encode_sparse_query
from indexing.spec import LANGUAGES, SparseSpec, parse_spec
from indexing.stores import get_bm25_encoder
from indexing.stores.sparse import TOKENIZERS, Bm25Encoder


class TestBm25Encoder:
    def test_finds_a_document_by_another_form_of_a_word(self):
        encoder = Bm25Encoder(SparseSpec())

        [term] = encoder.encode_query("Runs").indices

        assert term in encoder.encode_document("She was running late.").indices

    def test_returns_each_term_once(self):
        document = Bm25Encoder(SparseSpec()).encode_document("gene genes Gene protein")

        assert len(set(document.indices)) == len(document.indices) == len(document.values) == 2

    def test_gives_query_terms_the_weight_one(self):
        query = Bm25Encoder(SparseSpec()).encode_query("of genes, of proteins")

        assert query.values == [1.0, 1.0]

    def test_agrees_with_the_bm25_formula(self):
        spec = SparseSpec(k=2.0, b=0.5, average_length=4)

        [weight] = Bm25Encoder(spec).encode_document("gene gene").values

        # tf (k + 1) / (tf + k (1 - b + b length / average)), with tf = length = 2
        assert weight == pytest.approx(2 * 3 / (2 + 2 * (1 - 0.5 + 0.5 * 2 / 4)))

    @pytest.mark.parametrize("text", ["", " \n\t", "…!?"])
    def test_has_no_terms_for_punctuation(self, text):
        assert encode_sparse_query(SparseSpec(), text).indices == []

    def test_has_no_terms_for_stop_words_beside_other_words(self):
        bm25 = get_bm25_encoder(SparseSpec())

        assert bm25.find_words("the whales of the sea") == bm25.find_words("whales sea")

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("东京是日本的首都", "首都"),
            ("東京は日本の首都です", "首都"),
            ("กรุงเทพมหานครเป็นเมืองหลวงของประเทศไทย", "ประเทศไทย"),
            ("SACC-111 binds NadD", "SACC-111"),
            ("Ёлка в лесу", "лесу"),
        ],
    )
    def test_finds_words_of_any_script_by_default(self, text, word):
        encoder = Bm25Encoder(SparseSpec())

        terms = set(encoder.encode_query(word).indices)

        assert terms
        assert terms <= set(encoder.encode_document(text).indices)

    @pytest.mark.parametrize(
        ("text", "number"),
        [
            ("Compound SACC-111 binds.", "111"),
            ("Published in 2019, read since.", "2019"),
            ("2019年に発表された。", "2019"),
            ("ปี 2562 นี้", "2562"),
            ("Pi is 3.14 or so.", "14"),
            ("في عام ٢٠١٩", "2019"),
        ],
    )
    def test_finds_whole_numbers_in_any_script_by_default(self, text, number):
        bm25 = get_bm25_encoder(SparseSpec())

        found = set(bm25.encode_document(text).indices)

        assert set(bm25.encode_query(number).indices) & found
        assert not set(bm25.encode_query("112").indices) & found

    @pytest.mark.parametrize("language", [*sorted(LANGUAGES), "none"])
    def test_distinguishes_numbers_in_every_language(self, language):
        bm25 = get_bm25_encoder(SparseSpec(language=language))
        numbers = [str(number) for number in (*range(130), *range(1990, 2030), 1_000_000)]

        terms = [tuple(bm25.encode_query(number).indices) for number in numbers]

        assert all(len(term) == 1 for term in terms)
        assert len(set(terms)) == len(numbers)

    @pytest.mark.parametrize("tokenizer", TOKENIZERS)
    @pytest.mark.parametrize("query", ["FY2018", "capex in FY2018Q1", "WMT2018", "FY18", "FY '18"])
    def test_finds_a_year_that_a_query_writes_after_letters(self, query, tokenizer):
        bm25 = get_bm25_encoder(SparseSpec(tokenizer=tokenizer))

        found = set(bm25.encode_document("Fiscal year 2018 ended.").indices)

        assert set(bm25.encode_query(query).indices) & found

    @pytest.mark.parametrize("tokenizer", ["multilingual", "word"])
    @pytest.mark.parametrize("date", ["12/31/2018", "31.12.2018", "2018-12-31"])
    def test_finds_dates_of_a_fiscal_year(self, date, tokenizer):
        bm25 = get_bm25_encoder(SparseSpec(tokenizer=tokenizer))

        found = set(bm25.encode_document(f"The year ended {date}.").indices)

        assert set(bm25.encode_query("FY18").indices) & found
        [year] = bm25.encode_query("2018").indices
        assert year in bm25.encode_query(date).indices

    @pytest.mark.parametrize("query", ["P02018", "AB20185", "AB1850", "FY182", "XFY18"])
    def test_reads_no_year_in_other_numbers(self, query):
        bm25 = get_bm25_encoder(SparseSpec())

        terms = set(bm25.encode_query(query).indices)

        assert terms <= set(bm25.encode_document(f"It is {query}.").indices)

    @pytest.mark.parametrize("word", ["P00037", "37signals", "a37b"])
    def test_keeps_digits_within_a_word(self, word):
        bm25 = get_bm25_encoder(SparseSpec())

        found = set(bm25.encode_document(f"Marker {word}.").indices)

        assert set(bm25.encode_query(word).indices) <= found
        for part in ("37", "3"):
            assert not set(bm25.encode_query(part).indices) & found

    @pytest.mark.parametrize("tokenizer", ["multilingual", "word"])
    @pytest.mark.parametrize(
        ("text", "query", "is_found"),
        [
            ("The detector counts 10⁶ events.", "10", True),
            ("The detector counts 10⁶ events.", "106", False),
            ("Revenue was 451² million.", "451", True),
            ("Revenue was 451² million.", "4512", False),
            ("The \ufb01re of\ufb01ce is open.", "office", True),
            ("Die Kün\u00addigungs\u00adfrist", "Kündigungsfrist", True),
            ("Die Kündigungsfrist", "Kün\u00addigungs\u00adfrist", True),
            ("Ｒｅｐｏｒｔ １２３", "123", True),
        ],
    )
    def test_reads_words_whatever_characters_spell_them(self, tokenizer, text, query, is_found):
        bm25 = get_bm25_encoder(SparseSpec(tokenizer=tokenizer))

        found = set(bm25.encode_document(text).indices)

        assert bool(set(bm25.encode_query(query).indices) & found) is is_found

    def test_keeps_the_words_of_builds_that_read_characters_as_written(self):
        text = "10⁶ events in Kün\u00addi of 451²"
        old, new = (get_bm25_encoder(SparseSpec(word_rules=rules)) for rules in (1, 2))

        assert sorted(old.encode_document(text).indices) != sorted(
            new.encode_document(text).indices
        )
        assert old.encode_query("PPR-9087").values == [1.0, 1.0]
        assert "word_rules" not in SparseSpec(word_rules=1).describe_terms()

    def test_keeps_stop_words_and_word_forms_without_a_language(self):
        encoder = Bm25Encoder(SparseSpec(language="none"))

        assert len(encoder.find_words("the run running")) == 3

    @pytest.mark.parametrize("tokenizer", TOKENIZERS)
    def test_supports_every_tokenizer(self, tokenizer):
        assert Bm25Encoder(SparseSpec(tokenizer=tokenizer)).encode_query("tokens").indices

    @pytest.mark.parametrize("language", sorted(LANGUAGES))
    def test_supports_every_language(self, language):
        Bm25Encoder(SparseSpec(language=language))

    def test_names_the_available_languages(self):
        with pytest.raises(InvalidSpec, match=r"sparse.language: 'klingon'.*english.*none"):
            parse_spec("notes", "sparse: {language: klingon}")

    def test_is_made_once_for_a_spec(self):
        assert get_bm25_encoder(SparseSpec()) is get_bm25_encoder(SparseSpec())
        assert get_bm25_encoder(SparseSpec()) is not get_bm25_encoder(SparseSpec(language="german"))

    def test_may_be_shared_by_threads(self):
        encoder = Bm25Encoder(SparseSpec())
        texts = [f"document {number} about retrieval" for number in range(200)]

        with ThreadPoolExecutor(4) as threads:
            together = list(threads.map(encoder.encode_document, texts))

        assert together == [encoder.encode_document(text) for text in texts]


def rank(texts, query, **spec):
    """The texts that share terms with the query, best first, each term with the same weight."""
    bm25 = get_bm25_encoder(SparseSpec(**spec))
    asked = bm25.encode_query(query)
    weights = dict(zip(asked.indices, asked.values, strict=True))

    def score(text):
        found = bm25.encode_document(text)
        pairs = zip(found.indices, found.values, strict=True)
        return sum(weights.get(term, 0.0) * value for term, value in pairs)

    return sorted((text for text in texts if score(text) > 0), key=lambda text: -score(text))


class TestOtherSpellings:
    @pytest.mark.parametrize(
        ("text", "queries"),
        [
            ("Valve KX-4410 leaks", ["KX4410", "KX 4410", "kx_4410", "kx 4410", "KX\u20114410"]),
            ("Valve KX4410 leaks", ["KX-4410", "kx 4410"]),
            ("Bolt QT-88/201 fits", ["QT88201", "QT-88201", "qt 88 201"]),
            ("Norm DIN 7500 applies", ["DIN7500", "DIN-7500"]),
            ("A write-off in May", ["writeoff", "write off"]),
            ("ISBN 978-0-306-40615-7", ["9780306406157"]),
            ("Ships: 4,120,300 tons", ["4120300", "4.120.300", "4 120 300", "4'120'300"]),
            ("Es waren 4.120 Tonnen, und das ist viel", ["4120", "4,120"]),
            ("Take 40mg at noon", ["40 mg", "40-mg", "0.04 g"]),
            ("Take 40 mg at noon", ["40mg", "0,04 g"]),
            ("Only 7 \u03bcl are left", ["7 \u00b5l", "7ul"]),
            ("A cup of \u00be", ["3/4"]),
            ("Seal 000417", ["417"]),
            ("It takes 16GB", ["16 GB", "16000 MB"]),
            ("Use readTideTable here", ["tide table", "read_tide_table", "readTide"]),
            ("Use read_tide_table here", ["readTideTable", "tide table", "read tide table"]),
            ("class XMLTideReader", ["tide reader", "XML"]),
            ("Needs SSL3.0 now", ["SSL 3.0", "3.0"]),
            ("Release v4.2.7", ["4.2.7", "v4.2.7"]),
            ("Uses Express.js", ["expressjs", "express js"]),
            ("In C++ and .NET", ["C++", "c++", ".NET", "dotnet"]),
            ("The team of IT and the WHO", ["IT", "WHO", "it", "who"]),
            ("Vitamin A and AT&T", ["vitamin A", "A", "AT&T"]),
            ("To have and have not, that is it", ["to have and have not"]),
            ("It went well \U0001f680", ["\U0001f680"]),
            ("In the U.S. market", ["US"]),
            ("Rule\u00a07 names\u00a0the\u202fpier\u2003only", ["the pier", "rule 7"]),
            ("The cutter\u2028sails\u2029today", ["cutter", "sails", "today"]),
            (
                "Sails by Corvanta\u2122, Pelago\u00ae and Nauta\u2120",
                ["Corvanta", "pelago", "nauta"],
            ),
            ("Die GRO\u1e9eE GASSE", ["große", "gaße", "grosse"]),
            ("Zwei Flöße", ["FLÖSSE"]),
            ("\u0645\u06cc\u200c\u0631\u0648\u0645", ["\u0645\u06cc\u0631\u0648\u0645"]),
            ("A grant of 34,56,789 rupees", ["3456789", "3,456,789"]),
            ("Runs on .NET Core", [".net", ".Net"]),
            ("A coil of 680 Ω", ["680Ω", "680 \u2126", "680 ohm", "0.68 kΩ"]),
            ("A coil of 680Ω", ["680 Ω", "680"]),
            ("A hall of 140 m²", ["140m²", "140 m2", "140m2", "140 sqm"]),
            ("A tank of 60m³", ["60 m³", "60 m3"]),
            ("Turned by 45°", ["45 °", "45 degrees"]),
            ("A board of 80x35 mm", ["80 x 35", "80×35", "80 × 35 mm", "80"]),
            ("A board of 80 × 35 × 2 mm", ["80x35", "80x35x2"]),
            ("S&P fell", ["S & P"]),
            ("The H & M shop, and Sand & Co", ["H&M", "sand&co"]),
            ("Call +44 20 765432-10 now", ["+442076543210", "442076543210", "+44 20 76543210"]),
            ("SIREN 512 734 680 00042, Lyon", ["51273468000042"]),
            ("Ethanol is 64-17-5, acetone 1067-64-1", ["1067641"]),
            ("Held on 2021-11-05", ["20211105"]),
            ("The BX-KT7730lx failed", ["KT7730", "BXKT7730lx", "BX KT7730lx"]),
            ("Bearing 7206-4ZR/C2", ["72064ZR", "72064ZRC2"]),
            ("Ends with 0x9003001F", ["9003001F"]),
            ("A Sha256DigestReader", ["sha256", "digest reader"]),
            ("Call öffneTürSchloss", ["tür schloss", "öffneTürSchloss", "oeffneTuerSchloss"]),
            ("Her pronouns are she/her.", ["she/her"]),
            ("Une bague en or blanc", ["or"]),
            ("Written in C#", ["c sharp", "C-sharp", "csharp", "how is C sharp written"]),
            ("The sonata in C sharp minor", ["C# minor"]),
            ("Written in C++", ["c plus plus", "C-plus-plus"]),
            ("It is a === b here", ["===", "what does === do", "why ===?"]),
            ("Give a && b or (x => y)", ["&&", "=>"]),
            ("Employer 27-4410873", ["274410873"]),
            ("Part 18-7264 fits", ["187264"]),
            ("Part 187264 fits", ["18-7264"]),
            ("Call 030-74411", ["03074411"]),
            ("Open from 09:05 to 5:40pm", ["9:05", "05:40"]),
        ],
    )
    def test_are_found(self, text, queries):
        for query in queries:
            assert rank([text], query), query

    @pytest.mark.parametrize(
        ("texts", "query"),
        [
            (["Valve KX-4410", "Valve KX4410", "Valve KX-4401, page 4410"], "KX-4410"),
            (["Valve KX4410", "Valve KX-4410", "Valve KX-4401"], "KX4410"),
            (["a dose of 40 mg", "a dose of 40mg", "a dose of 400 mg"], "40 mg"),
            (["a dose of 40mg", "a dose of 40 mg"], "40mg"),
            (["weighs 0.5 kg", "weighs 500 g", "weighs 5 kg"], "0.5 kg"),
            (["It costs 4,120,300", "It costs 4120300"], "4,120,300"),
            (["weighs 500 g", "weighs 5 kg", "a ton has 1000 kg"], "0.5 kg"),
            (["The OR is clean", "To be or not to be, that is it"], "OR"),
            (["Written in C", "Written in C++", "Written in C#"], "written in C"),
            (["Written in C#", "Written in C"], "C#"),
            (["Needs .NET 8", "A net of 8 ropes"], ".net"),
            (["Fix of v3.1.4 is out", "Fix of v3.1.4-rc2 out", "Fix of v3.1.40 is out"], "v3.1.4"),
            (["Call +44 20 765432-01", "Call +44 20 765432-10"], "+44 20 76543201"),
            (["Kept at \u22125 °C", "Kept at 5 °C"], "-5 °C"),
            (["Kept at 5 °C", "Kept at \u22125 °C"], "5 °C"),
            (["The head of the WHO", "The Who"], "WHO"),
            (["Die ER ist voll", "Er ging, er kam, er blieb"], "ER"),
            (["Vitamin R and more", "R&D for vitamin R"][::-1], "R & D"),
            (["Rule\u00a07 is old", "A width of 7 cm"], "Rule 7"),
            (["Written in C#", "Written in C"], "c sharp"),
            (["The boat at 10:30", "The boat at 10:10, 30 knots"], "boat 10:30"),
            (["The boat at 10:30", "The boat at 10:45", "The boat at 11:30"], "boat 10:30"),
            (["187264 fits", "18-7264 fits"], "187264"),
        ],
    )
    def test_rank_the_spelling_first_that_was_asked_for(self, texts, query):
        assert rank(texts[::-1], query)[0] == texts[0]

    @pytest.mark.parametrize(
        ("text", "query"),
        [
            ("Valve KX-4410", "KX4401"),
            ("Rated 1.5", "15"),
            ("Take 10mg", "100mg"),
            ("The mean was 4.120, and it is small", "4120"),
            ("From 10-15 on", "1015"),
            ("On 2018-12-31", "20183112"),
            ("On 31.12.2018", "31122018"),
            ("A coil of 680 Ω", "68Ω"),
            ("A hall of 140 m²", "1402"),
            ("Cut to 80x35 mm", "8035"),
            ("From 0x12 on", "12"),
            ("Call +44 20 765432-10", "+442076543201"),
            ("Held on 2021-11-05", "20210511"),
            ("The BX-KT7730lx failed", "KT7703"),
            ("Rows of 12 30 45", "123045"),
            ("In C# only", "C++"),
            ("A state-of-the-art lamp", "stateof"),
            ("In C++ only", "C"),
            ("The result of it", "IT"),
            ("a.miller@sea.example", "amiller"),
            ("A sharp rise of C, sharp", "csharp"),
            ("a === b", "=="),
            ("One\n---\ntwo", "---"),
            ("Well?!", "?!"),
            ("Take 50-1500 mg", "501500"),
            ("Pages 1234-1290", "12341290"),
            ("Pages 1234-56", "123456"),
            ("Held in 12-2018", "122018"),
            ("Held in 2018-07", "201807"),
            ("The boat at 10:30", "1030"),
        ],
    )
    def test_keep_apart_what_is_not_the_same(self, text, query):
        encoder = get_bm25_encoder(SparseSpec())

        assert not encoder.find_words(query) & set(encoder.encode_document(text).indices)

    def test_add_nothing_to_plain_prose(self):
        text = "the harbour is open and the ships are in the bay"
        old, new = (get_bm25_encoder(SparseSpec(word_rules=rules)) for rules in (2, 3))

        assert new.encode_document(text) == old.encode_document(text)

    def test_are_named_with_what_the_text_has(self):
        met = get_bm25_encoder(SparseSpec()).find_met_words(
            "10mg of PPR9087 runs", "Take 10 mg. PPR-9087 is running."
        )

        assert met == {"10mg": "10 mg", "PPR9087": "PPR-9087", "runs": "running"}

    def test_terms_say_which_words_are_left_out(self):
        terms = get_bm25_encoder(SparseSpec()).list_terms("the lamp", is_query=True)

        assert [(term.written, bool(term.ids)) for term in terms] == [
            ("the", False),
            ("lamp", True),
        ]
