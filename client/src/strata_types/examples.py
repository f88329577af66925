"""An example of each answer, for the OpenAPI document."""

from typing import Any

import strata_types as types

# fmt: off

ANY_HIT: types.SearchHit = {
    "score": 0.0328, "score_kind": "rrf", "node_id": "8c2f0a52-58a4-5d5c-9d0e-3d4f0a4f2f6e",
    "kind": "chunk", "text": "The lamp is lit at sunset.", "verdict": "exact",
    "warnings": [],
    "artifact": {
        "id": "0b7c1c9e-6c1b-4f5e-9a55-6f0a1de3f6a1", "title": "Keeper's handbook",
        "external_id": "handbook-7", "file_name": "handbook.pdf",
    },
    "metadata": {"year": 1911},
}
HIT: types.Hit = {
    **ANY_HIT, "start_offset": 0, "end_offset": 26,
    "page": {"id": "5d0f6f0e-1c0a-4a53-8f6e-2b1f5f7f3a10", "index": 0},
    "source": {"id": "a3bb189e-8bf9-4888-9912-ace4e6543002", "ordinal": 0},
}
COSINE_HIT: types.Hit = {**HIT, "score": 0.79, "score_kind": "cosine"}
SHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
AT = "2026-03-02T09:30:00Z"

SOURCE: types.DocumentSource = {
    "name": "handbook", "type": "folder", "place": "/srv/handbook", "every": "5m", "health": "well",
    "problem": None, "listed_at": AT, "finished_at": AT, "next_listing_at": AT, "waits_until": None,
    "waiting_removals": 0, "entries": {"current": 412, "failed": 1},
    "report": {"listed": 413, "added": 1, "unchanged": 412, "missing": 0, "stored": 1},
}
CHANGES: types.SourceChanges = {"count": 1, "bytes": 2_048, "paths": ["lamp/care.md"]}
NO_CHANGES: types.SourceChanges = {"count": 0, "bytes": 0, "paths": []}


def _list(row: Any, **others: Any) -> dict[str, Any]:
    return {"count": 1, "next": None, "previous": None, "results": [row], **others}


def _answer(**content: Any) -> dict[str, Any]:
    return {
        "index": "handbook", "build": 1,
        "took_ms": {"embed": 4.1, "search": 1.9, "verify": 0.8, "total": 7.2}, "notes": [],
        "dropped": {"orphans": 0, "integrity_errors": 0}, **content,
    }


# --- Documents, indexes and keys -------------------------------------------------------------

