"""Two tenants in the same indexes, each with documents that only it may see, and public ones."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import pytest
from django.conf import settings
from django.test import override_settings
from rest_framework.test import APIClient

from access.grants import Grant
from concepts.emergent_pairs import update_emergent_pairs
from concepts.models import EmergentPair
from concepts.quotes import add_quote
from concepts.services import create_concept, create_relationship_type, relate_concepts
from copies.sketching import sketch_due_documents
from curation.changes import Change
from curation.edits import begin_edit
from curation.models import Edit
from curation.selecting import Selection
from documents.models import Artifact, Page, Source
from documents.originals import save_incoming_file
from documents.reading import parse_artifact
from documents.services import add_artifact
from evaluation.services import save_judgement
from evidence.services import EvidenceInput, add_evidence
from indexing import embedding, tasks
from indexing.embedding import get_embedder
from indexing.models import IndexBuild, Node
from indexing.services import load_specs, plan_unannounced_standalone_nodes
from mcp_server import endpoint
from spaces import rdkit_model
from tests.asking_mcp import answer_in_this_thread
from tests.clip import DIMENSION
from tests.factories import PARAGRAPHS, give, sync
from tests.granting import HEADER, client_of, grant_by_header
from tests.hashing import HashingEmbedder
from tests.pictures import draw
from tests.retrieval.test_tools import FIELDS, TOOLS
from tests.spaces.images.conftest import pair, use_small_models  # noqa: F401
from tests.written import ALL_KINDS, make_build, write_all

TENANTS = ("red", "blue")
NAMES = (*TENANTS, "nobody")  # a grant without groups sees what is public
SMILES = {"red": "CCO", "blue": "CCN", "": "CCC"}
FILES = {"red": "red", "blue": "blue", "": "green"}  # colours of the pictures


def canary(tenant: str) -> str:
    """A word that is in all objects of a tenant and in no query."""
    return f"canary{tenant}sings"


@dataclass
class Tenants:
    """``ids``: tenant -> name of a path parameter -> ids of what only it may see; the tenant ""
    has what is public."""

    ids: dict[str, dict[str, list[str]]] = field(default_factory=dict)

    def client(self, name: str) -> APIClient:
        return client_of(name)

    def note(self, tenant: str, **ids: Any) -> None:
        for name, value in ids.items():
            self.ids.setdefault(tenant, {}).setdefault(name, []).append(str(value))


@pytest.fixture(scope="module")
def filled(shared_store, pair, tmp_path_factory) -> Iterator[Tenants]:  # noqa: F811
    specs = tmp_path_factory.mktemp("specs")
    for name in ("evidence", "knowledge", "plain"):
        shutil.copy(settings.BASE_DIR / "specs" / f"{name}.yaml", specs)
    with (
        pytest.MonkeyPatch.context() as monkeypatch,
        override_settings(STRATA_SPECS_DIR=specs),
    ):
        _use_small_models(pair, monkeypatch)
        monkeypatch.setattr(tasks, "enqueue_reconciliation", lambda *names: None)
        monkeypatch.setattr(tasks.reconcile_indexes, "delay", lambda: None)
        answer_in_this_thread(monkeypatch)
        monkeypatch.setattr(endpoint, "FORWARDED_HEADERS", ("Authorization", HEADER))
        load_specs()
        filled = _fill()
        grants = {name: Grant(groups=frozenset({name})) for name in TENANTS}
        grant_by_header(monkeypatch, {**grants, "nobody": Grant(groups=frozenset())})
        yield filled


@pytest.fixture
def tenants(filled, db) -> Tenants:
    """Indexed once for the tests of a file, which write nothing to the store."""
    return filled


def _use_small_models(pair: Any, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    use_small_models(pair, monkeypatch)
    hash_texts = embedding.get_embedder  # of ``shared_store``

    def choose(spec: Any) -> Any:
        if spec.provider == "clip":
            return get_embedder(spec)
        return HashingEmbedder(spec) if spec.provider == "rdkit" else hash_texts(spec)

    monkeypatch.setattr(embedding, "get_embedder", choose)
    monkeypatch.setattr(rdkit_model, "parse_smiles", lambda smiles: None)


def _fill() -> Tenants:
    filled = Tenants()
    for tenant in (*TENANTS, ""):
        filled.ids[tenant] = {}
    _fill_written(filled)
    _fill_spaces(filled)
    _fill_knowledge(filled)
    _fill_evidence(filled)
    sketch_due_documents()
    _fill_edits(filled)
    for tenant in TENANTS:
        of_tenant = Page.objects.filter(artifact__groups=[tenant])
        of_tenant.update(unseen=[[canary(tenant), "hidden"]], warnings=["hidden_text"])
    return filled


def _fill_edits(filled: Tenants) -> None:
    for tenant in TENANTS:
        grant, change = (
            Grant(groups=frozenset({tenant})),
            Change(unset=["absent"], fields={"read": 1}),
        )
        ids = [UUID(each) for each in filled.ids[tenant]["artifact_id"][:1]]
        artifact = Artifact.objects.get(pk=ids[0])
        edit, _ = begin_edit(artifact.index, Selection(ids), change, grant, asked_by="")
        edit.documents.update(state="refused", error={"code": "no", "detail": canary(tenant)})
        Edit.objects.filter(pk=edit.pk).update(state="done")
        filled.note(tenant, edit_id=edit.pk)


def _groups(tenant: str) -> list[str]:
    return [tenant] if tenant else []


def _text(tenant: str, number: int) -> str:
    # All texts of a number are alike, so that hidden ones rank as high as visible ones.
    mark = f" {canary(tenant)} {canary(tenant)}{number}" if tenant else " Everybody knows."
    return f"{PARAGRAPHS[number]}{mark}"


def _fill_written(filled: Tenants) -> None:
    build = make_build(
        "full",
        metadata=FIELDS | {"people": {"type": "keyword", "many": True, "said_as": "person"}},
        tools=TOOLS,
        identifiers={"note": {"pattern": "N-[a-z]*[0-9]"}},
        search={"pipeline": "papers"},
        **ALL_KINDS,
    )
    for tenant in (*TENANTS, ""):
        for number in range(len(PARAGRAPHS)):
            notes = give(
                _text(tenant, number),
                index="full",
                title=f"Notes {canary(tenant)}" if tenant else "Notes",
                external_id=f"N-{tenant}{number}",
                metadata={
                    "conditions": ["sore back"],
                    "people": [f"{canary(tenant)}, Ada" if tenant else "Lovelace, Ada"],
                    "note": canary(tenant),
                },
                groups=_groups(tenant),
            )
            write_all(build, notes, fields={"conditions": ["sore back"]})
            judgement, _ = save_judgement(
                "full",
                f"{canary(tenant)} {number}",
                is_good=True,
                judged_by="tests",
                artifact_id=notes.pk,
            )
            filled.note(
                tenant,
                artifact_id=notes.pk,
                page_id=notes.pages.get().pk,
                source_id=notes.sources.get().pk,
                judgement_id=judgement.pk,
            )
            for node in Node.objects.filter(build=build, artifact=notes, kind="chunk"):
                filled.note(tenant, node_id=node.point_id, chunk_id=node.point_id)


def _fill_spaces(filled: Tenants) -> None:
    gallery = make_build("gallery", images={"dimension": DIMENSION})
    pharmacy = make_build("pharmacy", compounds=True, metadata={"smiles": {"type": "keyword"}})
    for tenant in (*TENANTS, ""):
        poppy, _ = add_artifact(
            "gallery",
            save_incoming_file(f"{canary(tenant)}.png", [draw(FILES[tenant])]),
            title=f"Poppy {canary(tenant) if tenant else ''}",
            groups=_groups(tenant),
        )
        parse_artifact(poppy.pk)
        diary = give(_text(tenant, 0), index="gallery", groups=_groups(tenant))
        drug = give(
            _text(tenant, 1),
            index="pharmacy",
            metadata={"smiles": SMILES[tenant], "note": canary(tenant) if tenant else ""},
            groups=_groups(tenant),
        )
        sync(gallery, poppy, diary)
        sync(pharmacy, drug)
        for artifact in (poppy, diary, drug):
            filled.note(tenant, artifact_id=artifact.pk)


def _fill_knowledge(filled: Tenants) -> None:
    """A concept that both quote is hidden from both; each tenant has concepts of its own."""
    build = IndexBuild.objects.live().get(index="knowledge")
    eats = create_relationship_type("knowledge", "EATS", category="ecology")
    shared = create_concept("knowledge", "Shared heron", description="Both know it.")
    filled.note("red", unshared_id=shared.pk)
    made: list[Any] = [eats, shared]
    for tenant in (*TENANTS, ""):
        word = canary(tenant) if tenant else "plainly"
        passage = give(_text(tenant, 0), index="knowledge", groups=_groups(tenant))
        heron, fish, near = (
            create_concept("knowledge", f"{label} {word}", description=f"It {word}.")
            for label in ("heron waits for", "fish without moving in", "heron waits for a")
        )
        kind = create_relationship_type("knowledge", f"EATS {word}")
        for concept in (heron, fish, near):
            instance, _ = add_quote(concept.pk, "The heron stands", artifact_id=passage.pk)
            filled.note(tenant, concept_id=concept.pk, instance_id=instance.pk)
        if tenant:
            add_quote(shared.pk, "The heron stands", artifact_id=passage.pk)
        for type_ in (eats, kind):
            edge, _ = relate_concepts("knowledge", heron.pk, type_.pk, fish.pk)
            filled.note(tenant, relationship_id=edge.pk)
        filled.note(tenant, type_id=kind.pk, artifact_id=passage.pk)
        filled.note(tenant, source_id=Source.objects.get(artifact=passage).pk)
        made += [heron, fish, near, kind]
        sync(build, passage)
    plan_unannounced_standalone_nodes(build)  # the relationships
    sync(build, *Artifact.objects.filter(pk__in=[row.pk for row in made]))
    while update_emergent_pairs(build):
        pass
    for pair_row in EmergentPair.objects.select_related("first", "second"):
        for tenant in TENANTS:
            if any(canary(tenant) in end.label for end in (pair_row.first, pair_row.second)):
                filled.note(tenant, pair_id=pair_row.pk)


def _fill_evidence(filled: Tenants) -> None:
    for tenant in (*TENANTS, ""):
        grant = Grant(groups=frozenset(_groups(tenant)))
        found = [
            EvidenceInput(
                f"https://{number}.{canary(tenant) if tenant else 'public'}.example/",
                f"{_text(tenant, number)} Finding of {tenant}.",
                citation={"source": canary(tenant) if tenant else "a book"},
            )
            for number in range(len(PARAGRAPHS))
        ]
        for decision in add_evidence("evidence", found, grant=grant):
            filled.note(tenant, artifact_id=decision.artifact_id)
    for tenant in TENANTS:  # each repeats a public finding; other tenants must not see that
        word = canary(tenant)
        public = EvidenceInput(
            f"https://again.{word}.example/",
            f"{_text('', 0)} Finding of .",
            citation={"source": word},
        )
        grant = Grant(groups=frozenset(_groups(tenant)))
        [repeat] = add_evidence("evidence", [public], grant=grant)
        assert repeat.verdict == "duplicate"
    sync(
        IndexBuild.objects.live().get(index="evidence"), *Artifact.objects.filter(index="evidence")
    )
