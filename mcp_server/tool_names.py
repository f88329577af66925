"""Names of tools that every provider of language models takes.

Providers allow 64 characters, of which agents use some for the name of the server, such as
``mcp__strata__``; one name that is longer makes them refuse the whole list.
"""

from base64 import b32encode
from hashlib import sha256
from typing import Final

MAX_CHARS: Final = 50
# Between the name of an index and that of a tool its spec declares. No index has it in its name,
# so a whole name is split at its first occurrence.
SEPARATOR: Final = "__"
SHOWN_OF_INDEX: Final = 14
SHOWN_CHARS: Final = 33  # of a shortened name; the rest are 80 bits of a hash, or more


def name_declared_tool(index: str, tool: str) -> str:
    """The same for the same tool, whatever else is declared.

    Whole names have fewer than ``MAX_CHARS`` characters and shortened ones exactly as many, so
    that none is another's.
    """
    name = f"{index}{SEPARATOR}{tool}"
    if len(name) < MAX_CHARS:
        return name
    shown = f"{index[:SHOWN_OF_INDEX].rstrip('-')}{SEPARATOR}{tool}"[:SHOWN_CHARS].rstrip("_")
    digest = b32encode(sha256(name.encode()).digest()).decode().lower()
    return f"{shown}_{digest}"[:MAX_CHARS]
