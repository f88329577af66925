import pytest

from indexing.spec import EmbeddingSpec
from retrieval.search.query_vectors import embed_queries_if_available, embed_query

SPEC = EmbeddingSpec()


class TestFiscalYears:
    @pytest.mark.parametrize(
        ("query", "embedded"),
        [
            ("Capex in FY2018?", "Capex in fiscal year 2018?"),
            ("FY 2019 and FY2023Q1", "fiscal year 2019 and fiscal year 2023Q1"),
            ("FY22, FY '98, FY18Q1", "fiscal year 2022, fiscal year 1998, fiscal year 2018Q1"),
            ("NFY2018, FY20185, FY1, FY182 and FYI", "NFY2018, FY20185, FY1, FY182 and FYI"),
        ],
    )
    def test_are_spelt_out(self, embedder, query, embedded):
        expected = embedder.embed_query(embedded)

        assert embed_query(SPEC, query).tolist() == expected.tolist()
        vectors, _ = embed_queries_if_available(SPEC, [query, "granite"])
        assert vectors[0].tolist() == expected.tolist()
