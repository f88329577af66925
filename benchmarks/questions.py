"""Measure how well questions are refused and sentences quoted, on labelled questions.

It measures no time: the same data give the same figures on any machine.
"""

import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import yaml

from benchmarks.deck import save_deck
from benchmarks.service import add_texts, load_abstracts, measured_service, wait_until_ready
from evaluation.thresholds import GateThreshold, choose_gate
from tests.retrieval.test_presets import HANDBOOK
from tests.serving import ROOT, serving

if TYPE_CHECKING:
    from tests.serving import Service

RELEVANCE: Final = ROOT / "tests" / "answers" / "questions" / "relevance.yaml"
CALIBRATION: Final = RELEVANCE.with_name("calibration.yaml")
INDEXES: Final = ("library", "python-reference", "biomedical", "physio", "papers")
ANSWERS: Final = ROOT / "tests" / "answers" / "library.yaml"
LIBRARY: Final = ROOT / "demo" / "library"
ABSTRACT_COUNT: Final = 2_000
USED_FOR_THE_RULE: Final = 25  # the first of the questions with answers
WITHOUT_A_MODEL: Final = dict.fromkeys(
    ["STRATA_LLM_BASE_URL", "STRATA_LLM_MODEL", "STRATA_LLM_API_KEY"], ""
)


def measure_relevance(embedding: Path | None, indexes: Collection[str]) -> None:
    """Ask every labelled question of its index, by the pipeline that the index names.

    ``embedding``: a YAML file with the section ``embedding`` of a spec, which replaces the default
    model in every preset. Its threshold is chosen by the questions of ``CALIBRATION`` only.

    The shares of an index are printed as soon as its questions are asked.
    """
    with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder:
        data_dir, environment = Path(folder), dict(WITHOUT_A_MODEL)
        if embedding is not None:
            environment |= _replace_model(data_dir, yaml.safe_load(embedding.read_text("utf-8")))
            with serving(data_dir, **environment) as service:
                _fill_presets(service, indexes)
                gate = _calibrate(service, indexes)
            print(
                f"threshold {gate.min_similarity:.4f}; on the questions it was chosen by, about "
                f"the index / about something else: {gate.about_share:.2f} / {gate.other_share:.2f}"
            )
            _write_pipelines(data_dir, gate.min_similarity)
        print("questions judged rightly, about the index / about something else:")
        right: dict[tuple[str, str, str], list[bool]] = {}
        with serving(data_dir, **environment) as service:
            for name in indexes:
                if embedding is None:
                    _fill_presets(service, [name])
                right |= (of_index := _ask_questions(service, name))
                _print_shares(name, of_index, lambda key: key[1])
    _print_shares("all", right, lambda key: key[1])
    _print_shares("all", right, lambda key: "")


def _ask_questions(service: "Service", index: str) -> dict[tuple[str, str, str], list[bool]]:
    """(index, language, group) -> whether each of its questions is judged rightly."""
    return {
        (index, language, group): [
            (ask(service, index, question)["relevant"] is not False) == (group == "about")
            for question in questions
        ]
        for _, language, group, questions in _read_questions(RELEVANCE, [index])
    }


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
        count = sum(len(each) for key, each in right.items() if key_of(key) == value)
        shares = f"{rows['about']:.2f} / {rows['other']:.2f}"
        print(f"  {name:16} {value:2} {shares} of {count}", flush=True)


def _add_library(service: "Service") -> None:
    files = sorted(path for path in LIBRARY.iterdir() if path.is_file())
    for path in files:
        _add_file(service, "library", path)
    wait_until_ready(service, len(files), "library")


def _read_questions(
    path: Path, indexes: Collection[str]
) -> Iterator[tuple[str, str, str, list[str]]]:
    """Index, language, group and questions."""
    for index, by_language in yaml.safe_load(path.read_text("utf-8")).items():
        if index in indexes:
            for language, groups in by_language.items():
                for group, questions in groups.items():
                    yield index, language, group, questions


def _replace_model(folder: Path, embedding: Mapping[str, Any]) -> dict[str, str]:
    """Write the presets with another model, and pipelines that refuse nothing yet."""
    specs = folder / "specs"
    specs.mkdir()
    for path in (ROOT / "specs").glob("*.yaml"):
        spec = {**yaml.safe_load(path.read_text("utf-8")), "embedding": embedding}
        (specs / path.name).write_text(yaml.safe_dump(spec, allow_unicode=True), "utf-8")
    _write_pipelines(folder, 0)
    return {
        "STRATA_SPECS_DIR": str(specs),
        "STRATA_PIPELINES_DIR": str(folder / "pipelines"),
    }


def _write_pipelines(folder: Path, min_similarity: float) -> None:
    """Strata's pipelines with another threshold, which holds for every language and model."""
    (folder / "pipelines").mkdir(exist_ok=True)
    for path in (ROOT / "answers" / "pipelines").glob("*.yaml"):
        pipeline = yaml.safe_load(path.read_text("utf-8"))
        for component in pipeline["components"].values():
            parameters = component.get("init_parameters", {})
            if "min_similarity" in parameters:
                parameters["min_similarity"] = min_similarity
                del parameters["languages"], parameters["embedding_model"]
        (folder / "pipelines" / path.name).write_text(yaml.safe_dump(pipeline), "utf-8")


def _calibrate(service: "Service", indexes: Collection[str]) -> GateThreshold:
    cosines: dict[str, list[float]] = {"about": [], "other": []}
    for index, _, group, questions in _read_questions(CALIBRATION, indexes):
        search = "questions" if index == "physio" else "pages"
        for question in questions:
            answer = service.api.post(
                f"search/{search}",
                json={"index": index, "query": question, "mode": "dense", "limit": 1},
            )
            answer.raise_for_status()
            cosines[group].append(answer.json()["hits"][0]["score"])
    return choose_gate(cosines["about"], cosines["other"])


def _fill_presets(service: "Service", indexes: Collection[str]) -> None:
    if "python-reference" in indexes:
        service.manage("demo").check_returncode()
    elif "library" in indexes:
        _add_library(service)
    if "biomedical" in indexes:
        _add_file(service, "biomedical", save_deck(service.data_dir / "screening.pptx"))
    if "physio" in indexes:
        for title, text in HANDBOOK.items():
            service.api.post(
                "indexes/physio/artifacts/", json={"title": title, "text": text}
            ).raise_for_status()
    abstracts = load_abstracts(ABSTRACT_COUNT) if "papers" in indexes else []
    for start in range(0, len(abstracts), 500):
        add_texts(service, abstracts[start : start + 500], "papers")
    for index in indexes:
        count = service.api.get(f"indexes/{index}/artifacts/", params={"limit": 1}).json()["count"]
        wait_until_ready(service, count, index)


def _add_file(service: "Service", index: str, path: Path) -> None:
    with path.open("rb") as file:
        service.api.post(f"indexes/{index}/artifacts/", files={"file": file}).raise_for_status()
