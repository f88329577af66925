"""Subtitles and transcripts (WebVTT, SRT): what is said, joined to paragraphs, a page for about
five minutes, named by its time."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from documents.exceptions import Unparsable
from documents.parsing.document import DocumentDraft
from documents.parsing.text import read_text

PAGE_SECONDS = 300
MAX_PAUSE_SECONDS = 4  # within a paragraph, after the end of a sentence
_TIMES = re.compile(
    r"\s*(?:(\d+):)?(\d{1,2}):(\d\d)[.,](\d{1,3})\s*-->\s*(?:(\d+):)?(\d{1,2}):(\d\d)"
)
_VOICE = re.compile(r"<v(?:\.[^\s>]{1,80})?\s+([^>\n]{1,200})>")
_MARKUP = re.compile(r"</?[a-z\d][^<>\n]{0,200}>|\{\\[^{}\n]{0,200}\}", re.IGNORECASE)
_NAMED = re.compile(
    r"[^\W\d_][\w.'’-]{0,30}(?: [\w.'’()-]{1,30}){0,4}: "
)  # who speaks, without markup
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’)\]]*$")


class _Cue(NamedTuple):
    start: int  # seconds
    end: int
    speaker: str
    text: str


def read(path: Path, draft: DocumentDraft) -> None:
    text = read_text(path, draft)
    pages: list[tuple[int, list[list[str]]]] = []  # the time and the paragraphs of each
    speaker, end = "", 0
    for cue in _read_cues(text):
        paragraphs = pages[-1][1] if pages else []
        ends_sentence = not paragraphs or _SENTENCE_END.search(paragraphs[-1][-1])
        if not pages or (ends_sentence and cue.start >= pages[-1][0] + PAGE_SECONDS):
            paragraphs = []
            pages.append((cue.start, paragraphs))
        is_pause = ends_sentence and cue.start - end > MAX_PAUSE_SECONDS
        if not paragraphs or cue.speaker != speaker or is_pause or _NAMED.match(cue.text):
            paragraphs.append([f"{cue.speaker}: {cue.text}" if cue.speaker else cue.text])
        else:
            paragraphs[-1].append(cue.text)
        speaker, end = cue.speaker, cue.end
    if not pages and text.strip():
        raise Unparsable("wrong_format", "The file holds no subtitles: no line has times ('-->').")
    for start, paragraphs in pages:
        label = f"{start // 3600}:{start // 60 % 60:02}:{start % 60:02}"
        draft.add_page("\n\n".join(" ".join(parts) for parts in paragraphs), label)


def _read_cues(text: str) -> Iterator[_Cue]:
    """A cue for each voice; lines that are shown again below the next one are read once."""
    shown = ("", "")
    for block in re.split(r"\n[ \t]*\n", text.replace("\r\n", "\n").replace("\r", "\n")):
        lines = block.split("\n")
        at = next((at for at, line in enumerate(lines) if "-->" in line), None)
        times = _TIMES.match(lines[at]) if at is not None else None
        if at is None or times is None:
            continue  # a header, a style or a note
        start = int(times[1] or 0) * 3600 + int(times[2]) * 60 + int(times[3])
        end = int(times[5] or 0) * 3600 + int(times[6]) * 60 + int(times[7])
        speaker = ""
        for line in lines[at + 1 :]:
            before, *voices = _VOICE.split(line)
            for name, said in zip([speaker, *voices[::2]], [before, *voices[1::2]], strict=True):
                speaker = " ".join(name.split())
                said = " ".join(html.unescape(_MARKUP.sub("", said)).split())
                if said and (speaker, said) != shown:
                    yield _Cue(start, end, speaker, said)
                    shown = speaker, said
