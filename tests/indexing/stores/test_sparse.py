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
        query = Bm25Encoder(SparseSpec()).encode_query("gene gene protein")

        assert query.values == [1.0, 1.0]

    def test_agrees_with_the_bm25_formula(self):
        spec = SparseSpec(k=2.0, b=0.5, average_length=4)

        [weight] = Bm25Encoder(spec).encode_document("gene gene").values

        # tf (k + 1) / (tf + k (1 - b + b length / average)), with tf = length = 2
        assert weight == pytest.approx(2 * 3 / (2 + 2 * (1 - 0.5 + 0.5 * 2 / 4)))

    @pytest.mark.parametrize("text", ["", "the of and", " \n\t", "…!?"])
    def test_has_no_terms_for_stop_words_and_punctuation(self, text):
        assert encode_sparse_query(SparseSpec(), text).indices == []

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
        assert "word_rules" not in SparseSpec(word_rules=1).describe_terms()

    def test_keeps_stop_words_and_word_forms_without_a_language(self):
        encoder = Bm25Encoder(SparseSpec(language="none"))

        assert len(encoder.encode_query("the run running").indices) == 3

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
