"""A service with the documents that the docs' examples query, and the real embedding model. The
language model, if there is one, is a fake endpoint."""

import contextlib
import io
import json
import re
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.deck import ANSWER_SLIDE, generate_slides
from benchmarks.physio.write import QUESTIONS, TEXTS
from tests.factories import PARAGRAPHS
from tests.forked import ForkedService, serving_forked
from tests.language_models.test_llm import Handler, running_endpoint, says, streams
from tests.serving import ROOT

READY_SECONDS = 240
MODEL = "a-model"


def read_page(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


TUTORIAL = read_page("docs/tutorial.md")
CONCEPTS = read_page("docs/how-to/concepts.md")
EVIDENCE = read_page("docs/how-to/keep-evidence.md")
PIPELINES = read_page("docs/how-to/declare-a-query-pipeline.md")
CLIENT = read_page("docs/how-to/use-the-client.md")

[FERRIES] = re.findall(r'^FERRIES = "(.*)"$', CLIENT, re.M)
[ITEMS] = re.findall(r"-d '(\{\"items\": .*?\})'$", EVIDENCE, re.M | re.S)
ROOF = {
    "external_id": "2021-05",
    "title": "Works board, May 2021",
    "text": "It was decided to mend the roof of the ice house before the winter.",
    "metadata": {"year": 2021, "board": "works"},
}
# External id -> title, text, author, venue, year, awards.
PAPERS: dict[str, tuple[str, str, str, str, int, list[str]]] = {
    "2020.acl-main.1": (
        "Machine translation with subwords", "We improve machine translation of rare words.",
        "Graham Neubig", "acl", 2020, [],
    ),
    "D17-1001": (
        "Machine translation by attention", "We study machine translation with attention.",
        "Graham Neubig", "emnlp", 2017, [],
    ),
    "P19-1001": (
        "Parsing with pointers", "A parser of dependencies points at heads.",
        "Ada Lovelace", "acl", 2019, [],
    ),
    "P12-1003": (
        "Parsing by hand", "Dependencies are drawn by hand and then parsed.",
        "Ada Lovelace", "acl", 2012, [],
    ),
    "2021.emnlp-main.7": (
        "Parsing with graphs", "A parser of dependencies reads heads from graphs.",
        "Grace Hopper", "emnlp", 2021, ["Best Paper"],
    ),
    "P14-1002": (
        "Senses of words", "Embeddings of the senses of words.", "Hinrich Schütze", "acl", 2014, [],
    ),
}  # fmt: skip
# The slide with the exact names, and those that differ from it in one name.
SLIDES = {
    number: "\n".join((slide.title, *slide.lines))
    for number, slide in enumerate(generate_slides())
    if number == ANSWER_SLIDE or number % 10 == 3
}
ANSWER_PAGE = list(SLIDES).index(ANSWER_SLIDE)
DOCUMENTS: dict[str, list[dict[str, Any]]] = {
    "plain": [
        {"external_id": "ferries", "title": "Ferries", "text": FERRIES},
        *({"external_id": text.split()[1], "text": text} for text in PARAGRAPHS),
    ],
    "papers": [
        {
            "external_id": name, "title": title, "text": text,
            "metadata": {"authors": [author], "venue": [venue], "year": year, "awards": awards},
        }
        for name, (title, text, author, venue, year, awards) in PAPERS.items()
    ],
    "physio": [
        {"external_id": name, "title": title, "text": text}
        for name, (title, text) in TEXTS.items()
    ],
    "biomedical": [{"external_id": "deck", "title": "Screening", "pages": [*SLIDES.values()]}],
}  # fmt: skip


def read_code(page: str, start: str) -> str:
    """The only block of code of a page that begins with ``start``."""
    [block] = re.findall(rf"^```\w*\n({re.escape(start)}.*?)^```$", page, re.M | re.S)
    return str(block)


def read_minutes() -> tuple[str, list[dict[str, Any]]]:
    """The spec that the tutorial writes, and the documents that it makes."""
    spec, program = re.findall(r"<<'END'\n(.*?)^END$", TUTORIAL, re.M | re.S)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(program, "docs/tutorial.md", "exec"), {})
    return spec, [json.loads(line) for line in printed.getvalue().splitlines()]


@contextlib.contextmanager
def serving_examples(folder: Path, *, has_model: bool) -> Iterator[ForkedService]:
    spec, minutes = read_minutes()
    specs, pipelines, data = folder / "specs", folder / "pipelines", folder / "data"
    shutil.copytree(ROOT / "specs", specs)
    (specs / "minutes.yaml").write_text(spec, encoding="utf-8")
    (specs / "findings.yaml").write_text(read_code(EVIDENCE, "# specs/evidence.yaml"))
    pipelines.mkdir()
    (pipelines / "minutes.yaml").write_text(read_code(PIPELINES, "metadata:\n  title: Minutes"))
    data.mkdir()
    with running_endpoint() as endpoint:
        endpoint.scripts = [answer_as_a_model]
        environment = {
            "STRATA_SPECS_DIR": str(specs),
            "STRATA_PIPELINES_DIR": str(pipelines),
            # Empty without a model, even if the environment configures one.
            "STRATA_LLM_BASE_URL": endpoint.url if has_model else "",
            "STRATA_LLM_MODEL": MODEL if has_model else "",
            "STRATA_LLM_API_KEY": "",
        }
        with serving_forked(data, **environment) as service:
            fill(service, {**DOCUMENTS, "minutes": [*minutes, ROOF]}, folder)
            yield service


