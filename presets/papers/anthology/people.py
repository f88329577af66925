"""Read the names under which each person has published, from the Anthology's YAML."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from core.exceptions import InvalidInput
from presets.papers.anthology.plain_text import to_plain_text

# The C loader reads megabytes in seconds; some builds of PyYAML lack it.
_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True, slots=True)
class PersonNames:
    """``by_id`` and ``by_name``: person id or printed name -> the Anthology's name for the person.
    ``by_name`` leaves out names that several people share."""

    by_id: Mapping[str, str] = field(default_factory=dict)
    by_name: Mapping[str, str] = field(default_factory=dict)

    def names(self, printed: str, person_id: str | None) -> list[str]:
        """The name as printed, and the Anthology's name for that person if it differs."""
        known = self.by_id.get(person_id) if person_id else self.by_name.get(printed)
        return [printed] if known is None or known == printed else [printed, known]


def read_person_names(folder: Path) -> PersonNames:
    """Read ``people.yaml``, or ``name_variants.yaml``, its name until 2025; empty if there is
    neither.

    Raises:
        InvalidInput: the file has another format.
    """
    people, variants = folder / "people.yaml", folder / "name_variants.yaml"
    path = people if people.is_file() else variants
    if not path.is_file():
        return PersonNames()
    try:
        with path.open("rb") as file:
            content = yaml.load(file, _Loader)  # noqa: S506  (a safe loader)
        return _build_person_names(_iter_persons(content))
    except (yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError):
        raise InvalidInput(
            f"{path.name} is not the Anthology's table of names.", field=str(path)
        ) from None


def _iter_persons(content: Any) -> Iterable[tuple[str | None, list[str]]]:
    """Yield each person's id and names, the Anthology's preferred name first."""
    if isinstance(content, Mapping):
        for person_id, about in content.items():
            yield person_id, [_full_name(name) for name in about.get("names") or ()]
        return
    for about in content or ():
        names = [about["canonical"], *(about.get("variants") or ())]
        yield about.get("id"), [_full_name(name) for name in names]


def _build_person_names(persons: Iterable[tuple[str | None, list[str]]]) -> PersonNames:
    by_id: dict[str, str] = {}
    bearers: dict[str, set[str]] = {}
    for person_id, names in persons:
        if not names:
            continue
        if person_id is not None:
            by_id[str(person_id)] = names[0]
        for name in names:
            bearers.setdefault(name, set()).add(names[0])
    by_name = {name: next(iter(known)) for name, known in bearers.items() if len(known) == 1}
    return PersonNames(by_id, by_name)


def _full_name(name: Mapping[str, Any]) -> str:
    return to_plain_text(f"{name.get('first') or ''} {name['last']}")
