"""Measure how well questions are refused and sentences quoted, on labelled questions.

It measures no time: the same data give the same figures on any machine.
"""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from benchmarks.deck import save_deck
from benchmarks.service import add_texts, load_abstracts, measured_service, wait_until_ready
from tests.retrieval.test_presets import HANDBOOK
from tests.serving import ROOT

if TYPE_CHECKING:
    from tests.serving import Service

RELEVANCE: Final = ROOT / "tests" / "retrieval" / "questions" / "relevance.yaml"
ANSWERS: Final = ROOT / "tests" / "retrieval" / "answers" / "library.yaml"
LIBRARY: Final = ROOT / "demo" / "library"
ABSTRACT_COUNT: Final = 2_000
USED_FOR_THE_RULE: Final = 25  # the first of the questions with answers
WITHOUT_A_MODEL: Final = dict.fromkeys(
    ["STRATA_LLM_BASE_URL", "STRATA_LLM_MODEL", "STRATA_LLM_API_KEY"], ""
)


def measure_relevance() -> None:
    """Ask every labelled question of its index, by the pipeline that the index names."""
    cases = yaml.safe_load(RELEVANCE.read_text("utf-8"))
    with measured_service(**WITHOUT_A_MODEL) as service:
        _fill_presets(service)
        right: dict[tuple[str, str, str], list[bool]] = {}
        for index, by_language in cases.items():
            for language, groups in by_language.items():
                for group, questions in groups.items():
                    right[index, language, group] = [
                        ask(service, index, question)["relevant"] == (group == "about")
                        for question in questions
                    ]
    print("questions judged rightly, about the index / about something else:")
    _print_shares("language", right, lambda key: key[1])
    _print_shares("index", right, lambda key: key[0])
    _print_shares("all", right, lambda key: "all")


def measure_answers() -> None:
    """Ask the labelled questions of the demo's library, without a language model."""
    cases = yaml.safe_load(ANSWERS.read_text("utf-8"))
    with measured_service(**WITHOUT_A_MODEL) as service:
        _add_library(service)
        answers = [(case, ask(service, "library", case["question"], limit=10)) for case in cases]
    answered = [(case, _quoted_sentences(answer)) for case, answer in answers if case["answers"]]
    others = [answer for case, answer in answers if not case["answers"]]
    for name, part in (
        ("used for the rule", answered[:USED_FOR_THE_RULE]),
        ("others", answered[USED_FOR_THE_RULE:]),
        ("all", answered),
    ):
        first = [bool(said) and holds(said[0], case["answers"]) for case, said in part]
        clean = [
            all(holds(each, case["answers"] + case["about"]) for each in said)
            for case, said in part
        ]
        print(
            f"{name}, {len(part)} questions: first sentence right {share(first):.2f}, "
            f"no sentence about something else {share(clean):.2f}"
        )
    for case, said in answered:
        if not (said and holds(said[0], case["answers"])):
            print(f"  wrong: {case['question']} {' '.join(said[0].split()) if said else '-'}")
    said_none = [not answer["citations"] for answer in others]
    print(f"{len(others)} questions without an answer: said so {share(said_none):.2f}")


def ask(service: "Service", index: str, question: str, limit: int = 1) -> dict[str, Any]:
    answer = service.api.post(
        "ask",
        json={"index": index, "query": question, "limit": limit},
        headers={"Accept": "application/json"},
    )
    answer.raise_for_status()
    return dict(answer.json())


def holds(sentence: str, wanted: Iterable[str]) -> bool:
    """Whether the sentence holds one of these texts, without markup and line breaks."""
    text = " ".join(sentence.replace("*", "").split())
    return any(each in text for each in wanted)


def share(values: Iterable[bool]) -> float:
    listed = list(values)
    return sum(listed) / len(listed)


def _quoted_sentences(answer: Mapping[str, Any]) -> list[str]:
    return [
        answer["answer"][each["answer_start"] : each["answer_end"]] for each in answer["citations"]
    ]


def _print_shares(
    name: str,
    right: Mapping[tuple[str, str, str], list[bool]],
    key_of: Callable[[tuple[str, str, str]], str],
) -> None:
    for value in dict.fromkeys(key_of(key) for key in right):
        rows = {
            group: share(
                each
                for key, values in right.items()
                if key_of(key) == value and key[2] == group
                for each in values
            )
            for group in ("about", "other")
        }
        print(f"  {name:9} {value:17} {rows['about']:.2f} / {rows['other']:.2f}")


def _add_library(service: "Service") -> None:
    files = sorted(path for path in LIBRARY.iterdir() if path.is_file())
    for path in files:
        _add_file(service, "library", path)
    wait_until_ready(service, len(files), "library")


def _fill_presets(service: "Service") -> None:
    service.manage("demo").check_returncode()
    _add_file(service, "biomedical", save_deck(service.data_dir / "screening.pptx"))
    for title, text in HANDBOOK.items():
        service.api.post(
            "indexes/physio/artifacts/", json={"title": title, "text": text}
        ).raise_for_status()
    abstracts = load_abstracts(ABSTRACT_COUNT)
    for start in range(0, len(abstracts), 500):
        add_texts(service, abstracts[start : start + 500], "papers")
    for index in ("library", "python-reference", "biomedical", "physio", "papers"):
        count = service.api.get(f"indexes/{index}/artifacts/", params={"limit": 1}).json()["count"]
        wait_until_ready(service, count, index)


def _add_file(service: "Service", index: str, path: Path) -> None:
    with path.open("rb") as file:
        service.api.post(f"indexes/{index}/artifacts/", files={"file": file}).raise_for_status()
