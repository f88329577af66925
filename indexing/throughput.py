"""How fast this installation works, as measured while it does."""

from django.db.models import F

from indexing.models import Throughput
from indexing.spec import EmbeddingSpec

REMEMBERED_SECONDS = 600  # of work; what was measured before counts less and less
LANGUAGE_MODEL = "calls of the language model"


def embedding_with(spec: EmbeddingSpec) -> str:
    """The name of embedding with this model, counted in tokens."""
    return f"{spec.provider}/{spec.model} {spec.precision}"[:300]


def note_throughput(work: str, count: float, seconds: float) -> None:
    """Count work that took this long."""
    ours = Throughput.objects.filter(work=work)
    if not ours.update(count=F("count") + count, seconds=F("seconds") + seconds):
        Throughput.objects.get_or_create(work=work, defaults={"count": count, "seconds": seconds})
    ours.filter(seconds__gt=REMEMBERED_SECONDS).update(
        count=F("count") / 2, seconds=F("seconds") / 2
    )


def count_per_second(work: str) -> float | None:
    """None while nothing of it was done here."""
    throughput = Throughput.objects.filter(work=work, seconds__gt=0, count__gt=0).first()
    return None if throughput is None else throughput.count / throughput.seconds
