"""Measure ``strata update_emergent_pairs`` on new concepts, in its own process.

``python -m benchmarks.emergent_pairs CONCEPTS`` fills the index ``knowledge`` of
``STRATA_DATA_DIR`` with rows and points. Half of their random vectors are independent; the others
form groups of four similar ones."""

import os
import subprocess
import sys
import tempfile
import uuid

import numpy as np
from numpy.typing import NDArray

from benchmarks.resources import measure_command

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings.embedded")

INDEX = "knowledge"
CONCEPTS_PER_WRITE = 1_000
GROUP_SIZE = 4
SPREAD = 0.3  # of a vector around its group's centre; cosines are about 0.92


def measure_emergent_pairs(concept_count: int) -> None:
    with tempfile.TemporaryDirectory(prefix="strata-bench-") as folder:
        environment = {**os.environ, "STRATA_DATA_DIR": folder}
        filling = [sys.executable, "-m", "benchmarks.emergent_pairs", str(concept_count)]
        subprocess.run(filling, env=environment, check=True)
        surveying = [sys.executable, "manage.py", "update_emergent_pairs", "--index", INDEX]
        used = measure_command(surveying, environment)
    print(f"update_emergent_pairs, {concept_count} concepts:")
    print(f"  exit {used.exit_status}, {used.seconds:.1f} s, CPU {used.cpu_seconds:.1f} s")
    print(
        f"  {used.peak_mib:5.0f} MiB at most: {used.anonymous_mib:.0f} its own, "
        f"{used.mapped_file_mib:.0f} of files"
    )


def write_concepts(count: int) -> None:
    from indexing.models import IndexBuild
    from indexing.services import ensure_collection, load_specs

    load_specs()
    build = IndexBuild.objects.live().get(index=INDEX)
    ensure_collection(build, "concept")
    vectors = generate_vectors(count, build.spec.embedding.dimension)
    for start in range(0, count, CONCEPTS_PER_WRITE):
        _write_batch(build.pk, start, vectors[start : start + CONCEPTS_PER_WRITE])


def generate_vectors(count: int, dimension: int) -> NDArray[np.float32]:
    random = np.random.default_rng(20)
    vectors = random.standard_normal((count, dimension), dtype=np.float32)
    grouped = count // 2 // GROUP_SIZE * GROUP_SIZE
    vectors[:grouped] *= SPREAD
    centres = random.standard_normal((grouped // GROUP_SIZE, dimension), dtype=np.float32)
    vectors[:grouped] += np.repeat(centres, GROUP_SIZE, axis=0)
    return vectors


def _write_batch(build_id: int, start: int, vectors: NDArray[np.float32]) -> None:
    from django.utils import timezone

    from concepts.models import Concept, hash_name
    from core.text import hash_text
    from indexing.models import IndexBuild, Node
    from indexing.stores import Point, get_store

    build, now = IndexBuild.objects.get(pk=build_id), timezone.now()
    concepts, nodes, points = [], [], []
    for number, vector in enumerate(vectors, start):
        label = f"Concept {number} of the synthetic ones"
        pk = uuid.UUID(hash_text(label)[:32])
        concepts.append(
            Concept(
                pk=pk,
                index=INDEX,
                label=label,
                name_hash=hash_name(label),
                text_hash=hash_text(label),
            )
        )
        nodes.append(
            Node(
                build=build,
                point_id=pk,
                kind="concept",
                text=label,
                text_hash=hash_text(label),
                input_hash=hash_text(label),
                synced_input_hash=hash_text(label),
                embedding_model=build.spec.embedding.model,
                dimension=len(vector),
                state=Node.State.SYNCED,
                planned_at=now,
                synced_at=now,
            )
        )
        payload = {"kind": "concept", "text": label}
        points.append(Point(pk, vector, None, payload))
    Concept.objects.bulk_create(concepts)
    Node.objects.bulk_create(nodes)
    get_store().upsert(build.collection("concept"), points)


def main() -> None:
    import django

    django.setup()
    from django.core.management import call_command

    call_command("migrate", verbosity=0)
    write_concepts(int(sys.argv[1]))


if __name__ == "__main__":
    main()
