"""The node parsers that a spec may name on this machine. Looks them up without importing them."""

from importlib.metadata import EntryPoint, entry_points
from importlib.util import find_spec

from indexing.exceptions import InvalidSpec
from indexing.spec.sections import OPTIONS_BY_PARSER, NodeParserStrategy

ENTRY_POINT_GROUP = "strata.node_parsers"


def check_is_installed(strategy: NodeParserStrategy) -> None:
    """Check that the strategy's parser can be imported. Raises ``InvalidSpec``: there is no such
    parser here, or a package that it needs is missing."""
    if strategy.parser not in OPTIONS_BY_PARSER:
        find_added_parser(strategy.parser)
    elif strategy.parser == "code":
        _check_language(str(strategy.options["language"]))


def find_added_parser(name: str) -> EntryPoint:
    """Find a parser that an installed distribution adds. Raises ``InvalidSpec``: no distribution
    adds a parser of this name."""
    added = {each.name: each for each in entry_points(group=ENTRY_POINT_GROUP)}
    if name not in added:
        raise InvalidSpec(
            f"There is no node parser {name!r}; allowed: "
            f"{', '.join([*OPTIONS_BY_PARSER, *sorted(added)])}. Installed distributions add "
            f"others by entry points of the group {ENTRY_POINT_GROUP}."
        )
    return added[name]


def _check_language(language: str) -> None:
    if find_spec("tree_sitter_language_pack") is None:
        raise InvalidSpec(
            "The node parser 'code' needs tree-sitter-language-pack. Install it: "
            "strata install code"
        )
    from tree_sitter_language_pack import get_language

    try:
        get_language(language)
    except LookupError:
        raise InvalidSpec(
            f"The node parser 'code' does not support the language {language!r}; allowed are those "
            "of tree-sitter-language-pack."
        ) from None
