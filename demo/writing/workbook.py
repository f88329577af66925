"""The year 2019 in figures: an XLSX workbook of three sheets."""

import datetime
from collections.abc import Sequence
from pathlib import Path

from openpyxl import Workbook
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils import get_column_letter

Row = Sequence[str | float | datetime.date]

TIDES: list[Row] = [
    ("Month", "Mean level (m)", "Highest (m)", "On", "Lowest (m)", "Remark"),
    ("January", 2.713, 5.12, datetime.date(2019, 1, 23), 0.31, "Gauge clock cleaned on the 7th"),
    ("February", 2.664, 4.97, datetime.date(2019, 2, 20), 0.22, "Ice in the pipe for two days"),
    ("March", 2.702, 5.41, datetime.date(2019, 3, 21), 0.18, "Highest water of the year"),
    ("April", 2.611, 4.88, datetime.date(2019, 4, 19), 0.27, "Radar and float differ by 2 mm"),
    ("May", 2.589, 4.63, datetime.date(2019, 5, 18), 0.35, "A seal pup slept on the intake"),
    ("June", 2.602, 4.59, datetime.date(2019, 6, 5), 0.41, "Bolt levelled on the 24th: no change"),
    ("July", 2.618, 4.71, datetime.date(2019, 7, 4), 0.38, "Float polished"),
    ("August", 2.637, 5.02, datetime.date(2019, 8, 31), 0.19, "Seiche of 21 cm on the 9th"),
    ("September", 2.681, 5.26, datetime.date(2019, 9, 30), 0.12, "Lowest water of the year"),
    ("October", 2.709, 5.18, datetime.date(2019, 10, 1), 0.20, "Pencil replaced by pen"),
    ("November", 2.722, 4.91, datetime.date(2019, 11, 26), 0.29, "Pen replaced by pencil"),
    ("December", 2.736, 5.08, datetime.date(2019, 12, 13), 0.33, "New paper, two hundred sheets"),
]
WEATHER: list[Row] = [
    ("Month", "Mean (°C)", "Rain (mm)", "Gale days", "Strongest gust (m/s)", "What the diary says"),
    ("January", 4.1, 94, 9, 38, "Spray on the lantern glass, 38 metres up."),
    ("February", 3.6, 71, 7, 35, "Snow for an afternoon; the garden looked surprised."),
    ("March", 5.2, 66, 8, 41, "The gust of the 12th took the weather vane. Found in Vennhaven."),
    ("April", 7.4, 38, 3, 24, "First thrift in flower on the 26th."),
    ("May", 9.8, 41, 1, 19, "Eleven days without a cloud."),
    ("June", 12.9, 52, 0, 17, "Petrels back, heard from the 2nd."),
    ("July", 15.3, 47, 1, 21, "Warmest day on record: 27.4 °C on the 25th."),
    ("August", 15.1, 83, 2, 26, "Thunder on the 9th, and the sound rocked for an hour."),
    ("September", 13.0, 90, 4, 29, "Apples: fourteen, the best year yet."),
    ("October", 10.2, 118, 6, 33, "Wettest month. The kettle was never cold."),
    ("November", 7.1, 102, 8, 36, "Boat could not land for nineteen days."),
    ("December", 5.5, 97, 8, 37, "Lamp in order."),
]
STORES: list[Row] = [
    ("Item", "Kept in", "Quantity", "Unit", "Order again below"),
    ("Distilled water for the lens", "Oil store, shelf 2", 40, "litre", 15),
    ("Badger brushes", "Lantern room", 3, "piece", 2),
    ("Gauge paper", "Archive, drawer 11", 214, "sheet", 60),
    ("Paraffin for the heritage lamp", "Iron locker outside", 12, "litre", 5),
    ("Spare copper float", "Well house", 1, "piece", 1),
    ("Ship’s biscuit", "Galley, tin with the swan", 96, "piece", 48),
    ("Tea", "Galley, tin without the swan", 4.5, "kilogram", 2),
    ("Visitors’ oilskins", "Porch", 18, "piece", 12),
    ("Flares, red", "Iron locker outside", 8, "piece", 6),
    ("Cat food", "Galley, top shelf", 30, "tin", 14),
]


def write(path: Path) -> None:
    workbook = Workbook()
    workbook.remove(workbook.active)
    workbook.properties.title = "Gauge and Weather Book, 2019"
    workbook.properties.creator = "The Orrin Skerry Trust"
    for title, rows in (("Tides", TIDES), ("Weather", WEATHER), ("Stores", STORES)):
        sheet = workbook.create_sheet(title)
        for row in rows:
            sheet.append(row)
        for cell in sheet[1]:
            cell.font = Font(bold=True, color="FFFFFF")
            cell.fill = PatternFill("solid", fgColor="2D6073")
            cell.alignment = Alignment(vertical="center", wrap_text=True)
        sheet.row_dimensions[1].height = 30  # points
        sheet.freeze_panes = "B2"
        for at, column in enumerate(sheet.columns, start=1):
            longest = max(len(str(cell.value)) for cell in column)
            sheet.column_dimensions[get_column_letter(at)].width = longest + 2
    workbook.save(path)
