"""Elements of HTML whose content is not text of the page as it stands: each takes the parser's
events until it ends, and says then what to write."""

import re

from documents.parsing.document import UnseenText

# What they hold is no text of the page; of ruby, the readings, which stand above the words.
SKIPPED_TAGS = {
    "script", "style", "template", "noscript", "iframe", "object", "audio", "video", "canvas",
    "datalist", "rt", "rp", "rtc",
}  # fmt: skip
_SKIPPED_IN_DRAWING = SKIPPED_TAGS | {
    "defs", "symbol", "metadata", "clippath", "mask", "marker", "pattern", "desc"
}  # fmt: skip
MAX_FORMULA_DEPTH = 50  # what is deeper is written as text: each level copies what it holds
_WRAPPED_TEX = re.compile(r"\{\\(?:display|text)style\b\s*(.*)\}", re.DOTALL)
_FORMS = {
    "mfrac": "{%s}/{%s}", "msup": "%s^{%s}", "mover": "%s^{%s}", "msub": "%s_{%s}",
    "munder": "%s_{%s}", "msubsup": "%s_{%s}^{%s}", "munderover": "%s_{%s}^{%s}",
    "mroot": "√{%s}[%s]", "msqrt": "√{%s}", "mtd": "%s ", "mtr": "%s; ", "mfenced": "(%s)",
}  # fmt: skip


class Skipped:
    """An element that is left out."""

    def __init__(self) -> None:
        self._depth = 1

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._depth += 1

    def data(self, data: str) -> None:
        pass

    def end(self) -> bool:
        """End the innermost open element; whether it was this one."""
        self._depth -= 1
        return not self._depth


class Formula(Skipped):
    """MathML as a line, in the author's TeX where the page has it."""

    def __init__(self) -> None:
        super().__init__()
        self._open: list[tuple[str, list[str]]] = [("math", [])]
        self.tex = ""

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        super().start(tag, attributes)
        if self._depth <= MAX_FORMULA_DEPTH:
            is_tex = tag == "annotation" and "tex" in attributes.get("encoding", "").lower()
            self._open.append(("tex" if is_tex else tag, []))

    def data(self, data: str) -> None:
        if text := " ".join(data.split()).replace("\N{FUNCTION APPLICATION}", " "):
            self._open[-1][1].append(text)

    def end(self) -> bool:
        if 1 < self._depth <= MAX_FORMULA_DEPTH:
            tag, parts = self._open.pop()
            if tag == "tex":
                self.tex = self.tex or clean_tex(" ".join(parts))
            elif not tag.startswith("annotation"):
                form = _FORMS.get(tag, "")
                values = parts if form.count("%s") > 1 else [_join(parts)]
                fits = form and len(values) == form.count("%s")
                self._open[-1][1].append(form % tuple(values) if fits else _join(parts))
        return super().end()

    def __str__(self) -> str:
        formula = self.tex or _join(self._open[0][1]).strip("; ")
        return f"${formula}$" if formula else ""


def clean_tex(tex: str) -> str:
    return _WRAPPED_TEX.sub(r"\1", tex.strip()).strip()


def _join(parts: list[str]) -> str:
    """Names and numbers of several characters are parted by spaces: they would read as one."""
    joined, last = [], ""
    for part in parts:
        if last[-1:].isalnum() and part[:1].isalnum() and max(len(last), len(part)) > 1:
            joined.append(" ")
        joined.append(part)
        last = part
    return "".join(joined)


class Unseen(Skipped):
    """Text that is hidden or struck out; ``formula`` if it holds one for programs to read, while
    the page shows its picture."""

    def __init__(self, reason: str) -> None:
        super().__init__()
        self._reason = reason
        self._parts: list[str] = []
        self._inner: Skipped | None = None
        self.formula: Formula | None = None

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if self._inner is not None:
            self._inner.start(tag, attributes)
            return
        super().start(tag, attributes)
        self._parts.append(" ")
        if tag == "math" and self.formula is None:
            self._inner = self.formula = Formula()
        elif tag in SKIPPED_TAGS or tag == "svg":
            self._inner = Skipped()

    def data(self, data: str) -> None:
        if self._inner is not None:
            self._inner.data(data)
        else:
            self._parts.append(data)

    def end(self) -> bool:
        if self._inner is not None:
            if not self._inner.end():
                return False
            self._inner = None
        return super().end()

    @property
    def text(self) -> UnseenText:
        return UnseenText(" ".join("".join(self._parts).split()), self._reason)


class Drawing(Skipped):
    """The texts of an SVG, and its title."""

    def __init__(self) -> None:
        super().__init__()
        self._in = ""  # the tag whose text is read
        self._in_depth = 0
        self._title: list[str] = []
        self._lines: list[list[str]] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        super().start(tag, attributes)
        if self._in in {"text", "foreignobject"} and tag not in _SKIPPED_IN_DRAWING:
            self._lines[-1].append(" ")
        elif not self._in or tag in _SKIPPED_IN_DRAWING:
            self._in, self._in_depth = tag, self._depth
            if tag in {"text", "foreignobject"}:
                self._lines.append([])
            elif tag not in _SKIPPED_IN_DRAWING and (tag != "title" or self._depth > 2):
                self._in = ""  # what it holds is looked at

    def data(self, data: str) -> None:
        if self._in == "title":
            self._title.append(data)
        elif self._in in {"text", "foreignobject"}:
            self._lines[-1].append(data)

    def end(self) -> bool:
        if self._depth == self._in_depth:
            self._in, self._in_depth = "", 0
        return super().end()

    @property
    def title(self) -> str:
        return " ".join("".join(self._title).split())

    def __str__(self) -> str:
        return "\n".join(" ".join("".join(line).split()) for line in self._lines)


class Choice(Skipped):
    """A list of options: the one that it shows."""

    def __init__(self) -> None:
        super().__init__()
        self._options: list[list[str]] = []
        self._shown = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        super().start(tag, attributes)
        if tag == "option":
            if "selected" in attributes:
                self._shown = len(self._options)
            self._options.append([])

    def data(self, data: str) -> None:
        if self._options:
            self._options[-1].append(data)

    def __str__(self) -> str:
        return " ".join("".join(self._options[self._shown]).split()) if self._options else ""
