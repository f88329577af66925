"""Finds the scripts and styles of pages, which lie beside their templates, and their addresses."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.contrib.staticfiles.finders import FileSystemFinder
from django.contrib.staticfiles.storage import StaticFilesStorage
from django.core.files.storage import FileSystemStorage
from django.urls import get_script_prefix
from whitenoise.storage import CompressedStaticFilesStorage

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


class _BelowPath:
    """Addresses below the path of the service as the request names it, which may be another one in
    the next; Django keeps the first."""

    @property
    def base_url(self) -> str:
        return f"{get_script_prefix()}static/"


class PageFilesStorage(_BelowPath, StaticFilesStorage):
    pass


class CompressedPageFilesStorage(_BelowPath, CompressedStaticFilesStorage):
    pass
