"""What a document is given as: a file, or texts that need no parsing."""

import json
from dataclasses import dataclass

from core.text import clean_page, hash_text
from documents.originals import FileContent


@dataclass(frozen=True, slots=True)
class TextContent:
    """Texts that need no parsing, one for each page. They are cleaned first, so that the hash is
    that of the stored text."""

    pages: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "pages", tuple(clean_page(page) for page in self.pages))

    @property
    def sha256(self) -> str:
        return hash_text(json.dumps(self.pages))

    @property
    def byte_count(self) -> int:
        return sum(len(page.encode()) for page in self.pages)


Content = FileContent | TextContent
