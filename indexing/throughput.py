"""Stores and reads how fast this installation embeds and calls the language model."""

from django.db.models import F
from django.db.models.functions import Now

from indexing.models import Throughput
from indexing.spec import EmbeddingSpec

AVERAGING_SECONDS = 600  # of work; older samples lose weight
LANGUAGE_MODEL_CALLS = "calls of the language model"


def embedding_work_key(spec: EmbeddingSpec) -> str:
    """Key of the measurement for embedding with this model; its unit is tokens."""
    return f"{spec.provider}/{spec.model} {spec.precision}"[:300]


def add_throughput_sample(work: str, count: float, seconds: float) -> None:
    """Add ``count`` units of work that took ``seconds`` to the measurement."""
    samples = Throughput.objects.filter(work=work)
    added = {"count": F("count") + count, "seconds": F("seconds") + seconds, "updated_at": Now()}
    if not samples.update(**added):
        Throughput.objects.get_or_create(work=work, defaults={"count": count, "seconds": seconds})
    samples.filter(seconds__gt=AVERAGING_SECONDS).update(
        count=F("count") / 2, seconds=F("seconds") / 2
    )


def get_rate_per_second(work: str) -> float | None:
    """Measured units per second; None if nothing was measured yet."""
    throughput = Throughput.objects.filter(work=work, seconds__gt=0, count__gt=0).first()
    return None if throughput is None else throughput.count / throughput.seconds
