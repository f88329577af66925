"""Makes the sketches of documents, and joins near copies to groups.

Source: Broder, *On the resemblance and containment of documents*, 1997; the bands are those of
Leskovec, Rajaraman and Ullman, *Mining of Massive Datasets*, section 3.4.
"""

import re
import struct
import uuid
from collections.abc import Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef
from rensa import RMinHash

from copies.models import Band, Sketch
from documents.models import Artifact

PERMUTATIONS = 64
# Of a band. Of pairs with a similarity of 0.8, all but 0.02 % share one of the 16 bands.
ROWS = 4
SEED = 1
MIN_SIMILARITY = 0.8  # from which two documents are near copies
SHINGLE_WORDS = 3
MIN_SHINGLES = 20  # shorter texts are alike by chance
MAX_CHARS = 1_000_000  # of a document that are compared
MAX_MATCHES = 200  # documents with which one is compared
DOCUMENTS_PER_RUN = 500

_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+")


def sketch_due_documents(limit: int = DOCUMENTS_PER_RUN) -> int:
    """Sketch documents whose content has no sketch yet; return how many."""
    current = Sketch.objects.filter(artifact=OuterRef("pk"), sha256=OuterRef("sha256"))
    due = Artifact.objects.filter(~Exists(current), state=Artifact.State.PARSED)
    ids = list(due.order_by("pk").values_list("pk", flat=True)[:limit])
    for artifact_id in ids:
        _sketch(artifact_id)
    return len(ids)


def _sketch(artifact_id: uuid.UUID) -> None:
    with transaction.atomic():
        artifact = Artifact.objects.select_for_update().filter(pk=artifact_id).first()
        if artifact is None or artifact.state != Artifact.State.PARSED:
            return
        Sketch.objects.filter(pk=artifact_id).delete()
        signature = make_signature(_read_text(artifact))
        keys = make_keys(signature)
        own = Sketch(artifact=artifact, sha256=artifact.sha256, signature=pack(signature))
        groups = {own.group, *_find_groups(artifact, signature, keys)}
        own.group = min(groups)
        Sketch.objects.filter(group__in=groups).update(group=own.group)
        own.save()
        Band.objects.bulk_create(Band(sketch=own, key=key) for key in keys)


def _read_text(artifact: Artifact) -> str:
    parts: list[str] = []
    length = 0
    for text in artifact.pages.order_by("index").values_list("text", flat=True).iterator():
        parts.append(text)
        length += len(text)
        if length >= MAX_CHARS:
            break
    return "\n".join(parts)[:MAX_CHARS]


def _find_groups(
    artifact: Artifact, signature: Sequence[int], keys: Sequence[int]
) -> set[uuid.UUID]:
    sharing = Band.objects.filter(key__in=keys, sketch=OuterRef("pk"))
    others = Sketch.objects.filter(Exists(sharing), artifact__index=artifact.index)
    return {
        other.group
        for other in others.order_by("-pk")[:MAX_MATCHES]
        if measure_similarity(signature, unpack(other.signature)) >= MIN_SIMILARITY
    }


def make_signature(text: str) -> list[int]:
    """The MinHash of a text's words, whatever its numbers; empty for a short text."""
    words = _WORD.findall(_DIGITS.sub("0", text.casefold()))
    parts = zip(*(words[start:] for start in range(SHINGLE_WORDS)), strict=False)
    shingles = [" ".join(part) for part in parts]
    if len(shingles) < MIN_SHINGLES:
        return []
    sketch = RMinHash(num_perm=PERMUTATIONS, seed=SEED)
    sketch.update(shingles)
    return list(sketch.digest())


def make_keys(signature: Sequence[int]) -> list[int]:
    """The keys of its bands; those of different places differ."""
    keys = []
    for start in range(0, len(signature), ROWS):
        band = struct.pack(f"<{ROWS + 1}I", start, *signature[start : start + ROWS])
        keys.append(struct.unpack("<q", uuid.uuid5(uuid.NAMESPACE_OID, band.hex()).bytes[:8])[0])
    return keys


def measure_similarity(left: Sequence[int], right: Sequence[int]) -> float:
    """The share of equal numbers, which estimates that of the shingles that both have."""
    if not left or len(left) != len(right):
        return 0.0
    return sum(map(int.__eq__, left, right)) / len(left)


def pack(signature: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(signature)}I", *signature)


def unpack(stored: bytes | memoryview) -> tuple[int, ...]:
    return struct.unpack(f"<{len(stored) // 4}I", bytes(stored))
