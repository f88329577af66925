"""What a small model writes in place of what it was asked for."""

import json

import pytest

from summaries.models import EXTRACTIVE_MODEL_NAME
from summaries.response_faults import (
    find_foreign_names,
    find_summary_fault,
    is_about_something_else,
    is_in_other_language,
    shorten_summary,
)
from summaries.writers import AnnotationInput, LanguageModelWriter, SummaryInput
from tests.language_models.test_llm import endpoint, says

__all__ = ["endpoint"]  # a fixture

TEXT = (
    "The harbour of Whitby was dredged in 1911. Captain Ellis measured the depth each spring, and "
    "the harbour board published the neural machine translation of his logs. The channel is kept "
    "open for the French trawlers of the SACC-111 fleet. Silt returns within two years."
)
GERMAN = (
    "Der Hafen von Whitby wurde im Jahr 1911 ausgebaggert. Kapitän Ellis hat die Tiefe in jedem "
    "Frühjahr gemessen, und die Behörde hat seine Aufzeichnungen veröffentlicht."
)
GOOD = "The harbour of Whitby was dredged, and Captain Ellis measured its depth each spring."
GOOD_IN_GERMAN = "Der Hafen wurde ausgebaggert und die Messung der Tiefe ist von dem Kapitän."
OF_ANOTHER_PAGE = "The harbour was dredged after a complaint of Marion Vane to the board."
REPEATED = (
    "The harbour was dredged in 1911. Silt returns within two years. " * 25
)  # 1,600 characters


def find_fault(summary: str, text: str = TEXT, sentence_count: int = 4) -> str | None:
    return find_summary_fault(summary, text, sentence_count, is_own_language=True)


class TestAGoodSummary:
    @pytest.mark.parametrize(
        ("summary", "text"),
        [
            (GOOD, TEXT),
            (GOOD_IN_GERMAN, GERMAN),
            ("Ellis’s logs were published by NMT. Its trawlers are from Whitby.", TEXT),
            ("“Whitby” lost its depth: Silt returned. Dredging helped for two years.", TEXT),
            ("潮は一日に二回満ちる。港は浅い。", "潮の満ち引きは一日に二回起こる。港の水は浅い。"),
        ],
    )
    def test_has_no_fault(self, summary, text):
        assert find_fault(summary, text) is None


class TestAFault:
    def test_is_a_repeated_sentence(self):
        assert "more than once" in find_fault(REPEATED)
        assert shorten_summary(REPEATED, 4) == (
            "The harbour was dredged in 1911. Silt returns within two years."
        )

    def test_is_a_summary_longer_than_asked_for(self):
        long = " ".join(f"Silt returns within {number} years." for number in range(9))

        assert "longer than 4 short sentences" in find_fault(long)
        assert (
            shorten_summary(long, 2) == "Silt returns within 0 years. Silt returns within 1 years."
        )
        assert len(shorten_summary("silt and " * 500, 2)) <= 800
        assert shorten_summary("Silt returns within two years. The", 4).endswith("two years.")

    def test_is_a_name_that_the_text_does_not_have(self):
        assert "Marion, Vane" in find_fault(OF_ANOTHER_PAGE)
        assert find_foreign_names("It was SACC-112, not SACC-111.", TEXT) == ["SACC-112"]
        assert find_foreign_names("Also the NadD of Marion's son.", TEXT) == ["NadD", "Marion"]

    @pytest.mark.parametrize(
        ("written", "text"),
        [(GOOD, GERMAN), (GOOD_IN_GERMAN, TEXT), (GOOD, "潮の満ち引きは一日に二回起こる。")],
    )
    def test_is_another_language_than_that_of_the_text(self, written, text):
        assert is_in_other_language(written, text)
        assert "language" in find_fault(written, text)
        assert not is_in_other_language(written, "17 | 32 | 9")

    @pytest.mark.parametrize(
        "excuse",
        [
            "As your helpful assistant I would gladly summarise any document about cooking.",
            "The document is incomplete and cannot be summarised.",
        ],
    )
    def test_is_a_text_about_something_else(self, excuse):
        assert is_about_something_else(excuse, TEXT)
        assert "what the text says" in find_fault(excuse)

    @pytest.mark.parametrize(
        "empty",
        [
            "The document is incomplete and cannot be summarised.",
            "The server is not a server, it is a script that is not a server.",
        ],
    )
    def test_is_a_summary_of_a_long_text_that_says_hardly_anything(self, empty):
        words = "document incomplete server script " + " ".join(
            f"{letter}{vowel}ber{letter}ing" for letter in "bcdfgh" for vowel in "aeiou"
        )

        assert "hardly anything" in find_fault(empty, words)

    def test_is_a_sentence_that_goes_in_circles(self):
        circle = "The harbour board published the logs of Captain Ellis each spring, and then "

        assert "repeats itself" in find_fault(circle * 4)

    def test_is_no_sentence_at_all(self):
        assert "no whole sentence" in find_fault("…")


