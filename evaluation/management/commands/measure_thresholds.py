from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandError, CommandParser

from core.api_client import ApiClient, ApiCommand
from core.exceptions import UnknownIndex
from core.plain_yaml import NotPlainYaml, load_yaml
from evaluation.thresholds import carry_over, choose_gate
from indexing.model_loading import waiting_for_models
from indexing.models import IndexBuild, Node
from indexing.spec import EmbeddingSpec
from indexing.spec.app_sections import SECTIONS

MAX_TEXTS: Final = 100
MIN_TEXTS: Final = 20
GATE: Final = "min_similarity of RelevanceGate and FilterParser"
# Measured for the default model.
DEFAULTS: Final = {
    **{
        name: threshold
        for section in SECTIONS.values()
        for name, threshold in section.measured_thresholds.items()
    },
    GATE: 0.3,
}


class Command(ApiCommand):
    help = (
        "Measure the thresholds of similarity for the embedding model of an index: from the "
        "default model's, and from questions whose relevance you know."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("index")
        parser.add_argument(
            "--questions",
            type=Path,
            help="A YAML file with two lists of questions: `about` the index, and about `other` "
            "things.",
        )

    def handle(self, *, index: str, questions: Path | None, **options: Any) -> None:
        labelled = None if questions is None else _read_questions(questions)
        with waiting_for_models():
            api = self.api
            build = _get_live_build(index)
            texts = _sample_texts(build)
            carried = carry_over(DEFAULTS, texts, build.spec.embedding)
            gate = None
            if labelled is not None:
                groups = (labelled["about"], labelled["other"])
                gate = choose_gate(*(_measure_nearest(api, build, each) for each in groups))
        self.stdout.write(
            f"For the embedding model {build.spec.embedding.model}, from {len(texts)} passages of "
            f"{index}:"
        )
        for name, threshold in carried.items():
            self.stdout.write(
                f"  {name}: {threshold:.3f} (for {EmbeddingSpec().model}: {DEFAULTS[name]})"
            )
        if gate is not None:
            self.stdout.write(
                f"From your questions, {GATE}: {gate.min_similarity:.3f}. It judges "
                f"{gate.about_share:.0%} of those about the index rightly, and "
                f"{gate.other_share:.0%} of the others. Test it with questions that are not in "
                "this file."
            )


def _get_live_build(index: str) -> IndexBuild:
    build = IndexBuild.objects.live().filter(index=index).first()
    if build is None:
        raise UnknownIndex.named(index, IndexBuild.objects.live().values_list("index", flat=True))
    return build


def _sample_texts(build: IndexBuild) -> list[str]:
    rows = Node.objects.filter(build=build, kind__in=["chunk", "question"]).order_by("point_id")
    texts = list(dict.fromkeys(rows.values_list("text", flat=True)[: 4 * MAX_TEXTS]))[:MAX_TEXTS]
    if len(texts) < MIN_TEXTS:
        raise CommandError(
            f"{build.index_id} holds {len(texts)} passages; at least {MIN_TEXTS} are needed."
        )
    return texts


def _read_questions(path: Path) -> dict[str, list[str]]:
    try:
        content = load_yaml(path.read_text("utf-8"))
    except NotPlainYaml as error:
        raise CommandError(f"{path} {error}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from None
    groups = content if isinstance(content, dict) else {}
    if not all(isinstance(groups.get(name), list) and groups[name] for name in ("about", "other")):
        raise CommandError(f"{path} must hold two lists of questions, `about` and `other`.")
    return {name: [str(question) for question in groups[name]] for name in ("about", "other")}


def _measure_nearest(api: ApiClient, build: IndexBuild, questions: list[str]) -> Iterator[float]:
    """The cosine of the passage nearest to each question."""
    kind = "pages" if "chunk" in build.spec.kinds else "questions"
    for question in questions:
        asked = {"index": build.index_id, "query": question, "mode": "dense", "limit": 1}
        hits = api.post(f"search/{kind}", asked)["hits"]
        yield float(hits[0]["score"]) if hits else 0.0
