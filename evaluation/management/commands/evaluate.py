import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.db import transaction

from core.api_client import ApiClient, ApiCommand
from core.exceptions import InvalidInput, UnknownIndex
from core.progress_bars import progress_bar
from documents.services import TextContent, add_artifact
from evaluation.judged_queries import read_corpus, read_judged_queries
from evaluation.measures import parse_measures
from evaluation.measuring import DEFAULT_MEASURES
from evaluation.report import format_measure_name
from evaluation.systems import SEARCH_MODES, check_system_name
from indexing import services
from indexing.models import IndexBuild, Node
from indexing.services.batches import slices
from summaries import services as writing

EXIT_BELOW_THRESHOLD = 3  # exit status if a measure is below its threshold
TEXTS_PER_TRANSACTION = 200  # each commit waits for the disk
POLL_SECONDS = 0.5

Run = dict[str, Any]  # as the API answers it


class Command(ApiCommand):
    help = (
        "Measure retrieval against human judgements: one row per system. Without --index, a "
        "temporary index of the folder's corpus is built first."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "path", type=Path, nargs="?", metavar="PATH",
            help="A BEIR folder, or a CSV file with the columns query and artifact.",
        )  # fmt: skip
        parser.add_argument(
            "--golden",
            action="store_true",
            help="Use the golden queries of the index instead of PATH.",
        )
        parser.add_argument("--spec", default="plain", help="Spec of the temporary index.")
        parser.add_argument(
            "--index",
            help="An index with the documents; judgements name them by external id or id.",
        )
        parser.add_argument(
            "--modes",
            help=f"Any of {', '.join(SEARCH_MODES)}, and names of query pipelines; by "
            "default all modes that the index supports.",
        )
        parser.add_argument("--pipeline", metavar="A", help="Measure this pipeline or mode.")
        parser.add_argument("--against", metavar="B", help="Compare with this pipeline or mode.")
        parser.add_argument(
            "--measures", default=",".join(DEFAULT_MEASURES), help="In ir_measures' notation."
        )
        parser.add_argument("--json", action="store_true")
        parser.add_argument("--report", type=Path, metavar="FILE", help="Write an HTML report.")
        parser.add_argument(
            "--fail-below", action="append", default=[], metavar="MEASURE=VALUE",
            help=f"Exit with status {EXIT_BELOW_THRESHOLD} if a system is below this value; "
            "the baseline is not checked.",
        )  # fmt: skip
        # Only the parent process sets this, for the child process with its own empty data folder.
        parser.add_argument("--fill", action="store_true", help=argparse.SUPPRESS)

    def handle(self, *, path: Path | None, golden: bool, index: str | None, **options: Any) -> None:
        if (path is None) != golden or (golden and index is None):
            raise CommandError("Give a PATH, or --golden with an --index.")
        limits = _parse_thresholds(options["fail_below"])
        measures = list(dict.fromkeys([*_split_names(options["measures"]), *limits]))
        measures = [str(measure) for measure in parse_measures(measures)]
        systems = _split_names(options["pipeline"] or options["modes"] or "")
        baseline = options["against"] or ""
        for name in [*systems, *_split_names(baseline)]:
            check_system_name(name)
        judged = None if path is None else read_judged_queries(path)
        if index is None:
            assert path is not None
            if not options["fill"]:
                self._run_in_child_process(path, options)
                return
            _index_corpus(self.api, options["spec"], path)
        body: dict[str, Any] = {"index": index or options["spec"], "measures": measures}
        body |= {"systems": systems} if systems else {}
        body |= {"against": baseline} if baseline else {}
        if judged is not None:
            body |= {"queries": judged.queries, "qrels": judged.qrels}
        with self.api.working():
            run = self._measure(body)
        if options["report"] is not None:
            report = self.api.send("GET", f"evaluations/{run['id']}/report")
            options["report"].write_text(report.text, encoding="utf-8")
        self.stdout.write(_render_json(run) if options["json"] else _render_table(run))
        self._check_thresholds(run, limits)

    def _measure(self, body: dict[str, Any]) -> Run:
        """Request an evaluation and return it once it has finished."""
        run: Run = self.api.post("evaluations/", body)
        with progress_bar("Measuring", run["progress"]["total"]) as advance:
            shown = 0
            while run["state"] not in ("done", "failed"):
                time.sleep(POLL_SECONDS)
                run = self.api.get(f"evaluations/{run['id']}/")
                advance(run["progress"]["done"] - shown)
                shown = run["progress"]["done"]
        if error := run["error"]:
            raise CommandError(f"{error['detail']} [{error['code']}]")
        return run

    def _check_thresholds(self, run: Run, thresholds: Mapping[str, float]) -> None:
        failures = [
            f"{row['system']}: {name} is {row['measures'][name]:.4f}, below {lowest:g}."
            for name, lowest in thresholds.items()
            for row in run["results"]
            if row["measures"][name] < lowest and row["system"] != run["against"]
        ]
        if failures:
            self.stderr.write("\n".join(failures))
            raise SystemExit(EXIT_BELOW_THRESHOLD)

    def _run_in_child_process(self, path: Path, options: Mapping[str, Any]) -> None:
        """Run this command again in a child process with an empty data folder, apart from a running
        server and from the stored data."""
        arguments = [str(path), "--fill", *(["--json"] if options["json"] else [])]
        for name in ("spec", "modes", "pipeline", "against", "measures", "report"):
            if options[name]:
                arguments += [f"--{name}", str(options[name])]
        for limit in options["fail_below"]:
            arguments += ["--fail-below", limit]
        with tempfile.TemporaryDirectory(prefix="strata-evaluate-") as data_dir:
            environment = os.environ | {
                "DJANGO_SETTINGS_MODULE": "config.settings.embedded",
                "STRATA_DATA_DIR": data_dir,
                "STRATA_MODELS_DIR": str(settings.STRATA_MODELS_DIR),
                "STRATA_SPECS_DIR": str(settings.STRATA_SPECS_DIR),
            }
            manage = Path(settings.BASE_DIR) / "manage.py"
            finished = subprocess.run(
                [sys.executable, str(manage), "evaluate", *arguments],
                env=environment,
                check=False,
                stdout=subprocess.PIPE,
                text=True,
            )
        self.stdout.write(finished.stdout, ending="")
        if finished.returncode == EXIT_BELOW_THRESHOLD:
            raise SystemExit(EXIT_BELOW_THRESHOLD)
        if finished.returncode != 0:
            raise CommandError("The evaluation did not finish.")


