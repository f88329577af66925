"""RTF: paragraphs, lists, tables and notes; the numbers of lists are in the file as text.

Hidden, deleted and struck text is kept apart. Headers and footers are read once, without page
numbers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from documents.exceptions import Unparsable
from documents.parsing.blocks import (
    LIST_INDENT,
    PAGE_NUMBER,
    Block,
    Row,
    add_sections,
    format_table,
    join_in_cell,
    put_margins,
    read_margin,
)
from documents.parsing.document import DocumentDraft, UnseenText
from text.superscripts import join_shifted

_TOKEN = re.compile(
    rb"\\(?P<word>[a-zA-Z]{1,32})(?P<number>-?\d{1,9})? ?|\\'(?P<byte>[0-9a-fA-F]{2})"
    rb"|\\(?P<sign>[^a-zA-Z'])|(?P<brace>[{}])|[\r\n]+|(?P<text>[^\\{}\r\n]+)|.",
    re.DOTALL,
)
_CHARACTERS = {
    "tab": "\t", "line": "\n", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
    "emdash": "—", "endash": "–", "bullet": "•", "emspace": " ", "enspace": " ", "qmspace": " ",
    "~": "\xa0", "_": "-", "\\": "\\", "{": "{", "}": "}", "\n": "\n", "\r": "\n",
}  # fmt: skip
_CODE_PAGES = {
    128: "cp932", 129: "cp949", 134: "gb18030", 136: "big5", 161: "cp1253", 162: "cp1254",
    163: "cp1258", 177: "cp1255", 178: "cp1256", 186: "cp1257", 204: "cp1251", 222: "cp874",
    238: "cp1250", 77: "mac_roman",
}  # fmt: skip
# Groups that no page shows, beside those that begin with \*.
_SKIPPED = {
    "fonttbl", "colortbl", "stylesheet", "info", "pict", "fldinst", "xe", "tc", "annotation",
    "nonshppict", "shprslt", "nonesttables", "sp", "filetbl", "revtbl",
}  # fmt: skip
_READ_WITH_STAR = {"shpinst", "shptxt", "pntext", "nesttableprops", "momath", "ud"}
_KEPT_APART = {"title", "listtext", "pntext", "formfield", "fldinst", "stylesheet", "fonttbl"}
_MARGINS = {f"{name}{page}": name for name in ("header", "footer") for page in ("", "l", "r", "f")}
_STORIES = {"footnote", "shptxt", *_MARGINS}
_PAGE_FIELD = re.compile(r"\s*(PAGE|NUMPAGES|SECTIONPAGES)\b")
_HEADING = re.compile(r"heading ([1-9])", re.IGNORECASE)
MAX_DEPTH = 1_000


@dataclass(frozen=True, slots=True)
class _State:
    """What a group hands on to those in it, and what ends with it."""

    place: str = ""  # the innermost group that is not plain text
    is_hidden: bool = False
    is_deleted: bool = False
    is_struck: bool = False
    shift: int = 0
    fallback_length: int = 1  # of what follows a Unicode letter for old programs
    encoding: str = ""
    story: int = 0  # how many are open


@dataclass(slots=True)
class _Story:
    """The body, a note, a margin or a shape, as far as it is read."""

    blocks: list[Block] = field(default_factory=list)
    parts: list[tuple[str, int]] = field(default_factory=list)
    below: list[Block] = field(default_factory=list)
    unseen: dict[str, str] = field(default_factory=dict)
    label: str = ""
    level: int = 0  # of a heading
    list_level: int = 0
    is_in_table: bool = False
    rows: list[Row] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)
    merges: list[str] = field(default_factory=list)  # of the row's cells
    merge: str = ""
    is_header: bool = False

    def take_text(self) -> str:
        text = join_shifted(self.parts).strip()
        self.parts.clear()
        if any("\ud800" <= each <= "\udfff" for each in text):  # halves of a letter
            text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return text

    def end_paragraph(self) -> None:
        text, label = self.take_text(), self.label.strip()
        unseen = tuple(UnseenText(each, reason) for reason, each in self.unseen.items())
        if text or unseen or self.below:
            self.end_table()
        if label and not any(map(str.isalnum, label)):
            label = "-"
        if text and self.level:
            heading = " ".join(f"{label.removeprefix('-')} {text}".split())
            self.blocks.append(Block(heading, level=min(self.level, 6), unseen=unseen))
        elif text and label:
            is_full = re.search(r"\w\.\w", label)  # it names the levels above
            indent = "" if is_full else LIST_INDENT * min(self.list_level, 8)
            self.blocks.append(Block(f"{indent}{label} {text}", run="list", unseen=unseen))
        elif text or unseen:
            self.blocks.append(Block(text, unseen=unseen))
        self.blocks += self.below
        self.below, self.unseen, self.label = [], {}, ""

    def end_cell(self) -> None:
        label = self.label.strip()
        self.cells.append(f"{label} {self.take_text()}".strip())
        self.label = ""

    def end_row(self) -> None:
        row = Row(is_header=self.is_header)
        start = 0
        for column, text in enumerate(self.cells):
            merge = self.merges[column] if column < len(self.merges) else ""
            if merge == "clmrg":  # merged with the cell before
                row.spans[start] = column - start + 1
            else:
                start = column
            if merge == "clvmrg" and self.rows:  # with the one above
                text = "".join(self.rows[-1][column : column + 1])
            row.append("" if merge == "clmrg" else text)
        self.rows.append(row)
        self.cells = []

    def end_table(self) -> None:
        if self.cells:
            self.end_row()
        self.blocks += format_table(self.rows, may_have_one_column=True)
        self.rows = []

    def end(self) -> list[Block]:
        self.end_paragraph()
        self.end_table()
        return self.blocks


def read(path: Path, draft: DocumentDraft) -> None:
    draft.check_char_count(path.stat().st_size // 4)
    reader = RtfReader(path.read_bytes())
    blocks = list(reader.blocks())
    draft.propose_title(reader.title)
    add_sections(draft, blocks)


class RtfReader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._state = _State()
        self._stories = [_Story()]
        self._margins: dict[str, list[str]] = {"header": [], "footer": []}
        self._bytes = bytearray()
        self._to_skip = 0  # of the fallback of a Unicode letter
        self._apart = dict.fromkeys(_KEPT_APART, "")
        self._encoding = "cp1252"
        self._encodings: dict[int, str] = {}  # by font
        self._levels: dict[int, int] = {}  # of headings, by style
        self._number = 0  # of the font or style that is declared
        self._form: dict[str, int] = {}
        self._note_count = 0

    @property
    def title(self) -> str:
        return self._apart["title"]

    def blocks(self) -> Iterator[Block]:
        self._read()
        while len(self._stories) > 1:  # the file ends within a group
            self._end_story("shptxt")
        return put_margins(self._stories[0].end(), self._margins["header"], self._margins["footer"])

    def _read(self) -> None:
        outer: list[_State] = []
        is_start = has_star = False  # of a group
        at = 0
        while match := _TOKEN.match(self._data, at):
            at = match.end()
            kind = match.lastgroup
            if match["text"] or match["byte"]:
                self._add_bytes(match["text"] or bytes.fromhex(match["byte"].decode()))
                is_start = False
                continue
            self._flush()
            if match["brace"] == b"{":
                if len(outer) == MAX_DEPTH:
                    raise Unparsable("too_deep", "The file is nested too deeply.")
                outer.append(self._state)
                is_start, has_star = True, False
                continue
            if match["brace"] == b"}":
                if not outer:
                    break
                self._end_group(outer.pop())
            elif match["sign"]:
                has_star = is_start and match["sign"] == b"*"
                if not has_star:
                    self._say(_CHARACTERS.get(match["sign"].decode("latin-1"), ""))
            elif match["word"]:
                word = match["word"].decode()
                number = None if match["number"] is None else int(match["number"])
                if word == "bin":  # of a picture
                    at += max(number or 0, 0)
                elif is_start and self._start_place(word, has_star):
                    pass
                else:
                    self._read_word(word, number)
            is_start = is_start and has_star and kind == "sign"
        self._flush()

    def _start_place(self, word: str, has_star: bool) -> bool:
        """Whether the word begins a group that is not plain text."""
        is_skipped = word in _SKIPPED or (has_star and word not in _READ_WITH_STAR)
        if self._state.place and self._state.place not in _STORIES:
            if word in _KEPT_APART:
                self._state = replace(self._state, place=word)
                self._apart[word] = ""
            return False
        if word in _STORIES and not (has_star and word != "shptxt"):
            self._stories.append(_Story())
            self._state = replace(self._state, place=word, story=len(self._stories) - 1)
        elif is_skipped or word in {"listtext", "pntext"}:
            self._state = replace(self._state, place=word)
            if word in _KEPT_APART:
                self._apart[word] = ""
        else:
            return False
        return True

    def _end_group(self, outer: _State) -> None:
        place = self._state.place
        story = self._stories[-1]
        if self._state.story > outer.story:
            self._end_story(place)
        elif place != outer.place:
            if place in {"listtext", "pntext"}:
                story.label = self._apart[place]
            elif place == "fldinst" and _PAGE_FIELD.match(self._apart[place]):
                self._add_page_number()
            elif place == "formfield" and self._form.pop("fftype", 0) == 1:
                result = self._form.pop("ffres", 25)
                is_checked = self._form.get("ffdefres") if result == 25 else result
                story.parts.append(("[x]" if is_checked else "[ ]", 0))
        self._state = outer

    def _end_story(self, place: str) -> None:
        blocks = self._stories.pop().end()
        above = self._stories[-1]
        if place in _MARGINS:
            self._margins[_MARGINS[place]] += read_margin(blocks)
        elif place == "footnote":
            mark = f"[Note {self._note_count}]" if self._note_count else "[Note]"
            above.below.append(Block(f"{mark} {join_in_cell(blocks)}"))
        else:
            above.below += blocks

    def _add_page_number(self) -> None:
        if len(self._stories) > 1:  # of a header or footer
            self._stories[-1].parts.append((PAGE_NUMBER, 0))

    def _add_bytes(self, data: bytes) -> None:
        skipped = min(self._to_skip, len(data))
        self._to_skip -= skipped
        self._bytes += data[skipped:]

    def _flush(self) -> None:
        if self._bytes:
            encoding = self._state.encoding or self._encoding
            text = self._bytes.decode(encoding, "replace")
            self._bytes.clear()
            self._say(text)

    def _say(self, text: str) -> None:
        state, story = self._state, self._stories[-1]
        if self._to_skip and text:
            self._to_skip -= 1
        elif state.place in _KEPT_APART:
            self._apart[state.place] += text
            if state.place == "stylesheet" and (heading := _HEADING.search(text)):
                self._levels.setdefault(self._number, int(heading[1]))
        elif state.place and state.place not in _STORIES:
            return
        elif state.is_deleted or state.is_hidden or state.is_struck:
            reason = "deleted" if state.is_deleted or not state.is_hidden else "hidden"
            story.unseen[reason] = story.unseen.get(reason, "") + text
        else:
            story.parts.append((text, state.shift))

    def _read_word(self, word: str, number: int | None) -> None:
        state, story = self._state, self._stories[-1]
        is_on = number != 0
        match word:
            case "u" if number is not None:
                self._to_skip = 0
                self._say(chr(number % 65_536))
                self._to_skip = state.fallback_length
            case "uc":
                self._state = replace(state, fallback_length=max(number or 0, 0))
            case "ansicpg":
                self._encoding = _find_encoding(number or 1252)
            case "f" if state.place == "fonttbl":
                self._number = number or 0
            case "fcharset":
                self._encodings[self._number] = _CODE_PAGES.get(number or 0, "")
            case "f":
                self._state = replace(state, encoding=self._encodings.get(number or 0, ""))
            case "s" if state.place == "stylesheet":
                self._number = number or 0
            case "outlinelevel" if number is not None:
                level = number + 1 if number < 9 else 0
                if state.place == "stylesheet":
                    self._levels[self._number] = level
                else:
                    story.level = level
            case "fftype" | "ffres" | "ffdefres":
                self._form[word] = number or 0
            case _ if state.place and state.place not in _STORIES:
                if word in _CHARACTERS:
                    self._say(_CHARACTERS[word])
            case "v":
                self._state = replace(state, is_hidden=is_on)
            case "deleted":
                self._state = replace(state, is_deleted=is_on)
            case "strike" | "striked":
                self._state = replace(state, is_struck=is_on)
            case "super" | "sub" | "nosupersub" | "up" | "dn":
                shift = {"super": 1, "up": 1, "sub": -1, "dn": -1}.get(word, 0) if is_on else 0
                self._state = replace(state, shift=shift)
            case "plain":
                self._state = replace(
                    state, is_hidden=False, is_deleted=False, is_struck=False, shift=0, encoding=""
                )
            case "pard":
                story.level = story.list_level = 0
                story.is_in_table = False
            case "s":
                story.level = self._levels.get(number or 0, 0)
            case "ilvl":
                story.list_level = number or 0
            case "intbl":
                story.is_in_table = True
            case "par" | "sect" if story.is_in_table or story.cells:
                story.parts.append(("\n", 0))
            case "par" | "sect":
                story.end_paragraph()
            case "trowd":
                if not story.cells and not story.is_in_table:
                    story.end_paragraph()
                story.merges, story.merge, story.is_header = [], "", False
            case "trhdr":
                story.is_header = True
            case "clmrg" | "clvmrg":
                story.merge = word
            case "cellx":
                story.merges.append(story.merge)
                story.merge = ""
            case "cell":
                story.end_cell()
            case "nestcell" | "nestrow":
                self._say(" ")
            case "row":
                story.end_row()
            case "chftn" if len(self._stories) == 1:
                self._note_count += 1
                story.parts.append((str(self._note_count), 1))
            case "chpgn":
                self._add_page_number()
            case _ if word in _CHARACTERS:
                self._say(_CHARACTERS[word])


def _find_encoding(code_page: int) -> str:
    name = {936: "gb18030", 10_000: "mac_roman", 65_001: "utf-8"}.get(code_page, f"cp{code_page}")
    try:
        return "".encode(name).decode() or name
    except LookupError:
        return "cp1252"
