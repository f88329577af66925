import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from documents.exceptions import StrataError, UnknownIndex
from documents.services import TextContent, add_artifact
from indexing import services
from indexing.kinds import awaited_artifacts
from indexing.management.bars import progress_bar
from indexing.models import IndexBuild, Node
from indexing.specs import get_specs
from retrieval.evaluation import (
    DEFAULT_MEASURES,
    MODES,
    CorpusText,
    Figures,
    evaluate_mode,
    parse_measures,
    read_corpus,
    read_judgements,
)
from retrieval.management.asking import asking
from summaries import services as writing

TEXTS_PER_TRANSACTION = 200  # a commit waits for the disk


class Command(BaseCommand):
    help = (
        "Measure retrieval on a BEIR folder: one row a mode. Without --index, a throw-away index "
        "of the folder's corpus is made first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("folder", type=Path)
        parser.add_argument("--spec", default="plain", help="Recipe of the throw-away index.")
        parser.add_argument("--index", help="An index that holds the corpus; ids are external ids.")
        parser.add_argument(
            "--measures", default=",".join(DEFAULT_MEASURES), help="In ir_measures' notation."
        )
        parser.add_argument(
            "--modes", help=f"Of {', '.join(MODES)}; by default those the index can answer."
        )
        parser.add_argument("--json", action="store_true")
        # Set for the child process only: the data folder is its own, and empty.
        parser.add_argument("--fill", action="store_true", help=argparse.SUPPRESS)

    def handle(
        self,
        *,
        folder: Path,
        spec: str,
        index: str | None,
        measures: str,
        modes: str | None,
        json: bool,
        fill: bool,
        **options: Any,
    ) -> None:
        try:
            wanted = parse_measures(measures.split(","))
            judgements = read_judgements(folder)
        except StrataError as error:
            raise CommandError(f"{error} {error.fix or ''}".strip()) from None
        chosen = _read_modes(modes, index or spec)
        if index is None and not fill:
            given = ["--spec", spec, "--measures", measures, "--modes", ",".join(chosen)]
            self._measure_apart([str(folder.resolve()), *given, *(["--json"] if json else [])])
            return
        if fill:
            with asking():
                self._fill(spec, folder)
        figures = []
        for mode in chosen:
            with (
                asking(MODES[mode][0]) as search,
                progress_bar(mode, len(judgements.queries)) as advance,
            ):
                figures.append(
                    evaluate_mode(
                        search,
                        judgements,
                        index=index or spec,
                        mode=mode,
                        measures=wanted,
                        advance=advance,
                    )
                )
        self.stdout.write(_write_json(figures) if json else _write_table(figures))

    def _measure_apart(self, arguments: Sequence[str]) -> None:
        """Run again as a child that has a data folder of its own, so that neither a running
        server nor what is stored here is in its way."""
        with tempfile.TemporaryDirectory(prefix="strata-evaluate-") as data_dir:
            environment = os.environ | {
                "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
                "STRATA_DATA_DIR": data_dir,
                "STRATA_MODELS_DIR": str(settings.STRATA_MODELS_DIR),
                "STRATA_SPECS_DIR": str(settings.STRATA_SPECS_DIR),
            }
            manage = Path(settings.BASE_DIR) / "manage.py"
            finished = subprocess.run(
                [sys.executable, str(manage), "evaluate", *arguments, "--fill"],
                env=environment,
                check=False,
                stdout=subprocess.PIPE,
                text=True,
            )
        if finished.returncode != 0:
            raise CommandError("The evaluation did not come to its end.")
        self.stdout.write(finished.stdout, ending="")

    def _fill(self, name: str, folder: Path) -> None:
        """Index the corpus in this process, by the services every other way in uses."""
        build = IndexBuild.objects.live().filter(index=name).first()
        if build is None:
            raise UnknownIndex(f"There is no spec {name!r} in {settings.STRATA_SPECS_DIR}.")
        texts = list(read_corpus(folder))
        with progress_bar("Reading", len(texts)) as advance:
            for batch in _slices(texts, TEXTS_PER_TRANSACTION):
                with transaction.atomic():
                    for text in batch:
                        artifact, _ = add_artifact(
                            name,
                            TextContent(pages=(text.text,)),
                            title=text.title,
                            external_id=text.id,
                        )
                        services.plan_nodes(artifact.pk, build)
                        advance(1)
        if build.spec.is_written_about:
            self._write(build)
        with progress_bar("Indexing", Node.objects.unsettled(build).count()) as advance:
            while count := services.settle_nodes(build):
                advance(count)
        failed = Node.objects.filter(build=build, state=Node.State.FAILED)
        if failed.exists():
            raise CommandError(f"{failed.count()} passages failed: {failed[0].last_error}")

    def _write(self, build: IndexBuild) -> None:
        """Have summaries and questions written, and plan their nodes."""
        artifacts = awaited_artifacts(build).values_list("pk", flat=True)
        for artifact_id in list(artifacts):
            writing.plan_writing(artifact_id, build)
        touched: dict[UUID, set[str]] = {}
        with progress_bar("Writing", writing.due_count(build)) as advance:
            while True:
                written = writing.Written()
                writing.write_due(build, written)
                if not written.row_count:
                    break
                for artifact_id, kinds in written.touched.items():
                    touched.setdefault(artifact_id, set()).update(kinds)
                advance(written.row_count)
        for artifact_id, kinds in touched.items():
            services.plan_nodes(artifact_id, build, kinds)


def _read_modes(modes: str | None, index: str) -> list[str]:
    if modes is None:
        return _modes_of(index)
    chosen = [mode.strip() for mode in modes.split(",")]
    for mode in chosen:
        if mode not in MODES:
            raise CommandError(f"{mode!r} is no mode; there are: {', '.join(MODES)}.")
    return chosen


def _modes_of(index: str) -> list[str]:
    """What an index of this spec can answer."""
    spec = get_specs().get(index)
    kinds = spec.kinds if spec else ("chunk",)
    needed = {
        "pages": {"chunk"},
        "summaries": {"page_summary"},
        "questions": {"question"},
        "hierarchical": {"chunk", "page_summary"},
    }
    return [mode for mode, (kind, _) in MODES.items() if needed[kind] <= set(kinds)]


def _slices(texts: Sequence[CorpusText], size: int) -> Iterator[Sequence[CorpusText]]:
    for start in range(0, len(texts), size):
        yield texts[start : start + size]


def _write_json(figures: Iterable[Figures]) -> str:
    return json.dumps([asdict(each) for each in figures], indent=2)


def _write_table(figures: Sequence[Figures]) -> str:
    """Aligned columns; recall@100 under the name people say it by."""
    measures = list(figures[0].measures)
    rows = [["mode", *(_said(measure) for measure in measures), "p50 ms"]]
    rows += [
        [each.mode, *(f"{each.measures[name]:.4f}" for name in measures), f"{each.p50_ms:.2f}"]
        for each in figures
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        lines.append("  ".join(cells))
    return "\n".join(lines)


def _said(measure: str) -> str:
    return f"recall@{measure[2:]}" if measure.startswith("R@") else measure