def _split_names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _parse_thresholds(thresholds: Sequence[str]) -> dict[str, float]:
    """Measure -> lowest allowed value. Raises ``InvalidInput``: a threshold has another format."""
    limits = {}
    for text in thresholds:
        name, _, value = text.rpartition("=")
        try:
            lowest = float(value)
        except ValueError:
            raise InvalidInput(
                f"--fail-below must be a measure with a value, not {text!r}.",
                fix="Write it as nDCG@10=0.9.",
            ) from None
        limits[str(parse_measures([name])[0])] = lowest
    return limits


# --- Indexing ---------------------------------------------------------------------------------


def _index_corpus(api: ApiClient, name: str, folder: Path) -> None:
    """Index the corpus of a BEIR folder. This process must own the vector engine.

    Raises:
        UnknownIndex: there is no such spec.
        InvalidInput: the corpus cannot be read.
        CommandError: some texts could not be indexed.
    """
    if name not in (names := api.list_indexes()):
        raise UnknownIndex(f"There is no spec named {name!r}.", allowed=names)
    build = IndexBuild.objects.live().get(index=name)
    texts = list(read_corpus(folder))
    with progress_bar("Reading", len(texts)) as advance:
        for batch in slices(texts, TEXTS_PER_TRANSACTION):
            with transaction.atomic():
                for text in batch:
                    content = TextContent(pages=(text.text,))
                    artifact, _ = add_artifact(name, content, title=text.title, external_id=text.id)
                    services.plan_nodes(artifact.pk, build)
                    advance(1)
    if build.spec.has_generated_texts:
        _write_summaries_and_questions(build)
    with progress_bar("Indexing", Node.objects.unsynced(build).count()) as advance:
        while count := services.sync_nodes(build):
            advance(count)
    failed = Node.objects.filter(build=build, state=Node.State.FAILED)
    if failed.exists():
        raise CommandError(f"{failed.count()} passages failed: {failed[0].last_error}")


def _write_summaries_and_questions(build: IndexBuild) -> None:
    """Write the due summaries and questions, and plan their nodes."""
    planner = services.DocumentPlanner()
    with progress_bar("Writing", writing.count_due_texts(build)) as advance:
        while True:
            written = writing.WriteBatchResult()
            writing.write_due_texts(build, written)
            if not written.row_count:
                break
            while planner.plan_next(build):
                pass
            advance(written.row_count)


# --- Printing ---------------------------------------------------------------------------------


def _render_json(run: Run) -> str:
    rows = [
        {
            "mode": row["system"],
            **{name: row[name] for name in row if name != "system"},
            "query_count": run["queries"],
        }
        for row in run["results"]
    ]
    return json.dumps(rows, indent=2)


def _render_table(run: Run) -> str:
    """Return the results as aligned columns, followed by the differences to the baseline."""
    rows = [["mode", *map(format_measure_name, run["measures"]), "p50 ms", "p95 ms"]]
    rows += [
        [
            row["system"],
            *(f"{row['measures'][name]:.4f}" for name in run["measures"]),
            f"{row['p50_ms']:.2f}",
            f"{row['p95_ms']:.2f}",
        ]
        for row in run["results"]
    ]
    lines = _align_columns(rows)
    for row in run["results"]:
        if differences := row.get("differences"):
            lines += ["", f"{row['system']} against {run['against']}:"]
            lines += _align_columns(
                [[format_measure_name(n), *_format_difference(d)] for n, d in differences.items()]
            )
    return "\n".join(lines)


def _format_difference(difference: Mapping[str, Any]) -> list[str]:
    """Format the difference, its interval, and whether it is significant."""
    verdict = ""
    if difference["is_significant"]:
        verdict = "better" if difference["difference"] > 0 else "worse"
    interval = f"[{difference['low']:+.4f}, {difference['high']:+.4f}]"
    return [f"{difference['difference']:+.4f}", interval, verdict or "not significant"]


def _align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    width, *widths = (max(map(len, column)) for column in zip(*rows, strict=True))
    return [
        "  ".join([first.ljust(width), *map(str.rjust, cells, widths)]) for first, *cells in rows
    ]
