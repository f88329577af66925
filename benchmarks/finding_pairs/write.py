# ruff: noqa: E501
"""Writes ``pairs.jsonl``: 500 pairs of findings, each labelled with what the two differ in.

    python -m benchmarks.finding_pairs.write

Fifty findings on as many subjects are stated here by hand: one wording, two rewordings and one
negation each. In a wording, ``[rose|fell]`` is the direction, ``{name}`` a named entity, ``{n}`` a
number, ``{unit}`` and ``{units}`` two spellings of its unit. Ten pairs come from each finding: in half
of those that differ in a number, a direction or a name, the second finding is also reworded.
Findings with an even position are for writing a rule, those with an odd one are kept aside to
measure it.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAIRS_FILE = Path(__file__).parent / "pairs.jsonl"


@dataclass(frozen=True)
class Subject:
    """``units``: two units, each in two spellings. ``negated`` is the negation of ``said``."""

    said: str
    reworded: str
    reworded_again: str
    negated: str
    names: tuple[str, str]
    numbers: tuple[str, str, str]
    units: tuple[tuple[str, str], tuple[str, str]]


PERCENT = ("percent", "%")
POINTS = ("percentage points", "percentage points")

SUBJECTS = [
    Subject(
        "In a trial in {name}, the drug [raised|lowered] systolic blood pressure by {n} {unit}.",
        "A trial in {name} found that the drug [raised|lowered] systolic blood pressure by {n} {units}.",
        "Systolic blood pressure was [raised|lowered] by {n} {unit} with the drug, a trial in {name} found.",
        "In a trial in {name}, the drug did not [raise|lower] systolic blood pressure by {n} {unit}.",
        ("Norway", "Portugal"), ("1.2", "3.4", "12"), (("mmHg", "mmHg"), PERCENT),
    ),
    Subject(
        "{name} reported that its quarterly revenue [rose|fell] by {n} {unit}.",
        "Quarterly revenue of {name} [rose|fell] by {n} {units}, the company reported.",
        "{name} said that quarterly revenue [increased|decreased] by {n} {unit}.",
        "{name} reported that its quarterly revenue had not [risen|fallen] by {n} {unit}.",
        ("Siemens", "Philips"), ("8", "18", "2.5"), (PERCENT, ("million euros", "million euros")),
    ),
    Subject(
        "Average winter temperatures in {name} were {n} {unit} [above|below] the long-term mean.",
        "Winter temperatures in {name} averaged {n} {units} [above|below] the long-term mean.",
        "In {name}, average winter temperatures lay {n} {unit} [above|below] the long-term mean.",
        "Average winter temperatures in {name} were not {n} {unit} [above|below] the long-term mean.",
        ("Lapland", "Patagonia"), ("2.1", "1.2", "4"), (("°C", "degrees Celsius"), ("°F", "degrees Fahrenheit")),
    ),
    Subject(
        "The population of otters along the {name} [grew|shrank] by {n} {unit} in ten years.",
        "In ten years the otter population along the {name} [grew|shrank] by {n} {units}.",
        "Along the {name}, the population of otters [grew|shrank] by {n} {unit} within ten years.",
        "The population of otters along the {name} has not [grown|shrunk] by {n} {unit} in ten years.",
        ("Danube", "Severn"), ("30", "13", "300"), (PERCENT, ("animals", "animals")),
    ),
    Subject(
        "Commuters in {name} spend {n} {unit} [more|less] in traffic than five years ago.",
        "Compared with five years ago, commuters in {name} spend {n} {units} [more|less] in traffic.",
        "Five years ago commuters in {name} spent {n} {unit} [less|more] in traffic than today.",
        "Commuters in {name} do not spend {n} {unit} [more|less] in traffic than five years ago.",
        ("Jakarta", "Bogotá"), ("14", "40", "9"), (("minutes", "min"), ("hours", "h")),
    ),
    Subject(
        "The new battery by {name} lasted {n} {unit} [longer|shorter] than the old one in a laboratory test.",
        "In a laboratory test, the new battery by {name} lasted {n} {units} [longer|shorter] than the old one.",
        "The new battery by {name} ran {n} {unit} [longer|shorter] than the old one in a laboratory test.",
        "The new battery by {name} never lasted {n} {unit} [longer|shorter] than the old one in a laboratory test.",
        ("Panasonic", "Varta"), ("3", "5", "3.5"), (("hours", "h"), ("minutes", "min")),
    ),
    Subject(
        "Sea level at {name} is [rising|falling] by {n} {unit} a year, tide gauges show.",
        "Tide gauges show that the sea level at {name} is [rising|falling] by {n} {units} a year.",
        "Tide gauges at {name} show a sea level that [rises|falls] by {n} {unit} each year.",
        "Sea level at {name} is not [rising|falling] by {n} {unit} a year, tide gauges show.",
        ("Honolulu", "Reykjavik"), ("2", "3", "20"), (("millimetres", "mm"), ("centimetres", "cm")),
    ),
    Subject(
        "Pupils who learned with {name} scored {n} {unit} [higher|lower] in mathematics.",
        "In mathematics, pupils who learned with {name} scored {n} {units} [higher|lower].",
        "Mathematics scores of pupils who learned with {name} were {n} {unit} [higher|lower].",
        "Pupils who learned with {name} did not score {n} {unit} [higher|lower] in mathematics.",
        ("Geogebra", "Matific"), ("6", "16", "60"), (("points", "points"), PERCENT),
    ),
    Subject(
        "A dose of {n} {unit} of {name} [increased|decreased] the heart rate of healthy volunteers.",
        "In healthy volunteers, a dose of {n} {units} of {name} [increased|decreased] the heart rate.",
        "The heart rate of healthy volunteers [increased|decreased] after a dose of {n} {unit} of {name}.",
        "A dose of {n} {unit} of {name} did not [increase|decrease] the heart rate of healthy volunteers.",
        ("BX-114", "BX-141"), ("50", "75", "500"), (("milligrams", "mg"), ("micrograms", "µg")),
    ),
    Subject(
        "Unemployment in {name} [climbed|dropped] by {n} {unit} last year, the statistics office said.",
        "The statistics office said that unemployment in {name} [climbed|dropped] by {n} {units} last year.",
        "Last year unemployment in {name} [climbed|dropped] by {n} {unit}, according to the statistics office.",
        "Unemployment in {name} did not [climb|drop] by {n} {unit} last year, the statistics office said.",
        ("Spain", "Finland"), ("0.4", "0.9", "4"), (POINTS, PERCENT),
    ),
    Subject(
        "Wheat yields near {name} were {n} {unit} [heavier|lighter] per hectare with the new seed.",
        "With the new seed, wheat yields near {name} were {n} {units} [heavier|lighter] per hectare.",
        "Near {name}, wheat yields per hectare were {n} {unit} [heavier|lighter] with the new seed.",
        "Wheat yields near {name} were never {n} {unit} [heavier|lighter] per hectare with the new seed.",
        ("Odesa", "Saskatoon"), ("120", "210", "80"), (("kilograms", "kg"), ("tonnes", "t")),
    ),
    Subject(
        "The telescope {name} measured a star that [brightened|dimmed] by {n} {unit} within a week.",
        "Within a week, a star measured by the telescope {name} [brightened|dimmed] by {n} {units}.",
        "A star [brightened|dimmed] by {n} {unit} within a week, as measured by the telescope {name}.",
        "The telescope {name} measured no star that [brightened|dimmed] by {n} {unit} within a week.",
        ("Gaia", "Kepler"), ("7", "17", "0.7"), (PERCENT, ("magnitudes", "magnitudes")),
    ),
    Subject(
        "After the reform in {name}, prisoners served {n} {unit} [more|fewer] on average.",
        "Prisoners served {n} {units} [more|fewer] on average after the reform in {name}.",
        "On average, prisoners in {name} served {n} {unit} [more|fewer] after the reform.",
        "After the reform in {name}, prisoners did not serve {n} {unit} [more|fewer] on average.",
        ("Texas", "Ohio"), ("5", "15", "2"), (("months", "months"), ("years", "years")),
    ),
    Subject(
        "The vaccine by {name} [raised|cut] hospital admissions among infants by {n} {unit}.",
        "Among infants, hospital admissions were [raised|cut] by {n} {units} with the vaccine by {name}.",
        "Hospital admissions among infants [rose|fell] by {n} {unit} with the vaccine by {name}.",
        "The vaccine by {name} failed to [raise|cut] hospital admissions among infants by {n} {unit}.",
        ("Moderna", "Sanofi"), ("44", "54", "4"), (PERCENT, ("cases", "cases")),
    ),
    Subject(
        "Bees exposed to {name} flew {n} {unit} [faster|slower] than bees that were not exposed.",
        "Compared with unexposed bees, bees exposed to {name} flew {n} {units} [faster|slower].",
        "Bees that were exposed to {name} flew {n} {unit} [faster|slower] than bees that were not exposed.",
        "Bees exposed to {name} never flew {n} {unit} [faster|slower] than bees that were exposed to nothing.",
        ("Karate Zeon", "Calypso"), ("1.5", "2.5", "15"), (("km/h", "km/h"), PERCENT),
    ),
    Subject(
        "House prices in {name} [went up|went down] by {n} {unit} after the tunnel opened.",
        "After the tunnel opened, house prices in {name} [went up|went down] by {n} {units}.",
        "When the tunnel had opened, house prices in {name} [went up|went down] by {n} {unit}.",
        "House prices in {name} have not [gone up|gone down] by {n} {unit} since the tunnel opened.",
        ("Malmö", "Calais"), ("11", "12", "110"), (PERCENT, ("thousand euros", "thousand euros")),
    ),
    Subject(
        "Patients of the hospital {name} slept {n} {unit} [more|less] when the lights were dimmed.",
        "When the lights were dimmed, patients of the hospital {name} slept {n} {units} [more|less].",
        "With dimmed lights, patients of the hospital {name} slept {n} {unit} [more|less].",
        "Patients of the hospital {name} did not sleep {n} {unit} [more|less] when the lights were dimmed.",
        ("Charité", "Karolinska"), ("25", "52", "45"), (("minutes", "min"), ("hours", "h")),
    ),
    Subject(
        "The glacier {name} [gained|lost] {n} {unit} of ice in one summer.",
        "In one summer, the glacier {name} [gained|lost] {n} {units} of ice.",
        "Within a single summer the glacier {name} [gained|lost] {n} {unit} of ice.",
        "The glacier {name} has not [gained|lost] {n} {unit} of ice in one summer.",
        ("Aletsch", "Jostedalsbreen"), ("9", "19", "0.9"), (("metres", "m"), ("centimetres", "cm")),
    ),
    Subject(
        "Voters in {name} [approved|rejected] the new bridge with {n} {unit} of the votes.",
        "The new bridge was [approved|rejected] by voters in {name} with {n} {units} of the votes.",
        "With {n} {unit} of the votes, voters in {name} [approved|rejected] the new bridge.",
        "Voters in {name} have not [approved|rejected] the new bridge with {n} {unit} of the votes.",
        ("Basel", "Lucerne"), ("61", "51", "16"), (PERCENT, ("thousand", "thousand")),
    ),
    Subject(
        "The alloy that {name} tested became {n} {unit} [stronger|weaker] after heating.",
        "After heating, the alloy that {name} tested became {n} {units} [stronger|weaker].",
        "Once heated, the alloy tested by {name} became {n} {unit} [stronger|weaker].",
        "The alloy that {name} tested became no {n} {unit} [stronger|weaker] after heating.",
        ("Thyssenkrupp", "Tata Steel"), ("30", "35", "3"), (("megapascals", "MPa"), PERCENT),
    ),
    Subject(
        "{name} sold {n} {unit} [more|fewer] electric cars in March than in February.",
        "In March {name} sold {n} {units} [more|fewer] electric cars than in February.",
        "Compared with February, {name} sold {n} {unit} [more|fewer] electric cars in March.",
        "{name} did not sell {n} {unit} [more|fewer] electric cars in March than in February.",
        ("Renault", "Toyota"), ("20", "22", "200"), (PERCENT, ("thousand", "thousand")),
    ),
    Subject(
        "The compiler {name} makes programs run {n} {unit} [faster|slower] than before.",
        "Programs run {n} {units} [faster|slower] than before with the compiler {name}.",
        "With the compiler {name}, programs run {n} {unit} [faster|slower] than before.",
        "The compiler {name} does not make programs run {n} {unit} [faster|slower] than before.",
        ("GCC", "LLVM"), ("4", "14", "8"), (PERCENT, ("milliseconds", "ms")),
    ),
    Subject(
        "Coral off {name} [recovered|declined] on {n} {unit} of the reef between two surveys.",
        "Between two surveys, coral off {name} [recovered|declined] on {n} {units} of the reef.",
        "On {n} {unit} of the reef off {name}, coral [recovered|declined] between two surveys.",
        "Coral off {name} has not [recovered|declined] on {n} {unit} of the reef between two surveys.",
        ("Mauritius", "Okinawa"), ("23", "32", "3"), (PERCENT, ("hectares", "ha")),
    ),
    Subject(
        "The library in {name} lent {n} {unit} [more|fewer] books after it opened on Sundays.",
        "After it opened on Sundays, the library in {name} lent {n} {units} [more|fewer] books.",
        "Since opening on Sundays, the library in {name} has lent {n} {unit} [more|fewer] books.",
        "The library in {name} did not lend {n} {unit} [more|fewer] books after it opened on Sundays.",
        ("Aarhus", "Ghent"), ("27", "37", "70"), (PERCENT, ("thousand", "thousand")),
    ),
    Subject(
        "Rainwater in {name} contained {n} {unit} of lead, [above|below] the legal limit.",
        "With {n} {units} of lead, rainwater in {name} was [above|below] the legal limit.",
        "Rainwater in {name} held {n} {unit} of lead, which is [above|below] the legal limit.",
        "Rainwater in {name} did not contain {n} {unit} of lead, [above|below] the legal limit.",
        ("Kolkata", "Lima"), ("12", "17", "1.2"), (("micrograms", "µg"), ("milligrams", "mg")),
    ),
    Subject(
        "Runners in shoes by {name} used {n} {unit} [more|less] oxygen at the same speed.",
        "At the same speed, runners in shoes by {name} used {n} {units} [more|less] oxygen.",
        "Runners who wore shoes by {name} used {n} {unit} [more|less] oxygen at the same speed.",
        "Runners in shoes by {name} did not use {n} {unit} [more|less] oxygen at the same speed.",
        ("Asics", "Brooks"), ("4", "2", "0.4"), (PERCENT, ("litres", "l")),
    ),
    Subject(
        "The harbour of {name} handled {n} {unit} [more|fewer] containers than a year ago.",
        "Compared with a year ago, the harbour of {name} handled {n} {units} [more|fewer] containers.",
        "The harbour of {name} handled {n} {unit} [more|fewer] containers than one year ago.",
        "The harbour of {name} did not handle {n} {unit} [more|fewer] containers than a year ago.",
        ("Rotterdam", "Antwerp"), ("6", "9", "60"), (PERCENT, ("thousand", "thousand")),
    ),
    Subject(
        "Mice without the gene {name} lived {n} {unit} [longer|shorter] than other mice.",
        "Mice that lack the gene {name} lived {n} {units} [longer|shorter] than other mice.",
        "Without the gene {name}, mice lived {n} {unit} [longer|shorter] than other mice.",
        "Mice with the gene {name} lived {n} {unit} [longer|shorter] than other mice.",
        ("FOXO3", "SIRT6"), ("40", "14", "41"), (("days", "d"), ("weeks", "weeks")),
    ),
    Subject(
        "Electricity in {name} became {n} {unit} [dearer|cheaper] after the reactor was switched off.",
        "After the reactor was switched off, electricity in {name} became {n} {units} [dearer|cheaper].",
        "Electricity became {n} {unit} [dearer|cheaper] in {name} once the reactor was switched off.",
        "Electricity in {name} became not {n} {unit} [dearer|cheaper] after the reactor was switched off.",
        ("Bavaria", "Vermont"), ("5", "7", "50"), (PERCENT, ("cents", "cents")),
    ),
    Subject(
        "Smokers who used {name} smoked {n} {unit} [more|fewer] a day after a month.",
        "After a month, smokers who used {name} smoked {n} {units} [more|fewer] a day.",
        "A month later, smokers who used {name} smoked {n} {unit} [more|fewer] each day.",
        "Smokers who used {name} did not smoke {n} {unit} [more|fewer] a day after a month.",
        ("Nicorette", "Champix"), ("8", "18", "3"), (("cigarettes", "cigarettes"), ("packets", "packets")),
    ),
    Subject(
        "The bank {name} expects inflation to [rise|fall] to {n} {unit} next year.",
        "Next year inflation will [rise|fall] to {n} {units}, the bank {name} expects.",
        "According to the bank {name}, inflation will [rise|fall] to {n} {unit} next year.",
        "The bank {name} does not expect inflation to [rise|fall] to {n} {unit} next year.",
        ("Barclays", "Nordea"), ("2.3", "3.2", "23"), (PERCENT, ("points", "points")),
    ),
    Subject(
        "Salmon in the {name} migrate {n} {unit} [earlier|later] than in the 1980s.",
        "Compared with the 1980s, salmon in the {name} migrate {n} {units} [earlier|later].",
        "In the {name}, salmon migrate {n} {unit} [earlier|later] than they did in the 1980s.",
        "Salmon in the {name} do not migrate {n} {unit} [earlier|later] than in the 1980s.",
        ("Yukon", "Tweed"), ("10", "12", "21"), (("days", "d"), ("weeks", "weeks")),
    ),
    Subject(
        "The app {name} [improved|worsened] the memory of students by {n} {unit}.",
        "Students' memory [improved|worsened] by {n} {units} with the app {name}.",
        "With the app {name}, the memory of students [improved|worsened] by {n} {unit}.",
        "The app {name} has not [improved|worsened] the memory of students by {n} {unit}.",
        ("Anki", "Lumosity"), ("9", "6", "19"), (PERCENT, ("points", "points")),
    ),
    Subject(
        "Methane emissions of farms in {name} [increased|decreased] by {n} {unit} with seaweed in the feed.",
        "With seaweed in the feed, methane emissions of farms in {name} [increased|decreased] by {n} {units}.",
        "Farms in {name} saw methane emissions [increase|decrease] by {n} {unit} with seaweed in the feed.",
        "Methane emissions of farms in {name} have not [increased|decreased] by {n} {unit} with seaweed in the feed.",
        ("Tasmania", "Friesland"), ("60", "65", "6"), (PERCENT, ("kilograms", "kg")),
    ),
    Subject(
        "The court in {name} [raised|reduced] the fine by {n} {unit}.",
        "The fine was [raised|reduced] by {n} {units} by the court in {name}.",
        "A court in {name} [raised|reduced] the fine by {n} {unit}.",
        "The court in {name} has not [raised|reduced] the fine by {n} {unit}.",
        ("Strasbourg", "Nairobi"), ("30", "31", "3"), (("million euros", "million euros"), ("million dollars", "million dollars")),
    ),
    Subject(
        "Children in {name} eat {n} {unit} [more|less] sugar a day than recommended.",
        "Each day, children in {name} eat {n} {units} [more|less] sugar than recommended.",
        "In {name}, children eat {n} {unit} [more|less] sugar a day than recommended.",
        "Children in {name} do not eat {n} {unit} [more|less] sugar a day than recommended.",
        ("Chile", "Canada"), ("15", "51", "16"), (("grams", "g"), ("milligrams", "mg")),
    ),
    Subject(
        "Flights with {name} were delayed by {n} {unit} [more|less] than the year before.",
        "Compared with the year before, flights with {name} were delayed by {n} {units} [more|less].",
        "Flights of {name} were delayed {n} {unit} [more|less] than in the year before.",
        "Flights with {name} were not delayed by {n} {unit} [more|less] than the year before.",
        ("Ryanair", "KLM"), ("7", "11", "70"), (("minutes", "min"), ("hours", "h")),
    ),
    Subject(
        "The fungus {name} makes oaks grow {n} {unit} [faster|slower] in poor soil.",
        "In poor soil, oaks grow {n} {units} [faster|slower] with the fungus {name}.",
        "With the fungus {name}, oaks in poor soil grow {n} {unit} [faster|slower].",
        "The fungus {name} does not make oaks grow {n} {unit} [faster|slower] in poor soil.",
        ("Laccaria", "Pisolithus"), ("18", "28", "1.8"), (PERCENT, ("centimetres", "cm")),
    ),
    Subject(
        "The paper by {name} found a [positive|negative] correlation of {n} {unit} between noise and stress.",
        "A [positive|negative] correlation of {n} {units} between noise and stress was found in the paper by {name}.",
        "Between noise and stress, the paper by {name} found a [positive|negative] correlation of {n} {unit}.",
        "The paper by {name} found no [positive|negative] correlation of {n} {unit} between noise and stress.",
        ("Okafor", "Lindqvist"), ("0.31", "0.13", "0.35"), (("points", "points"), PERCENT),
    ),
    Subject(
        "The museum {name} closed the year with a [profit|loss] of {n} {unit}.",
        "A [profit|loss] of {n} {units} was what the museum {name} closed the year with.",
        "The museum {name} ended the year with a [profit|loss] of {n} {unit}.",
        "The museum {name} closed the year without a [profit|loss] of {n} {unit}.",
        ("Prado", "Louvre"), ("2", "1", "2.2"), (("million euros", "million euros"), ("million pounds", "million pounds")),
    ),
    Subject(
        "Insulin by {name} acted {n} {unit} [sooner|later] than the standard product.",
        "Compared with the standard product, insulin by {name} acted {n} {units} [sooner|later].",
        "The insulin by {name} acted {n} {unit} [sooner|later] than the standard product.",
        "Insulin by {name} did not act {n} {unit} [sooner|later] than the standard product.",
        ("Novo Nordisk", "Eli Lilly"), ("11", "16", "10"), (("minutes", "min"), ("seconds", "s")),
    ),
    Subject(
        "The dam at {name} holds {n} {unit} [more|less] water than planned.",
        "The dam at {name} holds {n} {units} of water [more|less] than planned.",
        "At {name}, the dam holds {n} {unit} [more|less] water than was planned.",
        "The dam at {name} does not hold {n} {unit} [more|less] water than planned.",
        ("Itaipu", "Aswan"), ("5", "50", "4"), (PERCENT, ("cubic metres", "m³")),
    ),
    Subject(
        "Teachers in {name} earn {n} {unit} [more|less] than nurses with equal experience.",
        "With equal experience, teachers in {name} earn {n} {units} [more|less] than nurses.",
        "In {name}, teachers earn {n} {unit} [more|less] than nurses of equal experience.",
        "Teachers in {name} do not earn {n} {unit} [more|less] than nurses with equal experience.",
        ("Estonia", "Greece"), ("12", "21", "2"), (PERCENT, ("euros", "€")),
    ),
    Subject(
        "The satellite {name} orbits {n} {unit} [higher|lower] than its predecessor.",
        "Compared with its predecessor, the satellite {name} orbits {n} {units} [higher|lower].",
        "The orbit of the satellite {name} is {n} {unit} [higher|lower] than that of its predecessor.",
        "The satellite {name} does not orbit {n} {unit} [higher|lower] than its predecessor.",
        ("Sentinel-6", "Sentinel-3"), ("14", "41", "140"), (("kilometres", "km"), ("metres", "m")),
    ),
    Subject(
        "Visits to the pages of {name} [doubled|halved] within {n} {unit} of the redesign.",
        "Within {n} {units} of the redesign, visits to the pages of {name} [doubled|halved].",
        "Visits to {name}'s pages [doubled|halved] within {n} {unit} of the redesign.",
        "Visits to the pages of {name} have not [doubled|halved] within {n} {unit} of the redesign.",
        ("Wikipedia", "Mozilla"), ("6", "9", "16"), (("weeks", "weeks"), ("months", "months")),
    ),
    Subject(
        "{name} [won|lost] the final by {n} {unit}.",
        "The final was [won|lost] by {name} by {n} {units}.",
        "By {n} {unit}, {name} [won|lost] the final.",
        "{name} has never [won|lost] the final by {n} {unit}.",
        ("Argentina", "Fiji"), ("3", "2", "13"), (("goals", "goals"), ("points", "points")),
    ),
    Subject(
        "In {name}, the river carried {n} {unit} [more|less] sediment after the flood.",
        "After the flood, the river in {name} carried {n} {units} [more|less] sediment.",
        "The river in {name} carried {n} {unit} [more|less] sediment after the flood.",
        "In {name}, the river did not carry {n} {unit} [more|less] sediment after the flood.",
        ("Bangladesh", "Louisiana"), ("300", "330", "30"), (("tonnes", "t"), ("kilograms", "kg")),
    ),
    Subject(
        "Therapy with {name} [relieved|aggravated] pain in {n} {unit} of the patients.",
        "In {n} {units} of the patients, therapy with {name} [relieved|aggravated] pain.",
        "Pain was [relieved|aggravated] in {n} {unit} of the patients by therapy with {name}.",
        "Therapy with {name} has not [relieved|aggravated] pain in {n} {unit} of the patients.",
        ("Tizanol", "Relvexa"), ("70", "17", "72"), (PERCENT, ("tenths", "tenths")),
    ),
    Subject(
        "Change of bone density with {name}: [+|-]{n} {unit} after a year.",
        "After a year, the change of bone density with {name} was [+|-]{n} {units}.",
        "With {name}, the change of bone density after a year was [+|-]{n} {unit}.",
        "No change of bone density with {name}: [+|-]{n} {unit} after a year.",
        ("Evenity", "Prolia"), ("3.1", "1.3", "31"), (PERCENT, ("g/cm²", "g/cm²")),
    ),
    Subject(
        "The train from {name} arrives {n} {unit} [before|after] the ferry leaves.",
        "The ferry leaves {n} {units} [after|before] the train from {name} arrives.",
        "The train from {name} gets in {n} {unit} [before|after] the ferry leaves.",
        "The train from {name} does not arrive {n} {unit} [before|after] the ferry leaves.",
        ("Aberdeen", "Brindisi"), ("20", "25", "2"), (("minutes", "min"), ("hours", "h")),
    ),
]  # fmt: skip

_DIRECTION = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")


def make_pairs() -> Iterator[dict[str, Any]]:
    for position, subject in enumerate(SUBJECTS):
        first = _state(subject, subject.said)
        others = {
            "number": [
                _state(subject, subject.said, number=1),
                _state(subject, subject.reworded, number=2),
            ],
            "unit": [_state(subject, subject.said, unit=1)],
            "sign": [
                _state(subject, subject.said, direction=2),
                _state(subject, subject.reworded, direction=2),
            ],
            "negation": [_state(subject, subject.negated)],
            "entity": [
                _state(subject, subject.said, name=1),
                _state(subject, subject.reworded, name=1),
            ],
            "": [
                _state(subject, subject.reworded),
                _state(subject, subject.reworded_again),
            ],
        }
        for difference, findings in others.items():
            for second in findings:
                yield {
                    "subject": position,
                    "is_kept_aside": position % 2 == 1,
                    "differs_in": difference or None,
                    "first": first,
                    "second": second,
                }


def _state(
    subject: Subject,
    wording: str,
    *,
    name: int = 0,
    number: int = 0,
    unit: int = 0,
    direction: int = 1,
) -> str:
    short, long = subject.units[unit]
    stated = _DIRECTION.sub(lambda found: found[direction], wording)
    # A percent sign follows its number without a space.
    return stated.format(
        name=subject.names[name], n=subject.numbers[number], unit=short, units=long
    ).replace(" %", "%")


if __name__ == "__main__":
    lines = [json.dumps(pair, ensure_ascii=False) for pair in make_pairs()]
    PAIRS_FILE.write_text("\n".join(lines) + "\n", encoding="utf-8")