@pytest.mark.django_db
class TestAWriter:
    def summarise(self, build, text: str = TEXT):
        inputs = {1: SummaryInput([text], is_of_page=True)}
        [outcome] = LanguageModelWriter().summarise(inputs, build.spec)
        return outcome.value

    @pytest.mark.parametrize("bad", [REPEATED, OF_ANOTHER_PAGE, GOOD_IN_GERMAN])
    def test_asks_once_more_and_names_the_fault(self, wide, endpoint, bad):
        endpoint.scripts = [says(json.dumps({"summary": each})) for each in (bad, GOOD)]

        assert self.summarise(wide).text == GOOD
        assert len(endpoint.requests) == 2
        assert find_fault(bad) == endpoint.requests[1].body["messages"][-1]["content"]

    @pytest.mark.parametrize("bad", [OF_ANOTHER_PAGE, GOOD_IN_GERMAN])
    def test_lets_rules_write_what_stays_worse_than_theirs(self, wide, endpoint, embedder, bad):
        endpoint.scripts = [says(json.dumps({"summary": bad}))]

        draft = self.summarise(wide)

        assert draft.model_name == EXTRACTIVE_MODEL_NAME
        assert all(sentence in TEXT for sentence in draft.text.split(". "))
        assert draft.note.startswith("Written by rules instead: The language model's text was")
        assert len(endpoint.requests) == 2

        assert self.summarise(wide).model_name == EXTRACTIVE_MODEL_NAME
        assert len(endpoint.requests) == 2  # the answer was kept

    def test_keeps_each_sentence_of_a_repetitive_summary_once(self, wide, endpoint):
        endpoint.scripts = [says(json.dumps({"summary": REPEATED}))]

        draft = self.summarise(wide)

        assert draft.text == "The harbour was dredged in 1911. Silt returns within two years."
        assert draft.model_name == "a-model"

    def test_may_be_asked_by_its_prompt_for_another_language(
        self, wide, endpoint, settings, tmp_path
    ):
        (tmp_path / "page_summary.txt").write_text("In English.\n=== user ===\n{{ text }}\n")
        settings.STRATA_PROMPTS_DIR = tmp_path
        endpoint.scripts = [says(json.dumps({"summary": GOOD}))]

        assert self.summarise(wide, GERMAN).text == GOOD
        assert len(endpoint.requests) == 1

    def test_drops_questions_with_names_that_the_passage_does_not_have(self, wide, endpoint):
        questions = ["When was Whitby harbour dredged?", "Why did Marion Vane complain?"]
        answer = {"questions": questions, "summary": "What Marion Vane saw.", "habitat": []}
        endpoint.scripts = [says(json.dumps({**answer, "mood": None}))]

        [outcome] = LanguageModelWriter().annotate({1: AnnotationInput(TEXT, "", "")}, wide.spec)

        assert outcome.value.questions == questions[:1]
        assert outcome.value.summary in TEXT
        assert "Marion, Vane" in endpoint.requests[1].body["messages"][-1]["content"]
