"""Units of measurement, and what they are converted to."""

from text.words import split_word_set

# Unit as written -> the unit it is converted to, and how many of that.
UNITS: dict[str, tuple[str, float]] = {
    spelling: (base, factor)
    for base, factor, spellings in [
        ("%", 1, "% percent per-cent pct"),
        ("percentage point", 1, "percentage-point percentage-points pp"),
        ("gram", 1e-9, "ng nanogram nanograms"),
        ("gram", 1e-6, "µg μg ug mcg microgram micrograms"),
        ("gram", 1e-3, "mg milligram milligrams"),
        ("gram", 1, "g gram grams"),
        ("gram", 1e3, "kg kilo kilos kilogram kilograms"),
        ("gram", 1e6, "t tonne tonnes ton tons"),
        ("metre", 1e-9, "nm nanometre nanometres nanometer nanometers"),
        ("metre", 1e-6, "µm μm um micrometre micrometres micrometer micrometers"),
        ("metre", 1e-3, "mm millimetre millimetres millimeter millimeters"),
        ("metre", 1e-2, "cm centimetre centimetres centimeter centimeters"),
        ("metre", 1, "m metre metres meter meters"),
        ("metre", 1e3, "km kilometre kilometres kilometer kilometers"),
        ("litre", 1e-6, "µl μl ul microlitre microlitres microliter microliters"),
        ("litre", 1e-3, "ml millilitre millilitres milliliter milliliters"),
        ("litre", 1, "l litre litres liter liters"),
        ("second", 1e-3, "ms millisecond milliseconds"),
        ("second", 1, "s sec secs second seconds"),
        ("second", 60, "min mins minute minutes"),
        ("second", 3_600, "h hr hrs hour hours"),
        ("second", 86_400, "d day days"),
        ("second", 604_800, "week weeks"),
        ("month", 1, "month months"),
        ("month", 12, "year years"),
        ("degree Celsius", 1, "°c ℃ degree-celsius degrees-celsius"),
        ("degree Fahrenheit", 1, "°f ℉ degree-fahrenheit degrees-fahrenheit"),
        ("euro", 1, "€ eur euro euros"),
        ("dollar", 1, "$ usd dollar dollars"),
        ("pound", 1, "£ gbp pound pounds"),
        ("square metre", 1e-6, "mm2 sqmm"),
        ("square metre", 1e-4, "cm2 sqcm"),
        ("square metre", 1, "m2 sqm qm"),
        ("square metre", 1e6, "km2 sqkm"),
        ("cubic metre", 1e-9, "mm3"),
        ("cubic metre", 1e-6, "cm3 ccm"),
        ("cubic metre", 1, "m3 cbm"),
        ("ohm", 1, "ω ohm ohms"),
        ("ohm", 1e3, "kω kohm kiloohm kiloohms kilohm kilohms"),
        ("degree", 1, "° degree degrees"),
        ("hectare", 1, "ha hectare hectares"),
        ("pascal", 1, "pa pascal pascals"),
        ("pascal", 1e3, "kpa kilopascal kilopascals"),
        ("pascal", 1e6, "mpa megapascal megapascals"),
        ("mmhg", 1, "mmhg"),
        ("byte", 1e3, "kb kilobyte kilobytes"),
        ("byte", 1e6, "mb megabyte megabytes"),
        ("byte", 1e9, "gb gigabyte gigabytes"),
        ("byte", 1e12, "tb terabyte terabytes"),
        ("hertz", 1, "hz hertz"),
        ("hertz", 1e3, "khz kilohertz"),
        ("hertz", 1e6, "mhz megahertz"),
        ("hertz", 1e9, "ghz gigahertz"),
        ("volt", 1, "v volt volts"),
        ("volt", 1e3, "kv kilovolt kilovolts"),
        ("watt", 1, "w watt watts"),
        ("watt", 1e3, "kw kilowatt kilowatts"),
        ("watt hour", 1e3, "kwh"),
        ("joule", 1, "j joule joules"),
        ("joule", 1e3, "kj kilojoule kilojoules"),
        ("bar", 1, "bar bars"),
        ("bar", 1e-3, "mbar millibar millibars"),
    ]
    for spelling in spellings.split()
}

# Not converted: in capitals they may be another unit, or they are counted and not measured.
OTHER_UNITS = split_word_set(
    "ma ah mah mw gw mv db kn nm mol mmol umol ppm ppb rpm dpi px pt kcal cal kib mib gib mbit gbit"
    " kbps mbps gbps mph bpm psi iu kda bp lm lx ft lb lbs oz ‰ mω"
)