ARTIFACT: types.Artifact = {
    "id": HIT["artifact"]["id"],
    "index": "handbook", "title": "Keeper's handbook", "file_name": "handbook.pdf",
    "external_id": "handbook-7", "part_of": None, "url": "https://lights.example/handbook",
    "media_type": "application/pdf", "encoding": "", "sha256": SHA256, "byte_count": 48_213,
    "metadata": {"year": 1911}, "groups": ["keepers"], "is_held": False, "revision": 42,
    "status": "ready", "error": None, "warnings": [], "pages": 12, "ocr": None,
    "nodes": {"pending": 0, "synced": 87, "failed": 0},
    "indexed_revision": 42, "searchable_at": AT, "created_at": AT, "updated_at": AT,
    "near_duplicates": 0,
}
PAGE: types.PageInfo = {
    "id": HIT["page"]["id"],
    "index": 0, "label": "Lighting the lamp", "char_count": 26, "ocr_confidence": None,
    "warnings": ["hidden_text"],
}
INDEX: types.Index = {
    "name": "handbook", "title": "Handbook", "description": "How the lights are kept.", "build": 1,
    "search_settings": 1, "kinds": ["chunk", "page_summary"],
    "metadata": [
        {
            "name": "year", "type": "integer", "many": False, "values": [], "closed": False,
            "description": "When it was written.",
        }
    ],
    "nodes": {"pending": 0, "synced": 99, "failed": 0, "deleting": 0}, "artifacts": 1,
    "artifacts_waiting": 0, "artifacts_failed": 0, "artifacts_partial": 0,
    "oldest_pending_seconds": None, "problem": None,
}
BUILD: types.Build = {
    "index": "handbook", "number": 2, "state": "building", "kinds": ["chunk", "page_summary"],
    "nodes": {"pending": 12, "synced": 87, "failed": 0, "deleting": 0}, "artifacts_missing": 1,
    "artifacts_unread": 0, "artifacts_not_reread": 0,
    "embedded": 5, "copied": 82, "promotion": "when_complete", "comparison": None,
    "max_calls": None, "deadline_at": None, "paused_at": None, "pause_reason": None,
    "problem": None, "created_at": AT, "promoted_at": None,
}
REPORT: types.VerificationReport = {
    "index": "handbook", "build": 1, "is_sound": False, "artifact_count": 1, "node_count": 99,
    "point_count": 98, "failed_count": 0, "repaired_count": 0, "findings": {"missing": 1},
    "examples": {"missing": [HIT["node_id"]]},
    "remedies": {"missing": "They are embedded and written again."},
}
REGENERATION: types.Regeneration = {"types": ["chunk"], "examined": 10, "due": 2, "nodes": 31}
EDIT: types.Edit = {
    "id": "3f0b1f0e-5a0c-4a53-9d0a-0d5c2c1b7e11", "index": "handbook", "state": "done",
    "change": {"groups": ["keepers"]}, "count": 12, "waiting": 0, "changed": 12, "refused": 0,
    "undone": 0, "error": None, "undo_until": "2027-01-31T00:00:00Z", "created_at": AT,
    "finished_at": AT,
}
KEY: types.Key = {
    "id": 7, "name": "reader", "prefix": "strata_CRLkj", "scope": "search", "indexes": ["handbook"],
    "groups": None, "state": "active", "created_at": AT, "expires_at": "2027-01-31T00:00:00Z",
    "last_used_at": None, "revoked_at": None,
}
PERSON: types.Person = {
    "id": 3, "name": "ada", "groups": ["editors"], "is_active": True, "is_superuser": False,
    "is_changeable": True, "uses_provider": False, "last_sign_in_at": AT,
}
EDITORS: types.PeopleGroup = {
    "name": "editors", "scope": "write", "indexes": ["handbook"], "groups": None,
    "is_filled_from_claim": True,
}
DELIVERY: types.Delivery = {
    "id": "6c1a3b1e-9b35-4c43-8a3b-0d9b8f2f3c55", "receiver": "https://one.example/hook",
    "event": "artifact.ready", "artifact_id": ARTIFACT["id"], "state": "due", "attempts": 1,
    "last_status": 500, "last_error": "It answered 500.", "next_attempt_at": AT, "created_at": AT,
    "delivered_at": None,
}
AUDIT_ROW: types.AuditRow = {
    "id": 812, "at": AT, "subject": 3, "caller": "key", "caller_id": 7, "name": "reader",
    "address": "192.0.2.7", "is_erased": False, "method": "DELETE",
    "route": "/api/v1/artifacts/<artifact_id>", "index": "handbook", "document": ARTIFACT["id"],
    "status": 200, "position": 812, "seal": SHA256,
}

# --- Searches --------------------------------------------------------------------------------

QUESTION_HIT = {
    **ANY_HIT, "kind": "question", "start_offset": 0, "end_offset": 26, "page": HIT["page"],
    "source": "handbook.pdf", "passage": HIT["source"],
    "id": HIT["node_id"], "chunk_id": "16fd2706-8baf-533b-82eb-8c7fada847da",
    "question": "When is the lamp lit?", "similarity": 0.81, "summary": "When the lamp is lit.",
}
SUMMARY_HIT = {
    **ANY_HIT, "kind": "page_summary", "node_id": PAGE["id"],
    "text": "When and how the lamp is lit.", "start_offset": None, "end_offset": None,
    "page": HIT["page"], "source": None, "type": "page_summary",
    "entity_id": PAGE["id"], "artifact_id": ARTIFACT["id"], "artifact_title": ARTIFACT["title"],
    "summary_text": "When and how the lamp is lit.", "model_name": "extractive",
    "date_embedded": AT, "page_id": PAGE["id"], "page_index": 0,
}
PAGE_GROUP: types.PageGroup = {
    "page_id": PAGE["id"], "page_index": 0, "score": 0.0328,
    "summary_snippet": "When and how the lamp is lit.", "supporting_chunks": [HIT],
}
ARTIFACT_GROUP: types.ArtifactGroup = {
    "artifact_id": ARTIFACT["id"], "artifact_title": ARTIFACT["title"], "file_name": "handbook.pdf",
    "score": 0.0328, "summary_snippet": "How the light is kept.", "pages": [PAGE_GROUP],
}
SPACE_HIT = {
    "score": 0.92, "score_kind": "cosine", "artifact": HIT["artifact"], "metadata": {},
    "passage": None,
}
MATCH = {"node_id": HIT["node_id"], "similarity": 0.92, "rank": 1, "verdict": "exact"}
CITATION: types.Citation = {
    "number": 1, "answer_start": 0, "answer_end": 26, "node_id": HIT["node_id"],
    "artifact_id": ARTIFACT["id"],
    "source_id": HIT["source"]["id"],
    "start_offset": 0, "end_offset": 26, "is_supported": True,
}
TOOL: types.Tool = {
    "name": "search_by_exercise", "description": "How an exercise is done, and for what.",
    "parameters": {
        "type": "object",
        "properties": {
            "exercise": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 10},
        },
        "required": ["exercise"], "additionalProperties": False,
    },
}

