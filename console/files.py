"""Finds the scripts and styles of pages, which lie beside their templates."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.staticfiles.finders import FileSystemFinder
from django.core.files.storage import FileSystemStorage

NEVER_SERVED = (".py", ".pyc", ".html")


class PageFilesFinder(FileSystemFinder):
    """Files of the folders in ``STATICFILES_DIRS`` without templates and code."""

    def find(self, path: str, *args: Any, **options: Any) -> Any:
        return [] if path.endswith(NEVER_SERVED) else super().find(path, *args, **options)

    def list(
        self, ignore_patterns: Iterable[str] | None
    ) -> Iterator[tuple[str, FileSystemStorage]]:
        ignored = [*(ignore_patterns or ()), *(f"*{suffix}" for suffix in NEVER_SERVED)]
        yield from super().list(ignored)
