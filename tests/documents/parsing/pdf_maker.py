"""Make PDFs that say which of their words can be seen, and which cannot or are in a font with wrong
letters."""

import io
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import reportlab
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

FONT = Path(reportlab.__file__).with_name("fonts") / "Vera.ttf"
WIDTH, HEIGHT = 595, 842
WORDS = (
    "the harbour fee for vessels of more than twelve metres is due on arrival at the office on "
    "the north quay and those that stay longer than a week pay half of it while the crane may be "
    "used between seven and nineteen by every master who has told the guard when he will sail"
)


@dataclass
class MadePdf:
    """``visible``: words that a reader must find; ``unseen``: with the reason of each text;
    ``unreadable``: as the file maps their letters."""

    content: bytes = b""
    visible: list[str] = field(default_factory=list)
    unseen: list[tuple[str, str]] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)


class PdfMaker:
    """Draws lines of text from the top of a page; each way of drawing has a method."""

    def __init__(self, seed: int) -> None:
        self.made = MadePdf()
        self._random = random.Random(seed)
        self._stream = io.BytesIO()
        self._canvas = Canvas(self._stream, pagesize=(WIDTH, HEIGHT), pageCompression=0)
        self._wrong: dict[str, str] = {}  # letters of the font with wrong letters
        self._y = HEIGHT - 60.0
        self._number = seed * 1000

    def make(self) -> MadePdf:
        self._canvas.showPage()
        self._canvas.save()
        self.made.content = self._stream.getvalue()
        if self._wrong:
            self._map_letters_wrongly()
        return self.made

    def _sentence(self) -> str:
        """Words of a language, and one that no other sentence has."""
        self._number += 1
        words = self._random.sample(WORDS.split(), 9)
        return " ".join([*words[:5], f"word{self._number}x", *words[5:]]).capitalize() + "."

    def _next_line(self) -> float:
        self._y -= 26
        return self._y

    def _show(self, text: str) -> str:
        self.made.visible += text.split()
        return text

    def _hide(self, reason: str) -> str:
        text = self._sentence()
        self.made.unseen.append((text, reason))
        return text

    # What can be seen.

    def plain(self) -> None:
        self._canvas.drawString(60, self._next_line(), self._show(self._sentence()))

    def light_grey(self) -> None:
        self._canvas.setFillGray(0.82)
        self.plain()
        self._canvas.setFillGray(0)

    def white_on_dark(self) -> None:
        y = self._next_line()
        self._canvas.setFillColorRGB(0.1, 0.1, self._random.random() / 2)
        self._canvas.rect(55, y - 6, 485, 20, stroke=0, fill=1)
        self._canvas.setFillGray(1)
        self._canvas.drawString(60, y, self._show(self._sentence()))
        self._canvas.setFillGray(0)

    def white_on_picture(self) -> None:
        y = self._next_line()
        self._picture("#203040", 55, y - 6, 485, 20)
        self._canvas.setFillGray(1)
        self._canvas.drawString(60, y, self._show(self._sentence()))
        self._canvas.setFillGray(0)

    def highlighted(self) -> None:
        """Below a shape through which it can be seen."""
        y = self._next_line()
        self._canvas.drawString(60, y, self._show(self._sentence()))
        self._canvas.saveState()
        self._canvas.setFillColorRGB(1, 1, 0, alpha=0.4)
        self._canvas.rect(55, y - 6, 485, 20, stroke=0, fill=1)
        self._canvas.restoreState()

    def shadowed(self) -> None:
        y, text = self._next_line(), self._show(self._sentence())
        for offset, grey in ((0.8, 0.7), (0.4, 0.5), (0, 0)):
            self._canvas.setFillGray(grey)
            self._canvas.drawString(60 + offset, y - offset, text)

    def framed(self) -> None:
        y = self._next_line()
        self._canvas.drawString(60, y, self._show(self._sentence()))
        self._canvas.rect(55, y - 6, 485, 20, stroke=1, fill=0)

    def part_of_a_form(self) -> None:
        y = self._next_line()
        name = f"form{self._number}"
        self._canvas.beginForm(name)
        self._canvas.drawString(60, y, self._show(self._sentence()))
        self._canvas.endForm()
        self._canvas.doForm(name)

    def codes(self) -> None:
        """In no language, but what the page shows."""
        words = [
            "".join(self._random.choices("BCDFGHJKLMNPQRSTVWXZ0123456789-", k=9)).strip("-")
            for _ in range(6)
        ]
        self._canvas.drawString(60, self._next_line(), self._show(" ".join(words)))

    # What cannot be seen.

    def invisible(self) -> None:
        self._draw_in_mode(self._next_line(), 3, self._hide("invisible"))

    def in_the_colour_of_the_page(self) -> None:
        self._canvas.setFillGray(self._random.choice([1, 0.985]))
        self._canvas.drawString(60, self._next_line(), self._hide("colour"))
        self._canvas.setFillGray(0)

    def in_the_colour_of_a_shape(self) -> None:
        y, colour = self._next_line(), [self._random.random() for _ in range(3)]
        self._canvas.setFillColorRGB(*colour)
        self._canvas.rect(55, y - 6, 485, 20, stroke=0, fill=1)
        self._canvas.drawString(60, y, self._hide("colour"))
        self._canvas.setFillGray(0)

    def covered_by_a_shape(self) -> None:
        y = self._next_line()
        self._canvas.drawString(60, y, self._hide("covered"))
        self._canvas.setFillGray(self._random.random())
        self._canvas.rect(55, y - 6, 485, 20, stroke=0, fill=1)
        self._canvas.setFillGray(0)

    def covered_by_a_line(self) -> None:
        y = self._next_line()
        self._canvas.drawString(60, y, self._hide("covered"))
        self._canvas.setLineWidth(20)
        self._canvas.line(50, y + 4, 560, y + 4)
        self._canvas.setLineWidth(1)

    def covered_by_a_picture(self) -> None:
        y = self._next_line()
        self._canvas.drawString(60, y, self._hide("covered"))
        self._picture("#a0b0c0", 55, y - 6, 485, 20)

    def partly_covered(self) -> None:
        """A line of one object, of which the first word can be seen."""
        y = self._next_line()
        hidden = self._hide("covered")
        start = self._show("Price:")
        self._canvas.drawString(60, y, f"{start} {hidden}")
        left = 60 + pdfmetrics.stringWidth(f"{start} ", "Helvetica", 12)
        self._canvas.rect(left - 1, y - 6, 500, 20, stroke=0, fill=1)

    def outside_the_page(self) -> None:
        x, y = self._random.choice([(60, -200), (60, HEIGHT + 20), (-600, 400), (WIDTH + 9, 400)])
        self._canvas.drawString(x, y, self._hide("outside"))

    def tiny(self) -> None:
        self._canvas.setFont("Helvetica", self._random.choice([0.3, 1]))
        self._canvas.drawString(60, self._next_line(), self._hide("tiny"))
        self._canvas.setFont("Helvetica", 12)

    def invisible_in_a_form(self) -> None:
        y, name = self._next_line(), f"form{self._number}"
        self._canvas.beginForm(name)
        self._draw_in_mode(y, 3, self._hide("invisible"))
        self._canvas.drawString(60, y, self._show("Signed."))
        self._canvas.endForm()
        self._canvas.doForm(name)

    # What is in a font with wrong letters.

    def in_a_font_with_wrong_letters(self) -> None:
        if not self._wrong:
            pdfmetrics.registerFont(TTFont("Vera", FONT))
            letters = "abcdefghijklmnopqrstuvwxyz"
            shift = self._random.randint(3, 20)
            shuffled = self._random.sample(letters, 26)
            targets = self._random.choice(
                [
                    [chr(ord(each) - 29) for each in letters],
                    [letters[(at + shift) % 26] for at in range(26)],
                    [chr(0xF000 + ord(each)) for each in letters],
                    shuffled,
                ]
            )
            self._wrong = dict(zip(letters, targets, strict=True))
        text = " ".join(re.sub(r"\d", "", self._sentence()) for _ in range(2))[:78]
        self._canvas.setFont("Vera", 11)
        self._canvas.drawString(60, self._next_line(), text)
        self._canvas.setFont("Helvetica", 12)
        self.made.unreadable += ["".join(self._wrong.get(c, c) for c in w) for w in text.split()]

    def _map_letters_wrongly(self) -> None:
        content = self.made.content
        at = content.index(b"begincmap")
        end = content.index(b"endcmap", at)

        def change(found: re.Match[bytes]) -> bytes:
            letter = chr(int(found[1], 16))
            return b"<%04X>" % ord(self._wrong.get(letter, letter))

        table = re.sub(rb"(?<=[\[ ])<([0-9A-F]{4})>", change, content[at:end], flags=re.IGNORECASE)
        self.made.content = content[:at] + table + content[end:]

    # A page of its own.

    def scan(self) -> None:
        """A picture of text with what OCR read invisibly above it."""
        picture = Image.new("L", (WIDTH * 2, HEIGHT * 2), 250)
        pen, font = ImageDraw.Draw(picture), ImageFont.truetype(str(FONT), 22)
        self._y = HEIGHT - 60
        lines = [(self._next_line(), self._show(self._sentence())) for _ in range(8)]
        for y, text in lines:
            pen.text((120, 2 * (HEIGHT - y)), text, fill=10, font=font, anchor="ls")
        self._canvas.drawImage(ImageReader(picture), 0, 0, WIDTH, HEIGHT)
        for y, text in lines:
            self._draw_in_mode(y, 3, text)

    def _draw_in_mode(self, y: float, mode: int, text: str) -> None:
        drawn = self._canvas.beginText(60, y)
        drawn.setTextRenderMode(mode)
        drawn.textOut(text)
        drawn.setTextRenderMode(0)
        self._canvas.drawText(drawn)

    def _picture(self, colour: str, x: float, y: float, width: float, height: float) -> None:
        picture = Image.effect_noise((60, 10), 40).convert("RGB")
        picture = Image.blend(picture, Image.new("RGB", picture.size, colour), 0.7)
        self._canvas.drawImage(ImageReader(picture), x, y, width, height)


