"""Patterns of paths: which are included, and what a path says about its document."""

import re
from functools import lru_cache

_PARTS = re.compile(r"\*\*/|\*\*|\*|\?|\{[^{}]*\}|[^*?{}]+|.")
_FIELD = re.compile(r"\{([a-z][a-z0-9_]{0,62})\}")
_WILD = {"**/": r"(?:.*/)?", "**": r".*", "*": r"[^/]*", "?": r"[^/]"}


@lru_cache(maxsize=1_024)
def compile_glob(pattern: str) -> re.Pattern[str]:
    """``**`` stands for any folders, ``*`` and ``?`` for characters of one name."""
    parts = (_WILD.get(part) or re.escape(part) for part in _PARTS.findall(pattern))
    return re.compile(f"(?s:{''.join(parts)})\\Z")


class PathFields:
    """A template of paths with fields, such as ``{client}/{year}/**``. Raises ``ValueError``: it
    names none, or one twice."""

    def __init__(self, template: str) -> None:
        self.names: list[str] = []
        parts = []
        for part in _PARTS.findall(template):
            named = _FIELD.fullmatch(part)
            if named:
                self.names.append(named[1])
                parts.append(f"(?P<{named[1]}>[^/]+?)")
            elif part.startswith("{"):
                raise ValueError(
                    f"{part[:70]!r} names no field; write a name in lowercase, such as {{year}}"
                )
            else:
                parts.append(_WILD.get(part) or re.escape(part))
        if not self.names or len(set(self.names)) < len(self.names):
            raise ValueError("name each field of a path once, such as {client}/{year}/**")
        self._pattern = re.compile(f"(?s:{''.join(parts)})\\Z")

    def read(self, path: str) -> dict[str, str]:
        """What the path says; nothing if it does not match."""
        found = self._pattern.match(path)
        return found.groupdict() if found else {}
