"""The ``Paper`` dataclass and its conversion to ``add_artifact`` arguments."""

from dataclasses import dataclass
from typing import Any

from documents.services import TextContent

SITE = "https://aclanthology.org"


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper with cleaned texts. ``id`` and ``venues`` are the Anthology's (venues such as
    ``acl``); an empty ``abstract`` or ``doi`` is missing. ``authors`` are as printed in the paper,
    each followed by the Anthology's name for that person if it differs."""

    id: str
    title: str
    abstract: str
    authors: tuple[str, ...] = ()
    year: int | None = None
    venues: tuple[str, ...] = ()
    awards: tuple[str, ...] = ()
    doi: str = ""
    is_retracted: bool = False

    def to_artifact_arguments(self) -> dict[str, Any]:
        """The arguments of ``services.add_artifact``."""
        metadata: dict[str, Any] = {"authors": list(self.authors), "venue": list(self.venues)}
        if self.year is not None:
            metadata["year"] = self.year
        if self.awards:
            metadata["awards"] = list(self.awards)
        if self.doi:
            metadata["doi"] = self.doi
        if self.is_retracted:
            metadata["retracted"] = True
        return {
            "content": TextContent((self.abstract,)),
            "title": self.title[:1_000],
            "url": f"{SITE}/{self.id}/",
            "metadata": metadata,
            "external_id": self.id,
        }
