"""Read papers of the ACL Anthology from its own XML and YAML or from JSON Lines.

    papers.py   a paper, cleaned, and how an index takes it
    texts.py    markup and LaTeX made plain
    people.py   the names one person has published under
    volumes.py  the Anthology's XML
    lines.py    papers as JSON Lines
    folders.py  what of all this lies at a path

Everything is a stream: no more than one paper and the table of names is in memory.
"""

from presets.papers.anthology.files import Anthology, open_anthology
from presets.papers.anthology.papers import Paper

__all__ = ["Anthology", "Paper", "open_anthology"]
