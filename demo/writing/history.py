"""The station's history: a PDF book, one chapter per page, with bookmarks and a chart."""

from pathlib import Path
from typing import Any

from reportlab.graphics import shapes
from reportlab.lib.colors import HexColor
from reportlab.lib.enums import TA_CENTER
from reportlab.lib.pagesizes import A5
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.platypus import (
    Flowable,
    PageBreak,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

TITLE = "A Light on Orrin Skerry"

INK, SEA, FOAM, RULE, LAMP = (
    HexColor(f"#{shade}") for shade in ("22303a", "2d6073", "e8eff1", "b8c7cc", "d9982f")
)

BODY = ParagraphStyle(
    "body", fontName="Times-Roman", fontSize=12, leading=17.6, textColor=INK,
    alignment=4, firstLineIndent=14, allowWidows=0, allowOrphans=0,
)  # fmt: skip
FIRST = ParagraphStyle("first", BODY, firstLineIndent=0)
NUMBER = ParagraphStyle(
    "number", fontName="Helvetica", fontSize=8, leading=12, textColor=SEA, spaceAfter=3
)
HEADING = ParagraphStyle(
    "heading", fontName="Times-Bold", fontSize=20, leading=25, textColor=INK, spaceAfter=13
)
CAPTION = ParagraphStyle("caption", fontName="Times-Italic", fontSize=9, leading=12, textColor=SEA)
COVER = ParagraphStyle(
    "cover", fontName="Times-Bold", fontSize=25, leading=30, textColor=INK, alignment=TA_CENTER
)
COVER_LINE = ParagraphStyle("cover line", CAPTION, fontSize=11.5, leading=17, alignment=TA_CENTER)
CELL = ParagraphStyle("cell", fontName="Times-Roman", fontSize=10.4, leading=13.6, textColor=INK)
YEAR = ParagraphStyle("year", CELL, fontName="Times-Bold", textColor=SEA)

CHAPTERS: list[tuple[str, list[str]]] = [
    (
        "A rock with a bad name",
        [
            "Nineteen kilometres west of the harbour at Vennhaven, the sea floor rises without "
            "warning into a ridge of grey gneiss. At high water the part of it that shows is three "
            "hundred and forty metres long, a hundred and twenty wide and nowhere taller than a "
            "house. Fishermen called it the Widow’s Table long before any chart called it Orrin "
            "Skerry, and they gave it a wide berth: between 1790 and 1868 the parish books record "
            "fifty-eight vessels lost on it or within sight of it.",
            "The loss that changed minds was the packet <i>Swallow’s Promise</i>, which struck "
            "the southern reef on a still, foggy morning in March 1866 with the whole of the "
            "Vennhaven school inspection aboard. Everyone was taken off alive. The inspectors, "
            "having spent nine hours on the rock in their good coats, wrote to the Harbour Board "
            "every week for two years, and the Board, worn down at last, voted eleven thousand "
            "crowns for a light.",
            "The plan it chose was the work of Edmund Rask, a bridge builder who had never seen a "
            "lighthouse from the inside. He spent the summer of 1868 alone in a tent on the "
            "skerry, counting waves, and came home with a notebook and one sentence of advice: "
            "build it where the seals do not sleep, for they know which ledges stay dry.",
        ],
    ),
    (
        "Building the tower",
        [
            "Work began in April 1869 and could only go on while the swell allowed a boat to "
            "land, which in the first season meant sixty-one days. Every block was cut in "
            "Vennhaven, laid out dry on the quay, numbered, and taken apart again. The tower "
            "stands thirty-eight metres high in seventy-four courses, each stone dovetailed into "
            "its neighbours, so that no course can shift without lifting the one above it. There "
            "are one hundred and eighty-three steps to the lantern; visitors who count one "
            "hundred and eighty-four have included the threshold.",
            "The hardest part was not the tower but the landing. Rask had twelve iron rings "
            "leaded into the rock for mooring and lost nine of them in one October night. The "
            "stair that replaced them, cut straight into the gneiss on the sheltered eastern "
            "side, took a crew of six men fourteen months. A brass bolt beside its seventh tread "
            "was meant only to hold a handrail. It has since become the most carefully measured "
            "object on the island.",
            "The lamp was lit for the first time on the evening of 14 October 1871 by Rask’s "
            "daughter Liv, then eight years old, who was allowed to strike the match because she "
            "had asked first. It showed two white flashes every fifteen seconds and could be seen "
            "for twenty-one nautical miles. It has shown them ever since.",
        ],
    ),
    (
        "The first keepers",
        [
            "Aldous Brekke, the first principal keeper, was a retired whaling mate with one good "
            "ear and a fine copperplate hand. His log for the first winter runs to four hundred "
            "pages and mentions his own illness, a pneumonia that nearly killed him, in a single "
            "line: <i>Unwell. Lamp in order.</i> He served for twenty-two years and trained eleven "
            "assistants, of whom four became principal keepers elsewhere on the coast.",
            "His wife Agnes looked at the bare rock and decided to have a garden. Ships came to "
            "the harbour in ballast, and ballast was often earth; in the spring of 1876 she "
            "bought four hundred sacks of it for the price of a pig, had it rowed out over the "
            "summer, and walled a plot of eleven metres by seven against the salt. Kale, leeks "
            "and sea beet did well at once. The apple tree she planted in the south corner took "
            "nineteen years to bear, and then bore three apples.",
            "On the night of 2 December 1883 the barque <i>Calliope</i> drove on to the southern "
            "reef in a snow squall. Brekke and two assistants brought all twenty-three of her crew "
            "up the landing stair by lantern, one at a time, along a rope made fast to the brass "
            "bolt. The ship’s cat, a tabby called Ballast, arrived by herself the next morning and "
            "stayed for eleven years.",
        ],
    ),
    (
        "Dr Solm’s well",
        [
            "In 1889 a physician from Vennhaven with no patients to speak of rowed out to the "
            "skerry and asked whether she might dig a hole. Dr Henrike Solm wanted to know "
            "whether the sea was rising or the land sinking, and she had understood that only a "
            "place far from any river mouth could tell her. The well she sank beside the landing "
            "stair is nine metres deep and joined to the sea by a pipe no wider than a thumb, so "
            "that waves are stilled on the way in and only the tide itself arrives.",
            "A copper float rose and fell in the well, and a pencil, moved by the float through a "
            "train of clock wheels, drew the tide on a drum that turned once a day. Solm set the "
            "zero of the gauge exactly 4.82 metres below the top of the brass bolt, and every year "
            "since, on or near midsummer’s day, someone has levelled the one against the other. In "
            "all that time the bolt has not moved by the thickness of a fingernail.",
            "The record she began is one of the longest unbroken ones in the northern sea. Between "
            "1889 and 1990 the mean level rose by 1.7 millimetres a year. Since 1993 it has risen "
            "by 3.4 millimetres a year: twice as fast, on the same bolt, in the same well.",
        ],
    ),
    (
        "The great storm",
        [
            "The storm of 3 and 4 February 1909 came from the north-west on top of a spring tide. "
            "By ten in the evening the sea was breaking over the garden wall; by midnight it had "
            "taken the boathouse, the hen house and forty metres of railing. The pencil of the "
            "tide gauge went off the top of its drum at 2.40 in the morning. Next day the line of "
            "weed on the tower door was measured at 6.31 metres above the gauge’s zero, and "
            "nothing since has come within half a metre of it.",
            "The principal keeper, Joen Vik, had been taken ashore with a broken leg in January. "
            "The light was in the hands of his assistant, Marit Osk, who was twenty-six and, on "
            "paper, the cook. She kept it burning for fifty-two hours without relief, turning the "
            "lens by hand for the last thirty after spray had got into the clockwork. Asked "
            "afterwards how she had stayed awake, she said that she had recited the tide tables, "
            "and that when she ran out of those she had made some up.",
            "The Harbour Board made her principal keeper that June, the first woman on the coast "
            "to hold the post. She held it until 1938. The mark she cut beside the door, at the "
            "height of the weed, is still called Marit’s line.",
        ],
    ),
    (
        "The lamp goes out of human hands",
        [
            "The light burned colza oil until 1894, paraffin until 1937 and has burned nothing at "
            "all since then: a diesel set in the old oil store drove an electric lamp no larger "
            "than a pear, and the keepers complained that they missed the smell. The fog bell, six "
            "hundred and ten kilograms of bronze, gave way in 1912 to a compressed-air horn whose "
            "three blasts every ninety seconds could be felt in the teeth at Vennhaven.",
            "When the station was made automatic, the last keeper, Tobias Wray, was asked to leave "
            "on 30 September 1988. He left on 1 October, explaining in the log that the thirtieth "
            "had been a Friday and that no sailor starts a voyage on a Friday. His final entry "
            "reads: <i>Lamp in order. Cat fed. Door closed but not locked.</i>",
            "For six years there was nobody. Then, in 1994, a trust of former keepers’ families "
            "took the buildings on a lease of ninety-nine years at one crown a year, mended the "
            "roof, and opened the archive whose shelves you are perhaps reading from now. Since "
            "2011 the lamp, the gauge and the kettle have run on forty-two solar panels behind "
            "the garden wall, where even Agnes Brekke’s apple tree approves of the shelter.",
        ],
    ),
]

CHRONOLOGY = [
    ("1866", "The <i>Swallow’s Promise</i> strikes the southern reef; all are saved."),
    ("1868", "Edmund Rask spends the summer on the rock and chooses the site."),
    ("1871", "14 October: the lamp is lit for the first time."),
    ("1876", "Agnes Brekke walls the garden with four hundred sacks of earth."),
    ("1883", "2 December: the crew of the <i>Calliope</i> is brought up the stair."),
    ("1889", "Dr Henrike Solm sinks the tide well; the record begins."),
    ("1902", "The first telegraph cable; it breaks eleven times in its first year."),
    ("1909", "The great storm. Marit Osk is made principal keeper."),
    ("1937", "Electric light."),
    ("1956", "A wireless school is held for the children of three islands."),
    ("1988", "1 October: Tobias Wray, the last keeper, goes ashore."),
    ("1994", "The trust takes the lease; the archive opens."),
    ("2011", "Forty-two solar panels replace the diesel sets."),
    ("2016", "The lens is taken down, cleaned and put back."),
]

# Mean level above the gauge's zero in metres, by year: what the chart shows.
LEVELS = [
    (1889, 2.401), (1900, 2.418), (1910, 2.441), (1920, 2.449), (1930, 2.471), (1940, 2.489),
    (1950, 2.502), (1960, 2.524), (1970, 2.535), (1980, 2.557), (1990, 2.573), (2000, 2.597),
    (2010, 2.633), (2019, 2.662),
]  # fmt: skip


def write(path: Path) -> None:
    document = SimpleDocTemplate(
        str(path), pagesize=A5, leftMargin=14 * mm, rightMargin=14 * mm, topMargin=20 * mm,
        bottomMargin=12 * mm, title=f"{TITLE}: a short history of the station",
        author="The Orrin Skerry Trust", subject="1866 to 2019", invariant=1,
    )  # fmt: skip
    width = document.width - 12  # the frame pads by 6 on each side
    story: list[Any] = [
        _Bookmark("Cover"), Spacer(1, 14 * mm), _lighthouse(), Spacer(1, 11 * mm),
        Paragraph(TITLE, COVER), Spacer(1, 4 * mm),
        Paragraph("A short history of the station<br/>1866 to 2019", COVER_LINE),
        Spacer(1, 16 * mm), Paragraph("The Orrin Skerry Trust, Vennhaven", COVER_LINE),
    ]  # fmt: skip
    for number, (title, paragraphs) in enumerate(CHAPTERS, start=1):
        story += [
            PageBreak(), _Bookmark(title), Paragraph(f"CHAPTER {number}", NUMBER),
            Paragraph(title, HEADING),
        ]  # fmt: skip
        story += [Paragraph(text, BODY if at else FIRST) for at, text in enumerate(paragraphs)]
    story += [
        PageBreak(), _Bookmark("Chronology"), Paragraph("APPENDIX", NUMBER),
        Paragraph("Chronology", HEADING), _chronology(width), Spacer(1, 5 * mm), _chart(width),
        Spacer(1, 1.5 * mm),
        Paragraph("Mean sea level at the gauge, in metres above its zero.", CAPTION),
    ]  # fmt: skip
    document.build(story, onFirstPage=_cover_page, onLaterPages=_page)


class _Bookmark(Flowable):
    """An entry in the PDF outline; takes no space on the page."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.title = title

    def wrap(self, *available: float) -> tuple[float, float]:
        return 0, 0

    def draw(self) -> None:
        self.canv.bookmarkPage(self.title)
        self.canv.addOutlineEntry(self.title, self.title, 0)


def _cover_page(canvas: Any, document: Any) -> None:
    width, height = A5
    canvas.setStrokeColor(RULE)
    canvas.setLineWidth(0.6)
    canvas.rect(9 * mm, 9 * mm, width - 18 * mm, height - 18 * mm)


def _page(canvas: Any, document: Any) -> None:
    width, height = A5
    left, right = document.leftMargin + 6, width - document.rightMargin - 6  # the frame's padding
    canvas.setFont("Times-Italic", 9)
    canvas.setFillColor(SEA)
    canvas.drawString(left, height - 12 * mm, TITLE)
    canvas.drawRightString(right, height - 12 * mm, str(document.page))
    canvas.setStrokeColor(RULE)
    canvas.setLineWidth(0.4)
    canvas.line(left, height - 14 * mm, right, height - 14 * mm)


def _lighthouse() -> shapes.Drawing:
    drawing = shapes.Drawing(190, 200)
    drawing.hAlign = "CENTER"
    for side, top in ((190, 196), (0, 196), (190, 150), (0, 150)):
        drawing.add(
            shapes.Polygon(
                [95, 173, side, top, side, top - 24],
                fillColor=HexColor("#faf1dd"),
                strokeColor=None,
            )
        )
    drawing.add(shapes.Rect(0, 0, 190, 34, fillColor=FOAM, strokeColor=None))
    drawing.add(
        shapes.Polygon(
            [38, 22, 66, 40, 126, 43, 158, 22], fillColor=HexColor("#77868c"), strokeColor=None
        )
    )
    drawing.add(
        shapes.Polygon(
            [80, 40, 86, 158, 104, 158, 110, 40],
            fillColor=HexColor("#fbfaf7"),
            strokeColor=INK,
            strokeWidth=0.9,
        )
    )
    for bottom in (62, 104):
        left, right = 80 + bottom / 20 - 2, 110 - bottom / 20 + 2
        drawing.add(
            shapes.Polygon(
                [left, bottom, left + 1, bottom + 21, right - 1, bottom + 21, right, bottom],
                fillColor=SEA,
                strokeColor=None,
            )
        )
    drawing.add(shapes.Rect(82, 158, 26, 3, fillColor=INK, strokeColor=None))
    drawing.add(shapes.Rect(88, 161, 14, 19, fillColor=FOAM, strokeColor=INK, strokeWidth=0.9))
    drawing.add(shapes.Circle(95, 172, 4.6, fillColor=LAMP, strokeColor=None))
    drawing.add(shapes.Polygon([85, 180, 95, 192, 105, 180], fillColor=INK, strokeColor=None))
    drawing.add(shapes.Line(95, 192, 95, 197, strokeColor=INK, strokeWidth=1))
    for row, (start, step) in enumerate([(0, 38), (-19, 38), (0, 38)]):
        wave = shapes.Path(strokeColor=SEA, strokeWidth=0.9, fillColor=None)
        base = 20 - 8 * row
        wave.moveTo(max(0, start), base)
        for left in range(max(0, start), 190, step):
            right = min(left + step, 190)
            middle = (left + right) / 2
            wave.curveTo(left + 8, base + 6, middle - 4, base + 6, middle, base)
            wave.curveTo(middle + 4, base - 4, right - 8, base - 4, right, base)
        drawing.add(wave)
    return drawing


def _chronology(width: float) -> Table:
    rows = [[Paragraph(year, YEAR), Paragraph(text, CELL)] for year, text in CHRONOLOGY]
    table = Table(rows, colWidths=[14 * mm, width - 14 * mm])
    table.setStyle(
        TableStyle(
            [
                ("VALIGN", (0, 0), (-1, -1), "TOP"),
                ("LEFTPADDING", (0, 0), (-1, -1), 0),
                ("TOPPADDING", (0, 0), (-1, -1), 1.6),
                ("BOTTOMPADDING", (0, 0), (-1, -1), 2.2),
                ("LINEBELOW", (0, 0), (-1, -2), 0.3, RULE),
            ]
        )
    )
    return table


def _chart(width: float) -> shapes.Drawing:
    height, left, bottom = 92.0, 24.0, 13.0
    drawing = shapes.Drawing(width, height)

    def place(year: float, level: float) -> tuple[float, float]:
        across = (year - 1885) / (2022 - 1885)
        up = (level - 2.35) / (2.70 - 2.35)
        return left + across * (width - left), bottom + up * (height - bottom)

    for level in (2.4, 2.5, 2.6, 2.7):
        x, y = place(1885, level)
        drawing.add(shapes.Line(x, y, width, y, strokeColor=RULE, strokeWidth=0.3))
        drawing.add(
            shapes.String(x - 4, y - 2.5, f"{level:.1f}", fontName="Helvetica", fontSize=7,
                   fillColor=SEA, textAnchor="end")
        )  # fmt: skip
    for year in (1900, 1925, 1950, 1975, 2000):
        x, _ = place(year, 2.35)
        drawing.add(
            shapes.String(x, 2, str(year), fontName="Helvetica", fontSize=7, fillColor=SEA,
                   textAnchor="middle")
        )  # fmt: skip
    points = [place(year, level) for year, level in LEVELS]
    flat = [number for point in points for number in point]
    drawing.add(shapes.PolyLine(flat, strokeColor=SEA, strokeWidth=1.3))
    for x, y in points:
        drawing.add(shapes.Circle(x, y, 1.7, fillColor=LAMP, strokeColor=None))
    return drawing