# --- Concepts and findings -------------------------------------------------------------------

CONCEPT: types.Concept = {
    "id": "b4a1d6a8-3a5e-4a39-9a43-0a1c6a6d1b11", "index": "knowledge", "label": "Heron",
    "description": "A wading bird.", "search_terms": ["Ardea"], "evidence_count": 1,
    "relationship_count": 1, "revision": 51,
}
CONCEPT_LABEL: types.ConceptLabel = {"id": CONCEPT["id"], "label": CONCEPT["label"]}
OTHER_LABEL: types.ConceptLabel = {"id": "0d9f8e7c-6b5a-4493-8271-605f4e3d2c1b", "label": "Fish"}
RELATIONSHIP_TYPE: types.RelationshipType = {
    "id": "f2f3f4a0-0b1c-4d5e-8f90-1a2b3c4d5e6f", "index": "knowledge", "name": "EATS",
    "category": "ecology", "description": "Feeds on.", "revision": 52,
}
RELATIONSHIP: types.Relationship = {
    "id": "7e57d004-2b97-4e7a-b45f-5387367791cd", "source": CONCEPT_LABEL,
    "type": {"id": RELATIONSHIP_TYPE["id"], "name": "EATS", "category": "ecology"},
    "target": OTHER_LABEL,
}
INSTANCE: types.Instance = {
    "id": "c9bf9e57-1685-4c89-bafb-ff5af830be8a", "quote": "The heron stands in the shallows",
    "start_offset": 0, "end_offset": 32, "verdict": "exact",
    "artifact": {
        "id": ARTIFACT["id"], "title": "Field notes", "external_id": None, "file_name": "notes.txt",
    },
    "source": {"id": HIT["source"]["id"], "ordinal": 0, "heading": ""},
}


def _make_entity_hit(kind: str, entity: Any, text: str) -> dict[str, Any]:
    names = ("id", "index", "label", "name", "category", "description", "search_terms")
    return {
        "score": 0.83, "score_kind": "cosine", "node_id": entity["id"], "kind": kind, "text": text,
        "start_offset": None, "end_offset": None, "artifact": None, "page": None, "source": None,
        "metadata": {}, "verdict": "exact",
        "ways": [{"way": kind, "similarity": 0.83, "weight": 1.0, "score": 0.83, "through": {}}],
        **{name: entity[name] for name in names if name in entity},
    }


