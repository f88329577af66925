"""Words by which ``differences.py`` recognises quantities, negations and signs."""

import re

# Unit as written -> the unit it is converted to, and how many of that.
UNITS: dict[str, tuple[str, float]] = {
    spelling: (base, factor)
    for base, factor, spellings in [
        ("%", 1, "% percent per-cent pct"),
        ("percentage point", 1, "percentage-point percentage-points pp"),
        ("gram", 1e-9, "ng nanogram nanograms"),
        ("gram", 1e-6, "µg μg mcg microgram micrograms"),
        ("gram", 1e-3, "mg milligram milligrams"),
        ("gram", 1, "g gram grams"),
        ("gram", 1e3, "kg kilo kilos kilogram kilograms"),
        ("gram", 1e6, "t tonne tonnes ton tons"),
        ("metre", 1e-9, "nm nanometre nanometres nanometer nanometers"),
        ("metre", 1e-6, "µm μm micrometre micrometres micrometer micrometers"),
        ("metre", 1e-3, "mm millimetre millimetres millimeter millimeters"),
        ("metre", 1e-2, "cm centimetre centimetres centimeter centimeters"),
        ("metre", 1, "m metre metres meter meters"),
        ("metre", 1e3, "km kilometre kilometres kilometer kilometers"),
        ("litre", 1e-6, "µl μl microlitre microlitres microliter microliters"),
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
        ("degree Celsius", 1, "°c degree-celsius degrees-celsius"),
        ("degree Fahrenheit", 1, "°f degree-fahrenheit degrees-fahrenheit"),
        ("euro", 1, "€ eur euro euros"),
        ("dollar", 1, "$ usd dollar dollars"),
        ("pound", 1, "£ gbp pound pounds"),
        ("hectare", 1, "ha hectare hectares"),
        ("pascal", 1, "pa pascal pascals"),
        ("pascal", 1e3, "kpa kilopascal kilopascals"),
        ("pascal", 1e6, "mpa megapascal megapascals"),
        ("mmhg", 1, "mmhg"),
    ]
    for spelling in spellings.split()
}
NOT_UNITS = frozenset(
    "a an and as at by for from in of on or per than the to was were with".split()  # noqa: SIM905
)
SCALES = {"hundred": 1e2, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
SMALL_NUMBERS = {
    word: number
    for number, word in enumerate(  # from two: "one" is a pronoun too
        """
        two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
        seventeen eighteen nineteen
        """.split(),  # noqa: SIM905
        start=2,
    )
}
TENS = {
    word: 10 * number
    for number, word in enumerate(
        "twenty thirty forty fifty sixty seventy eighty ninety".split(),  # noqa: SIM905
        start=2,
    )
}

NEGATIONS = frozenset(
    """
    not no never without none neither nor cannot nobody nothing nowhere lack lacks lacked
    lacking fail fails failed failing unable absent absence unchanged unaffected ineffective
    """.split()  # noqa: SIM905
)
NEGATING_PREFIX = re.compile(r"(?:un|non|in|im|ir|dis)(?=\w{4})")

# Pairs of word lists with opposite meanings.
OPPOSITES: list[tuple[frozenset[str], frozenset[str]]] = [
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in [
        (
            """rise rises rose risen rising raise raises raised raising increase increases increased
            increasing grow grows grew grown growing gain gains gained climb climbs climbed more
            higher highest above greater larger heavier up double doubles doubled surge surged
            expand expands expanded surplus""",
            """fall falls fell fallen falling reduce reduces reduced reducing lower lowers lowered
            lowering decrease decreases decreased decreasing decline declines declined drop drops
            dropped shrink shrinks shrank shrunk lose loses lost less fewer below smaller lighter
            down halve halves halved cut cuts cutting lowest deficit""",
        ),
        (
            """improve improves improved improving improvement better best favourable favorable
            beneficial benefit benefits relieve relieves relieved relief recover recovers
            recovered eases eased ease""",
            """worsen worsens worsened worsening worse worst adverse harmful harm harms aggravate
            aggravates aggravated decline declines declined exacerbates exacerbated""",
        ),
        ("faster quicker accelerates accelerated fast", "slower slows slowed slow"),
        ("earlier sooner early before", "later late after"),
        ("longer lengthens prolongs prolonged", "shorter shortens shortened"),
        ("stronger strengthens strengthened strong", "weaker weakens weakened weak"),
        ("brighter brightens brightened", "dimmer dims dimmed"),
        ("warmer warmed hotter", "colder cooler cooled"),
        ("won wins win", "lost loses lose"),
        ("approve approves approved accept accepted", "reject rejects rejected refuse refused"),
        ("positive positively", "negative negatively"),
        ("profit profits", "loss losses"),
        ("dearer pricier", "cheaper"),
        ("supports supported confirms confirmed", "contradicts contradicted refutes refuted"),
        ("safe safer", "unsafe dangerous riskier"),
        ("effective", "ineffective"),
    ]
]  # fmt: skip