def fill(service: ForkedService, documents: dict[str, list[dict[str, Any]]], folder: Path) -> None:
    for index, rows in documents.items():
        answer = service.api.post(
            f"indexes/{index}/artifacts/batch",
            content="\n".join(map(json.dumps, rows)),
            headers={"Content-Type": "application/x-ndjson"},
        )
        verdicts = [json.loads(line)["verdict"] for line in answer.text.splitlines()]
        assert verdicts == ["added"] * len(rows), answer.text
    for path in (ROOT / "demo" / "library").iterdir():
        service.api.post(
            "indexes/library/artifacts/",
            data={"external_id": path.name},
            files={"file": (path.name, path.read_bytes())},
        ).raise_for_status()
    service.api.post("indexes/evidence/evidence/", json=json.loads(ITEMS)).raise_for_status()
    notes, graph = folder / "notes.jsonl", folder / "graph.jsonl"
    notes.write_text(read_code(CONCEPTS, '{"external_id"'), encoding="utf-8")
    graph.write_text(read_code(CONCEPTS, '{"type": "concept"'), encoding="utf-8")
    for command in (["add", str(notes), "--wait"], ["import_concepts", str(graph)]):
        done = service.manage(*command, "--index", "knowledge")
        assert done.returncode == 0, done.stdout + done.stderr
    wait_until_ready(service, [*documents, "library", "evidence", "knowledge"])


def wait_until_ready(service: ForkedService, indexes: Iterable[str]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    for index in indexes:
        while not is_ready(service, index):
            assert time.monotonic() < deadline, f"{index}: {service.log.read_text()}"
            time.sleep(0.1)


def is_ready(service: ForkedService, index: str) -> bool:
    found = service.api.get(f"indexes/{index}/artifacts/?status=ready&limit=1").json()
    progress = service.api.get(f"indexes/{index}/").json()
    return bool(found["count"] == progress["artifacts"] and not progress["nodes"]["pending"])


# --- The language model ----------------------------------------------------------------------

GERMAN = "Artikel von Ada Lovelace seit 2017"
GERMAN_FILTERS = [
    {"field": "authors", "words": "von Ada Lovelace", "values": ["Ada Lovelace"]},
    {"field": "year", "words": "seit 2017", "first_year": 2017},
]
FIELDS: dict[str, dict[str, Any]] = {  # its answer for a text of the preset physio
    "heel": {"conditions": ["plantar fasciitis"], "muscle_groups": ["calves"]},
    "impingement": {"conditions": ["shoulder impingement"], "muscle_groups": ["rotator_cuff"]},
    "elbow": {"conditions": ["tennis elbow"], "muscle_groups": ["forearms"]},
    "nordic": {"exercises": ["nordic curl"], "muscle_groups": ["hamstrings"]},
    "bench": {"exercises": ["bench press"], "muscle_groups": ["chest"]},
    "facepull": {"exercises": ["face pull"], "muscle_groups": ["upper_back"]},
    "back": {"muscle_groups": ["core", "lower_back"], "content_type": "exercise_technique"},
    "cuff": {"muscle_groups": ["rotator_cuff"], "content_type": "anatomy"},
}


def answer_as_a_model(handler: Handler) -> None:
    """Answer from the text of the prompt only."""
    prompt = handler.body["messages"][1]["content"]
    [fence] = re.findall(r"^--- \w+ ---", prompt)
    text = prompt.split(fence)[1].strip()
    if "response_format" not in handler.body:
        _, passage = text.split("\n", 1)
        streams(f"{passage.split('.')[0]} [1].")(handler)
        return
    answer = ANSWERS[handler.body["response_format"]["json_schema"]["name"]]
    says(json.dumps(answer(text)))(handler)


def annotate(text: str) -> dict[str, Any]:
    [name] = [name for name, (_, whole) in TEXTS.items() if text.split("\n\n")[-1] in whole]
    questions = [question for question, about in QUESTIONS.items() if about == name]
    return {"questions": questions, "summary": text[:80], **FIELDS.get(name, {})}


def extract(text: str) -> dict[str, Any]:
    minnow = {"label": "Minnow", "description": "A small fish", "quotes": ["minnows"]}
    return {"concepts": [minnow] if "minnows" in text else [], "relationships": []}


ANSWERS = {
    "SummaryResponse": lambda text: {"summary": " ".join(text.splitlines()[:3])},
    "ChunkAnnotation": annotate,
    "ExtractionResponse": extract,
    "ModelReading": lambda text: {"filters": GERMAN_FILTERS if text == GERMAN else []},
    "ModelWordings": lambda text: {"queries": [f"research on {text}", f"methods for {text}"]},
}
