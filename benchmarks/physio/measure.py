"""How well the preset ``physio`` finds its sample texts: by question, and by calls of its tools.

No language model is called. It measures no time: the same texts give the same figures on any
machine, except for rounding.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from benchmarks.physio.write import FOLDER, QUESTIONS, TEXTS
from benchmarks.service import measured_service, wait_until_ready

LIMIT = 10


def measure_physio() -> None:
    calls: list[dict[str, Any]] = [
        {"tool": "search_knowledge_base", "arguments": {"query": question}, "texts": [text]}
        for question, text in QUESTIONS.items()
    ]
    calls += [
        json.loads(line)
        for line in (FOLDER / "tool_calls.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    found: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    steps: dict[str, Counter[str]] = defaultdict(Counter)
    no_model = dict.fromkeys(["STRATA_LLM_BASE_URL", "STRATA_LLM_MODEL", "STRATA_LLM_API_KEY"], "")
    with measured_service(**no_model) as service:
        for id, (title, text) in TEXTS.items():
            document = {"external_id": id, "title": title, "text": text}
            service.api.post("indexes/physio/artifacts/", json=document).raise_for_status()
        wait_until_ready(service, len(TEXTS), "physio")
        for call in calls:
            answer = service.api.post(
                f"indexes/physio/tools/{call['tool']}/", json=call["arguments"] | {"limit": LIMIT}
            )
            content = answer.raise_for_status().json()
            ids = [hit["artifact"]["external_id"] for hit in content["hits"]]
            found[call["tool"]].append(_measure_ranking(ids, call["texts"]))
            steps[call["tool"]][str(content["filter_applied"])] += 1
    print(f"physio, {len(TEXTS)} texts, without a language model:")
    for tool, measured in found.items():
        reciprocal_rank, recall, precision = (
            sum(column) / len(measured) for column in zip(*measured, strict=True)
        )
        said = ", ".join(f"{step} {count}" for step, count in steps[tool].items())
        print(f"  {tool:24} {len(measured):3} calls   RR {reciprocal_rank:.3f}"
              f"   recall@{LIMIT} {recall:.3f}   precision {precision:.3f}"
              f"   filter: {said}")  # fmt: skip


def _measure_ranking(ids: Sequence[str], wanted: Sequence[Any]) -> tuple[float, float, float]:
    """Reciprocal rank of the first wanted text, recall of the wanted texts, and precision of the
    hits."""
    ranks = [rank for rank, id in enumerate(ids, start=1) if id in wanted]
    return (
        1 / min(ranks) if ranks else 0.0,
        len(set(ids) & set(wanted)) / len(wanted),
        len(ranks) / len(ids) if ids else 0.0,
    )