CONCEPT_HIT = {**_make_entity_hit("concept", CONCEPT, "Heron"), "evidence": [INSTANCE]}
TYPE_HIT = {
    **_make_entity_hit("relationship_type", RELATIONSHIP_TYPE, "EATS"),
    "relationships": [RELATIONSHIP],
}
CONCEPT_SOURCE = {
    "id": HIT["source"]["id"],
    "ordinal": 0, "heading": "", "text": "The heron stands in the shallows at dawn.",
    "artifact": INSTANCE["artifact"], "page": HIT["page"], "neighbours": [],
}
SOURCE_HIT = {
    **CONCEPT_SOURCE, "kind": "source", "index": "knowledge", "similarity": 0.79, "score": 0.79,
    "score_kind": "cosine", "stale": False,
    "ways": [{"way": "source", "similarity": 0.79, "weight": 1.0, "score": 0.79, "through": {}}],
    "chunks": [COSINE_HIT],
    "concepts": [{**CONCEPT_LABEL, "evidence": INSTANCE}],
}
KNOWLEDGE = {"index": "knowledge", "build": 1, "took_ms": {"embed": 4.1, "total": 7.2}}
ABOUT_CONCEPT = {"index": "knowledge", "concept": CONCEPT_LABEL}
PAIR = {
    "id": "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "index": "knowledge",
    "concepts": [CONCEPT_LABEL, {"id": "6fa459ea-ee8a-4ca4-894e-db77e160355e", "label": "Egret"}],
    "similarity": 0.88, "way": "nearness", "state": "open", "found_at": AT,
    "bridges": [{**SOURCE_HIT, "similarities": [0.79, 0.81]}],
}
FINDING: types.EvidenceItem = {
    "url": "https://journal.example/aspirin",
    "content": "Aspirin lowers the risk of a second stroke.",
    "citation": {
        "source": "Journal of Examples", "title": "Aspirin after stroke", "date": "2021-05-14",
        "authors": ["A. Author"],
    },
}
REFERENCE: types.EvidenceReference = {
    "url": "https://news.example/aspirin",
    "content": "A study found that aspirin lowers the risk of a second stroke.",
    "citation": {"date": "May 2021"}, "similarity": 0.95, "added_at": AT,
}
NEAR: types.NearFinding = {
    "artifact_id": "7f3d0b1e-52c4-4a86-9d1f-0e8b6a2c4d57", "similarity": 0.94,
    "url": "https://other.example/aspirin",
    "content": "Aspirin does not lower the risk of a second stroke.",
}
EVIDENCE_HIT = {
    **COSINE_HIT, **FINDING, "similarity": 0.93, "references": [REFERENCE], "similar_to": [NEAR],
}

# --- Evaluations -----------------------------------------------------------------------------

RESULT: types.SystemResult = {
    "system": "hybrid", "measures": {"nDCG@10": 0.91}, "p50_ms": 12.4, "p95_ms": 19.7,
    "differences": {
        "nDCG@10": {
            "baseline": 0.85, "system": 0.91, "difference": 0.06, "low": 0.02, "high": 0.11,
            "is_significant": True,
        }
    },
}
EVALUATION: types.Evaluation = {
    "id": "9c5b94b1-35ad-49bb-b118-8e8fc24abf80", "index": "handbook", "build": 1, "state": "done",
    "systems": ["hybrid", "sparse"], "against": "sparse", "measures": ["nDCG@10"],
    "judgements": "given", "judgements_hash": SHA256, "queries": 1,
    "progress": {"done": 2, "total": 2}, "results": [RESULT], "error": None, "asked_by": "key ci",
    "created_at": AT, "finished_at": AT,
}
JUDGEMENT: types.Judgement = {
    "id": "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed", "index": "handbook",
    "query": "when is the lamp lit", "artifact_id": ARTIFACT["id"], "page_index": 0,
    "node_id": HIT["node_id"], "verdict": "good", "judged_by": "vera", "judged_at": AT,
}

# --- Of each answer --------------------------------------------------------------------------

