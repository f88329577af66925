"""Read papers of the ACL Anthology from its own XML and YAML or from JSON Lines.

    papers.py       a paper, the plain text of its markup and LaTeX, its conversion to an artifact
    downloading.py  the Anthology's files from another host
    reading.py      the Anthology's files at a path, and the papers and names of people in them

Papers are streamed: only one paper and the table of names are in memory at a time.
"""

from presets.papers.anthology.downloading import download_anthology
from presets.papers.anthology.papers import Paper
from presets.papers.anthology.reading import Anthology, open_anthology