VISIBLE: list[Callable[[PdfMaker], None]] = [
    PdfMaker.plain, PdfMaker.light_grey, PdfMaker.white_on_dark, PdfMaker.white_on_picture,
    PdfMaker.highlighted, PdfMaker.shadowed, PdfMaker.framed, PdfMaker.part_of_a_form,
    PdfMaker.codes,
]  # fmt: skip
UNSEEN: list[Callable[[PdfMaker], None]] = [
    PdfMaker.invisible, PdfMaker.in_the_colour_of_the_page, PdfMaker.in_the_colour_of_a_shape,
    PdfMaker.covered_by_a_shape, PdfMaker.covered_by_a_line, PdfMaker.covered_by_a_picture,
    PdfMaker.partly_covered,
    PdfMaker.outside_the_page, PdfMaker.tiny, PdfMaker.invisible_in_a_form,
]  # fmt: skip


def make_random_pdf(seed: int) -> MadePdf:
    """A page with text that can be seen, text that cannot and, in every third, text in a font with
    wrong letters; every tenth is a scan."""
    maker, choose = PdfMaker(seed), random.Random(seed)
    if seed % 10 == 9:
        maker.scan()
        return maker.make()
    parts = [*choose.sample(VISIBLE, 6), *choose.sample(UNSEEN, 4)]
    if seed % 3 == 0:
        parts += [PdfMaker.in_a_font_with_wrong_letters]
    choose.shuffle(parts)
    for part in parts:
        maker.plain()
        part(maker)
    return maker.make()