EXAMPLES: dict[Any, Any] = {
    types.Artifact: ARTIFACT,
    types.WrittenArtifact: {**ARTIFACT, "verdict": "added", "replaced": None},
    types.ArtifactList: _list(ARTIFACT),
    types.Page: {
        **PAGE, "artifact_id": ARTIFACT["id"], "text": HIT["text"],
        "unseen": [
            {"reason": "deleted", "detail": "deleted or struck out", "char_count": 32}
        ],
        "unseen_start": None,
        "unreadable_count": 0,
    },
    types.DocumentSource: SOURCE,
    types.DocumentSourceList: _list(SOURCE),
    types.SourceEntryList: _list({
        "path": "lamp/care.md", "state": "failed", "artifact_id": None, "byte_count": 2_048,
        "missing_since": None, "attempts": 5, "next_attempt_at": AT,
        "problem": {"code": "entry_refused", "detail": "The file cannot be read."},
    }),
    types.SourcePreview: {
        "added": CHANGES, "changed": NO_CHANGES, "relabelled": NO_CHANGES, "renamed": NO_CHANGES,
        "removed": NO_CHANGES, "unchanged": {"count": 412, "bytes": 0, "paths": []},
    },
    types.ConfirmedRemovals: {"confirmed": 120},
    types.DuplicateGroupList: _list(
        {"count": 2, "documents": [{**HIT["artifact"], "updated_at": AT}]}
    ),
    types.UnseenTextList: _list({"reason": "deleted", "text": "The lamp is lit an hour earlier."}),
    types.PageList: _list(PAGE),
    types.Embeddings: {
        "index": "handbook", "model": "all-MiniLM-L6-v2", "dimension": 4, "input_type": "query",
        "vectors": [[0.41, -0.27, 0.63, 0.59], [0.12, 0.55, -0.48, 0.67]], "truncated": [],
    },
    types.PassageBoxes: {
        "boxes": [{"left": 0.12, "top": 0.31, "right": 0.87, "bottom": 0.33}],
        "are_whole_lines": False,
    },
    types.BatchVerdict: {
        "line": 1, "verdict": "added", "id": ARTIFACT["id"], "revision": 42, "replaced": None,
    },
    types.Removal: {
        "id": ARTIFACT["id"], "deleted": True, "revision": 43, "points": 0,
        "parts": [], "collections": {"handbook.page_embeddings.1": 0}, "waits_for": [],
    },
    types.Summary: {
        "entity_id": PAGE["id"], "type": "page_summary", "artifact_id": ARTIFACT["id"],
        "revision": 44, "text": "When and how the lamp is lit.", "model_name": "by hand",
        "is_by_hand": True, "state": "written", "error": None, "input_hash": SHA256,
        "written_at": AT, "citations": [],
    },
    types.ChunkQuestions: {
        "chunk_id": HIT["node_id"], "artifact_id": ARTIFACT["id"], "revision": 44,
        "questions": ["When is the lamp lit?"], "summary": "Lighting the lamp.",
        "model_name": "by hand", "is_by_hand": True,
    },
    types.PagePassageList: _list(
        {
            "id": HIT["node_id"], "text": HIT["text"], "source_id": HIT["source"]["id"],
            "start_offset": 0, "end_offset": 26, "chunk_id": None, "verdict": "exact",
            "concept": None,
        }
    ),
    types.Source: {
        **HIT["source"], "heading": "Lighting the lamp", "text": HIT["text"], "start": 0, "end": 26,
        "content_hash": SHA256,
        "artifact": {**HIT["artifact"], "index": "handbook"},
        "page": {**HIT["page"], "label": ""},
        "chunks": [
            {
                "node_id": HIT["node_id"], "strategy": "sentence", "chunk_index": 0,
                "start_offset": 0, "end_offset": 26, "state": "synced",
            }
        ],
        "neighbours": [],
    },
    types.Index: INDEX,
    types.IndexList: _list(INDEX),
    types.IndexRemoval: {
        "index": "handbook", "deleted": True, "points": 0,
        "collections": {"handbook.page_embeddings.1": 0}, "waits_for": [], "artifact_count": 0,
        "node_count": 0, "build_count": 0, "has_spec": False,
    },
    types.Build: BUILD,
    types.BuildList: _list(BUILD),
    types.SpecFile: {
        "index": "minutes",
        "text": "title: Minutes\nchunks:\n  context: [title, heading]\n",
        "is_editable": True,
        "problem": None,
    },
    types.RetriedWork: {"files": 1, "documents": 0, "texts": 0, "nodes": 12},
    types.Work: {
        "waiting": [
            {"work": "embedding", "index": "handbook", "count": 118, "oldest_seconds": 4},
        ],
        "failures": [
            {
                "work": "reading files", "index": "handbook", "count": 2,
                "error": "The PDF is damaged and cannot be opened.", "is_retryable": True,
            },
        ],
        "parts": [{"part": "database", "is_ok": True, "detail": "ok"}],
        "checks": [
            {"subject": "llm", "is_ok": True, "detail": "gpt-5-mini writes texts.", "fix": ""},
        ],
    },
    types.StoredVectors: {
        "vectors": [
            {
                "id": HIT["node_id"],
                "payload_hash": "6f0d9a1f0e0a7f7d4b6f5f6a3a2f1f0c9e8d7c6b5a493827161504f3e2d1c0b9",
                "vector": "AACAPwAAAAA=",
            }
        ]
    },
    types.BuildEstimate: {
        "index": "handbook", "live_build": 1,
        "changes": ["chunks.strategies: sentence of 500 characters -> sentence of 300 characters"],
        "search_settings": 1, "search_changes": ["search.sparse_weight: 1.0 -> 2.0"],
        "store_changes": ["store.quantization: none -> int8"], "is_free": False,
        "open_build": None,
        "outdated_count": 0, "is_estimate": False, "artifact_count": 1, "sampled_count": 1,
        "kinds": {
            "chunk": {
                "kept": 3, "reembedded": 0, "rebuilt": 120, "removed": 84, "texts": 120,
                "tokens": 9600, "calls": 0, "prompt_tokens": 0, "completion_tokens": 0,
            }
        },
        "embedding_minutes": 0.2, "writing_minutes": None, "disk_bytes": 737280,
    },
    types.IndexVerification: {**REPORT, "beside": [], "warnings": []},
    types.VerificationAnswer: {"reports": [REPORT]},
    types.Regeneration: REGENERATION,
    types.Key: KEY,
    types.NewKey: {**KEY, "secret": "strata_CRLkjO3qkXW0nqfR0oHq2k1mYwC7pZ5vT8sLxB4dJgE"},
    types.KeyList: _list(KEY),
    types.Person: PERSON,
    types.PersonWithLink: {
        **PERSON,
        "password_link": "http://127.0.0.1:8000/set-password/Mw/d1a2b3-4c5d6e7f8a9b0c1d/",
    },
    types.PersonList: _list(PERSON, groups=[EDITORS]),
    types.Delivery: DELIVERY,
    types.EmittedDeliveries: _list(DELIVERY),
    types.DeliveryList: _list(DELIVERY, receivers=[DELIVERY["receiver"]]),
    types.AuditRowList: _list(AUDIT_ROW),
    types.ChangeList: _list(
        {
            "at": AT, "caller": "key", "name": "reader", "method": "PUT",
            "route": "/api/v1/artifacts/<artifact_id>/content", "status": 202, "revision": 41,
        }
    ),
    types.AuditVerification: {
        "is_intact": True, "broken_at": None, "rows": 812, "unsealed": 2, "position": 812,
        "seal": SHA256,
    },
    types.SubjectErasure: {"subject": 3, "is_erased": True},
    types.PageSearchAnswer: _answer(relevant=True, hits=[HIT]),
    types.SummarySearchAnswer: _answer(relevant=True, hits=[SUMMARY_HIT]),
    types.QuestionSearchAnswer: _answer(relevant=True, hits=[QUESTION_HIT]),
    types.HierarchicalAnswer: _answer(relevant=True, artifacts=[ARTIFACT_GROUP]),
    types.StructureSearchAnswer: _answer(
        hits=[{**SPACE_HIT, "structure": {**MATCH, "smiles": "CC(=O)Oc1ccccc1C(=O)O"}}]
    ),
    types.ImageSearchAnswer: _answer(
        hits=[{**SPACE_HIT, "image": {**MATCH, "media_type": "image/png", "sha256": SHA256}}]
    ),
    types.FacetAnswer: {
        "index": "handbook", "build": 1, "kind": "chunk",
        "facets": [
            {
                "field": "year",
                "values": [{"value": 1911, "count": 87, "documents": 4}],
                "missing": 1,
            }
        ],
    },
    types.ToolList: _list(TOOL),
    types.ToolAnswer: _answer(relevant=True, hits=[QUESTION_HIT], filter_applied="exact"),
    types.Answer: {
        "index": "handbook", "build": 1, "pipeline": "plain", "relevant": True, "refusal": None,
        "hits": [{**HIT, "similarity": 0.81}],
        "relationships": [{**RELATIONSHIP, "quotes": [{"number": 1, **INSTANCE}]}],
        "filters": {}, "parsed": {}, "question": "When is the lamp lit?",
        "semantic_query": "When is the lamp lit?", "query": "When is the lamp lit?",
        "queries": ["When is the lamp lit?"], "identified": [], "notes": [],
        "dropped": {"orphans": 0, "integrity_errors": 0},
        "started_at": AT, "found_at": "2026-03-02T09:30:00.009400Z",
        "took_ms": {"retriever": 6.8, "total": 9.4},
        "answer": "The lamp is lit at sunset. [1]",
        "model_name": "extractive", "citations": [CITATION], "unknown_marks": 0,
    },
    types.AnswerStreamEvent: {
        "id": "f3a1.0", "event": "chunk", "data": '{"text": "The lamp is lit at sunset. [1]"}',
    },
    types.PipelineList: _list(
        {
            "name": "plain", "title": "Plain", "description": "One hybrid search.",
            "components": [
                {"name": "fusion", "type": "Fusion", "init_parameters": {}},
                {"name": "context", "type": "ContextBuilder", "init_parameters": {}},
            ],
            "connections": [{"sender": "fusion.passages", "receiver": "context.passages"}],
        },
        mistakes=[],
    ),
    types.Concept: CONCEPT,
    types.ConceptList: _list(CONCEPT),
    types.Instance: INSTANCE,
    types.InstanceList: _list(INSTANCE),
    types.RelationshipType: RELATIONSHIP_TYPE,
    types.RelationshipTypeList: _list(RELATIONSHIP_TYPE),
    types.Relationship: RELATIONSHIP,
    types.RelationshipList: _list(RELATIONSHIP),
    types.Deletion: {"id": CONCEPT["id"], "deleted": True, "revision": 53},
    types.ConceptSearchAnswer: {**KNOWLEDGE, "hits": [CONCEPT_HIT]},
    types.RelationshipTypeSearchAnswer: {
        **KNOWLEDGE, "hits": [TYPE_HIT],
        "relationships": [
            {
                **RELATIONSHIP, "index": "knowledge", "kind": "relationship", "score": 0.74,
                "score_kind": "cosine", "verdict": "exact", "quotes": [INSTANCE],
            }
        ],
    },
    types.SourceSearchAnswer: {**KNOWLEDGE, "hits": [SOURCE_HIT]},
    types.RoutingAnswer: {
        **KNOWLEDGE,
        "entry": {"kind": "concept", "id": CONCEPT["id"], "similarity": 0.83},
        "concepts": [CONCEPT_HIT], "sources": [SOURCE_HIT], "relationship_types": [TYPE_HIT],
    },
    types.SubgraphAnswer: {
        **KNOWLEDGE, "concepts": [CONCEPT_HIT], "sources": [SOURCE_HIT],
        "relationship_types": [TYPE_HIT], "relationships": [RELATIONSHIP], "relationship_count": 1,
        "evidence": [{**INSTANCE, "concept": CONCEPT["id"]}],
    },
    types.ConceptEvidenceAnswer: {
        **ABOUT_CONCEPT, "count": 1, "hits": [{**INSTANCE, "similarity": 0.74, "way": "evidence"}],
    },
    types.ConceptContextAnswer: {
        **ABOUT_CONCEPT, "sources": [{**CONCEPT_SOURCE, "evidence": [INSTANCE]}],
    },
    types.PathsAnswer: {
        **ABOUT_CONCEPT,
        "paths": [
            {
                "similarity": 0.71,
                "concepts": [CONCEPT_LABEL["id"], OTHER_LABEL["id"]],
                "steps": [{**RELATIONSHIP, "similarity": 0.71, "like": "feeds", "reversed": False}],
            }
        ],
    },
    types.SharedAnswer: {
        "index": "knowledge", "concepts": [CONCEPT_LABEL, OTHER_LABEL],
        "relationships": [RELATIONSHIP], "neighbours": [], "neighbour_count": 0,
        "sources": [
            {
                **{name: CONCEPT_SOURCE[name] for name in CONCEPT_SOURCE if name != "neighbours"},
                "concepts": [
                    {**CONCEPT_LABEL, "evidence": INSTANCE}, {**OTHER_LABEL, "evidence": INSTANCE},
                ],
            }
        ],
        "source_count": 1,
    },
    types.EmergentPair: PAIR,
    types.EmergentPairList: _list(PAIR),
    types.EvidenceVerdicts: {
        "verdicts": [
            {
                "url": FINDING["url"], "verdict": "added", "artifact_id": ARTIFACT["id"],
                "revision": 61, "similar_to": [],
            }
        ]
    },
    types.EvidenceAnswer: _answer(hits=[EVIDENCE_HIT]),
    types.Evaluation: EVALUATION,
    types.EvaluationDetail: {**EVALUATION, "earlier": []},
    types.EvaluationList: _list(EVALUATION),
    types.Edit: EDIT,
    types.EditDetail: {**EDIT, "refusals": []},
    types.EditList: _list(EDIT),
    types.EditPreview: {
        "count": 1, "changed": 1, "unchanged": 0, "refused": 0,
        "sample": [
            {**HIT["artifact"], "before": {"groups": []}, "after": {"groups": ["keepers"]}}
        ],
        "refusals": [],
    },
    types.Judgement: JUDGEMENT,
    types.JudgementList: _list(JUDGEMENT),
}
