"""A talk about tides: slides, with speaker notes that contain further facts."""

from pathlib import Path
from typing import Any

from pptx import Presentation
from pptx.dml.color import RGBColor
from pptx.enum.shapes import MSO_SHAPE
from pptx.util import Inches, Pt

INK, SEA, FOAM, LAMP, PAPER = (
    RGBColor(*bytes.fromhex(shade))  # type: ignore[no-untyped-call]
    for shade in ("22303A", "2D6073", "DCE7EA", "D9982F", "FBFAF7")
)
MARGIN = Inches(0.9)

SLIDES: list[tuple[str, list[str], str]] = [
    (
        "What the sea does twice a day",
        [
            "High water comes every 12 hours and 25 minutes",
            "Springs: a mean range of 4.6 metres",
            "Neaps: a mean range of 1.9 metres",
            "The moon does two thirds of the work, the sun one third",
        ],
        "Ask who has ever left something on a beach. Then explain why high water is fifty minutes "
        "later tomorrow: the moon has moved on, and the island has to turn a little further to "
        "catch up with it. If a child asks which is stronger, the sun or the moon, let the child "
        "hold the melon and the pea.",
    ),
    (
        "Inside the well",
        [
            "A shaft nine metres deep, joined to the sea by a narrow pipe",
            "A copper float follows the level; waves never reach it",
            "A pencil draws one curve a day on a paper drum",
            "Since 1996 a radar looks down at the same water",
        ],
        "The float on show is the second one. The first was dented by a conger eel in 1923, which "
        "had come in through the pipe when it was young and could not get out again; the keepers "
        "called it the Assistant Surveyor and fed it until it was released with a net. Pass the "
        "dented float around. It weighs 2.3 kilograms, so warn people.",
    ),
    (
        "Reading a curve",
        [
            "The height of the wave is the range",
            "A fat curve on the left means wind from the west",
            "Small teeth are seiches: the sound rocking like a bath",
            "A gap means somebody forgot to wind the clock",
        ],
        "There are only seven gaps in the whole record. The longest, of four days, is from May "
        "1945, and nobody was ever reprimanded for it. Show the sheet of 27 August 1883, if the "
        "loan has been renewed: no, our gauge is younger than that, so the sheet is from "
        "Vennhaven. People always ask, and it is better to say so first.",
    ),
    (
        "The highest waters",
        [
            "4 February 1909: 6.31 metres",
            "1 February 1953: 5.79 metres",
            "11 January 1993: 5.66 metres",
            "5 December 2013: 5.74 metres",
        ],
        "All four are above the gauge’s zero, which lies 4.82 metres below the brass bolt. Do the "
        "sum aloud: in 1909 the water stood about a metre and a half over the bolt. The surge of "
        "1953 would have been the record had it come two hours earlier, at high water instead of "
        "on the ebb.",
    ),
    (
        "Slow water",
        [
            "1889 to 1990: a rise of 1.7 millimetres a year",
            "Since 1993: a rise of 3.4 millimetres a year",
            "The land itself sinks by 0.3 millimetres a year",
            "One bolt, one well, one hundred and thirty years",
        ],
        "This is the slide to be quiet on. Hold up the school ruler. One century of Dr Solm’s "
        "record is the width of a hand; at the present pace the next hand takes fifty years. The "
        "figure for the sinking land comes from the satellite receiver that was bolted to the "
        "old fog-bell frame in 2004.",
    ),
    (
        "Who reads it today",
        [
            "The Vennhaven pilots, every morning at six",
            "The storm-surge office, every ten minutes",
            "Two hundred and twelve schools, through the open archive",
            "You, from the bench beside the landing stair",
        ],
        "End with the pilots’ story: in 2009 the harbour mast lost its power for a night, and the "
        "tanker Hedda Marie was brought in on readings that volunteer Ines Okafor shouted "
        "down a telephone from the well, by torchlight, every five minutes for three hours. Then "
        "tea. The last boat leaves at a quarter to five.",
    ),
]


def write(path: Path) -> None:
    presentation = Presentation()
    presentation.slide_width, presentation.slide_height = Inches(13.333), Inches(7.5)
    properties = presentation.core_properties
    properties.title = "Reading the Tide: a talk for visitors"
    properties.author = "The Orrin Skerry Trust"
    _cover(presentation)
    for number, (title, points, notes) in enumerate(SLIDES, start=2):
        slide = _blank(presentation, title, notes)
        _place(slide.shapes.title, MARGIN, Inches(0.75), Inches(11.4), Inches(1.1))
        _write(slide.shapes.title, [title], Pt(38), INK, bold=True)
        _bar(slide, MARGIN, Inches(1.9), Inches(1.3), Inches(0.06), LAMP)
        body = slide.shapes.add_textbox(MARGIN, Inches(2.35), Inches(11.0), Inches(3.9))
        _write(body, points, Pt(25), INK, space_after=Pt(15))
        _bar(slide, 0, Inches(7.32), presentation.slide_width, Inches(0.18), SEA)
        page = slide.shapes.add_textbox(Inches(11.9), Inches(6.72), Inches(0.8), Inches(0.4))
        _write(page, [str(number)], Pt(13), SEA)
    presentation.save(str(path))


def _cover(presentation: Any) -> None:
    slide = _blank(
        presentation,
        "Reading the Tide",
        "Welcome people on the quay side of the hut, out of the wind. The talk takes thirty-five "
        "minutes with the float and twenty-five without. It was first given by Marit Osk in the "
        "summer of 1931, to a visiting choir of forty, who paid her in songs.",
    )
    slide.background.fill.solid()
    slide.background.fill.fore_color.rgb = SEA
    _place(slide.shapes.title, MARGIN, Inches(2.4), Inches(11.4), Inches(1.3))
    _write(slide.shapes.title, ["Reading the Tide"], Pt(56), PAPER, bold=True)
    _bar(slide, MARGIN, Inches(3.85), Inches(1.6), Inches(0.08), LAMP)
    line = slide.shapes.add_textbox(MARGIN, Inches(4.15), Inches(11.4), Inches(0.9))
    _write(line, ["A talk for visitors to the Orrin Skerry tide station"], Pt(24), FOAM)


def _blank(presentation: Any, title: str, notes: str) -> Any:
    slide = presentation.slides.add_slide(presentation.slide_layouts[5])  # title only
    slide.background.fill.solid()
    slide.background.fill.fore_color.rgb = PAPER
    slide.notes_slide.notes_text_frame.text = notes
    return slide


def _place(shape: Any, left: int, top: int, width: int, height: int) -> None:
    shape.left, shape.top, shape.width, shape.height = left, top, width, height


def _bar(slide: Any, left: int, top: int, width: int, height: int, color: RGBColor) -> None:
    bar = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, left, top, width, height)
    bar.fill.solid()
    bar.fill.fore_color.rgb = color
    bar.line.fill.background()
    bar.shadow.inherit = False


def _write(
    shape: Any, lines: list[str], size: Pt, color: RGBColor, *, bold: bool = False,
    space_after: Pt | None = None,
) -> None:  # fmt: skip
    frame = shape.text_frame
    frame.word_wrap = True
    for at, line in enumerate(lines):
        paragraph = frame.paragraphs[0] if at == 0 else frame.add_paragraph()
        paragraph.alignment = 1  # left
        paragraph.space_after = space_after
        run = paragraph.add_run()
        run.text = line
        run.font.size, run.font.bold, run.font.name = size, bold, "Georgia"
        run.font.color.rgb = color
