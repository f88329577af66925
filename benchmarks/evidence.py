"""How many generated findings are linked with their rewordings, and not with others.

The counts are the same on any machine, except for rounding of floating-point numbers.
"""

import itertools
import random
import time
from typing import Any

from benchmarks.service import measured_service
from tests.serving import Service

BATCH = 100
SEED = 20

TREATMENTS = [
    "aspirin", "vitamin D", "metformin", "a low-salt diet", "cognitive behavioural therapy",
    "high-intensity interval training", "statins", "probiotic yoghurt", "fish oil", "acupuncture",
    "mindfulness meditation", "intermittent fasting", "green tea", "ibuprofen", "melatonin",
    "caffeine", "whole-grain bread", "zinc lozenges", "resistance training", "beta blockers",
    "tai chi", "magnesium", "a mediterranean diet", "nicotine patches", "insulin pumps",
    "bright light therapy", "creatine", "oral antibiotics", "compression stockings", "yoga",
    "ginkgo extract", "hearing aids", "folic acid", "nasal steroids", "iron tablets",
    "cochlear implants", "botulinum toxin", "selenium", "school breakfasts", "music lessons",
]  # fmt: skip
OUTCOMES = [
    "blood pressure", "the risk of stroke", "bone density", "body weight", "sleep quality",
    "reaction time", "symptoms of depression", "the length of common colds", "knee pain",
    "insulin sensitivity", "short-term memory", "the frequency of migraine", "lung capacity",
    "skin inflammation", "anxiety before surgery", "liver enzymes", "grip strength",
    "the number of asthma attacks", "visual acuity", "wound healing", "LDL cholesterol",
    "fatigue after chemotherapy", "hospital readmission", "birth weight", "tooth decay",
    "muscle soreness", "balance and falls", "kidney function", "hearing loss", "gut flora",
]  # fmt: skip
EFFECTS = {
    "improves": "has a favourable effect on",
    "lowers": "reduces",
    "has no effect on": "does not change",
    "worsens": "has an adverse effect on",
}
PEOPLE = {
    "older adults": "people over sixty-five",
    "teenagers": "adolescents",
    "pregnant women": "expectant mothers",
    "night-shift nurses": "nurses who work at night",
    "patients with type 2 diabetes": "type 2 diabetics",
    "competitive swimmers": "swimmers who compete",
    "primary school children": "children in primary school",
    "former smokers": "people who have stopped smoking",
}
LEAD_INS = [
    "A randomised trial found that ",
    "Researchers report that ",
    "According to a new study, ",
]

Finding = tuple[str, str, str, str]  # treatment, effect, outcome, people


def measure_evidence(count: int) -> None:
    """Add ``count`` findings that differ in treatment or outcome, then a rewording of each."""
    chance = random.Random(SEED)
    pairs = list(itertools.product(TREATMENTS, OUTCOMES))
    findings = [
        (treatment, chance.choice(list(EFFECTS)), outcome, chance.choice(list(PEOPLE)))
        for treatment, outcome in chance.sample(pairs, min(count, len(pairs)))
    ]
    with measured_service() as service:
        started = time.perf_counter()
        first = add_findings(
            service, [phrase_finding(each) for each in findings], "https://first.example"
        )
        second = add_findings(
            service, [reword_finding(each, chance) for each in findings], "https://second.example"
        )
        took = time.perf_counter() - started
    finding_by_artifact = {
        verdict["artifact_id"]: n for n, verdict in enumerate(first) if is_added(verdict)
    }
    false_duplicate_count = sum(not is_added(verdict) for verdict in first)
    duplicate_count = linked_count = first_linked_count = 0
    for n, verdict in enumerate(second):
        if not is_added(verdict):
            is_right = finding_by_artifact.get(verdict["duplicate_of"]) == n
            duplicate_count += is_right
            false_duplicate_count += not is_right
            continue
        linked = [finding_by_artifact.get(each["artifact_id"]) for each in verdict["similar_to"]]
        linked_count += n in linked
        first_linked_count += linked[:1] == [n]
    print(f"evidence, {len(findings)} findings and as many rewordings, threshold 0.9:")
    print(f"  rewordings: {duplicate_count} duplicates, {linked_count} kept and linked with their")
    print(f"  finding, {first_linked_count} of those as the most similar")
    print(f"  duplicates that say something else: {false_duplicate_count}")
    each = took / (2 * len(findings)) * 1_000
    print(f"  each                   {each:7.1f} ms, in batches of {BATCH}")


def phrase_finding(finding: Finding) -> str:
    treatment, effect, outcome, people = finding
    said = f"{treatment} {effect} {outcome} in {people}."
    return said[0].upper() + said[1:]


def reword_finding(finding: Finding, chance: random.Random) -> str:
    """Apply two or three of: a lead-in, the people first, a synonym for effect or people."""
    treatment, effect, outcome, people = finding
    ways = set(chance.sample(["lead", "people first", "effect", "people"], chance.choice([2, 3])))
    if "effect" in ways:
        effect = EFFECTS[effect]
    if "people" in ways:
        people = PEOPLE[people]
    said = f"{treatment} {effect} {outcome}"
    said = f"in {people}, {said}" if "people first" in ways else f"{said} in {people}"
    if "lead" in ways:
        return f"{chance.choice(LEAD_INS)}{said}."
    return f"{said[0].upper()}{said[1:]}."


def add_findings(service: Service, texts: list[str], site: str) -> list[dict[str, Any]]:
    verdicts: list[dict[str, Any]] = []
    items = [{"url": f"{site}/{n}", "content": text} for n, text in enumerate(texts)]
    for begin in range(0, len(items), BATCH):
        answer = service.api.post(
            "indexes/evidence/evidence/", json={"items": items[begin : begin + BATCH]}
        )
        verdicts += answer.raise_for_status().json()["verdicts"]
    return verdicts


def is_added(verdict: dict[str, Any]) -> bool:
    return verdict["verdict"] == "added"
