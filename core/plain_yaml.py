"""YAML that people write: without aliases, a few lines of which can stand for gigabytes, and
without keys that are given twice, of which the first would be ignored in silence."""

from collections import Counter
from typing import Any, Final

import yaml

MAX_DEPTH: Final = 50
MAX_CHARS: Final = 500_000  # PyYAML reads about 200,000 in a second


class NotPlainYaml(ValueError):
    """The message begins with a verb, whose subject is the file."""


class _Loader(yaml.SafeLoader):
    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent):
            place = "" if event.start_mark is None else f" (line {event.start_mark.line + 1})"
            raise NotPlainYaml(
                f"must not use aliases: write what *{event.anchor} stands for{place}."
            )
        if self._depth == MAX_DEPTH:
            raise NotPlainYaml("is nested too deeply.")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        mapping = super().compose_mapping_node(anchor)
        keys = [key for key, _ in mapping.value if isinstance(key, yaml.ScalarNode)]
        counts = Counter(key.value for key in keys)
        for key in keys:
            if counts[key.value] > 1:
                line = key.start_mark.line + 1
                raise NotPlainYaml(f"gives {key.value[:40]!r} twice (first on line {line}).")
        return mapping

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            content = super().construct_object(node, deep)
            if isinstance(content, str):
                content.encode()  # escapes can make half a character, which cannot be stored
                if "\0" in content:  # PostgreSQL cannot store it, either
                    raise ValueError
        except (ValueError, ArithmeticError, LookupError, AttributeError):
            # PyYAML lets out what ``int``, ``date`` and others raise.
            kind = node.tag.rpartition(":")[2]
            problem = f"{str(node.value)[:40]!r} is no valid {kind}"
            raise yaml.MarkedYAMLError(None, None, problem, node.start_mark) from None
        return content


def load_yaml(text: str) -> Any:
    """Load YAML without aliases, repeated keys and deep nesting. Raises ``NotPlainYaml``: the text
    is no YAML, is too long, has aliases or keys given twice, or is nested too deeply."""
    if len(text) > MAX_CHARS:
        raise NotPlainYaml(f"is longer than {MAX_CHARS:,} characters.")
    try:
        return yaml.load(text, _Loader)  # noqa: S506 - it derives from the safe loader
    except yaml.YAMLError as error:
        raise NotPlainYaml(f"is not YAML: {' '.join(str(error).split())}") from None
