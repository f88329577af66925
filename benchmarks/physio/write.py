# ruff: noqa: E501
"""Writes the labelled set of the preset ``physio`` as a BEIR folder, and its labelled tool calls.

    python -m benchmarks.physio.write

The texts and questions were written for this set, the questions in the words of people who do not
know the texts. ``tool_calls.jsonl`` has calls of the preset's tools, each with the texts it is meant
to find; they name muscles, conditions and exercises as people do.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).parent

TEXTS = {  # id -> title, text
    "heel": (
        "Heel pain in the morning",
        "Plantar fasciitis is felt under the heel with the first steps after getting up. Long hours of "
        "standing, a sudden rise in running distance and stiff calves make it more likely. Most people "
        "are free of it within a year. Stretching the sole against a wall three times a day and rolling "
        "it over a cold bottle take the edge off the pain.",
    ),
    "elbow": (
        "Tennis elbow",
        "Lateral epicondylitis hurts on the outside of the elbow when a cup is lifted or a hand is "
        "shaken. It comes from repeated gripping, far more often at work than at tennis. Slow lowering "
        "of a small weight with the wrist, fifteen repetitions a day, loads the tendon so that it "
        "recovers. A strap below the joint helps while the load cannot be avoided.",
    ),
    "impingement": (
        "Painful arc",
        "Impingement is suspected where lifting the arm sideways hurts between sixty and one hundred and "
        "twenty degrees. Space under the roof of the shoulder is narrow there, and the tendon of the "
        "supraspinatus is pressed. Overhead work is paused for two weeks. Then external rotation with a "
        "light band and wall slides train the cuff to keep the head of the humerus low.",
    ),
    "nordic": (
        "Braking the fall",
        "For the nordic hamstring curl, kneel on a mat while a partner holds your ankles. Keep the hips "
        "straight and lean forward as slowly as you can, until the hands have to catch you. Two sets of "
        "five, twice a week, halve the number of torn hamstrings in a football season. Soreness in the "
        "first fortnight is normal.",
    ),
    "bench": (
        "Pressing without pain",
        "In the bench press the shoulder blades are drawn together and down before the bar leaves the "
        "rack. The elbows point forty-five degrees away from the trunk, and the bar touches the lower "
        "chest. Those whose shoulders complain use a narrower grip and stop a hand's width above the "
        "chest for six weeks.",
    ),
    "facepull": (
        "For desk workers",
        "The face pull opposes hours of bent sitting. A rope is fixed at the height of the eyes and drawn "
        "towards the forehead with raised elbows, thumbs pointing backwards. It works the muscles between "
        "the shoulder blades and the rear of the deltoid. Three sets of twelve with little weight suffice.",
    ),
    "acl": (
        "After ligament surgery of the knee",
        "Rehabilitation after reconstruction of the anterior cruciate ligament runs in three phases. At "
        "first the swelling goes down and the knee learns to straighten. From week six on, squats and "
        "step-ups rebuild the thigh. Running starts in month four, jumping in month six. Nobody returns "
        "to pivoting sports before month nine, and only with ninety per cent of the strength of the "
        "other leg.",
    ),
    "frozen": (
        "The shoulder that will not turn",
        "Adhesive capsulitis passes through a painful, a stiff and a thawing stage, two years in all. "
        "External rotation is lost first. Forcing the joint in the painful stage makes it worse: pendulum "
        "swings and warmth are enough. Stretching begins once nights are quiet again. People with "
        "diabetes get it four times as often.",
    ),
    "cuff": (
        "Four muscles around one joint",
        "Supraspinatus, infraspinatus, teres minor and subscapularis take their origin from the scapula "
        "and have their insertion around the head of the humerus. The first three turn the arm outwards "
        "or lift it, the last turns it inwards. Together they centre the ball in its shallow socket.",
    ),
    "overload": (
        "How fast to increase",
        "A body adapts to what it is asked to do, but bone and tendon need longer than muscle. A weekly "
        "rise of a tenth in distance or weight is tolerated by most. Every fourth week is an easy one. "
        "Sleep and days off are part of the programme: without them progressive overload ends in injury.",
    ),
    "grip": (
        "Squeezing strength by age",
        "Hand dynamometers give kilograms. Reference values for the stronger hand: men of thirty 52, of "
        "fifty 45, of seventy 36; women of thirty 31, of fifty 28, of seventy 22. Values two standard "
        "deviations below these norms predict falls and longer stays in hospital.",
    ),
    "sciatica": (
        "Pain that runs down the leg",
        "In lumbar radiculopathy a disc or a narrow canal irritates a nerve root, and pain shoots below the "
        "knee, often with tingling toes. Nine in ten get better without an operation. Staying active "
        "beats bed rest. Loss of bladder control or numbness where a saddle would touch is an emergency "
        "and belongs in hospital the same day.",
    ),
    "slr": (
        "Raising the straight leg",
        "To test for a root irritation the examiner lifts the straightened leg of a patient who lies on the "
        "back. The sign is positive if the familiar leg pain comes between thirty and seventy degrees. "
        "Pulling the foot up makes it stronger. Mere tightness at the back of the thigh does not count.",
    ),
    "ankle": (
        "Twisted on the kerb",
        "A sprained ankle swells on the outside within minutes. It is x-rayed only if the bone is tender at "
        "the tip or if four steps are impossible. Early weight bearing in a brace is better than plaster. "
        "From the second week, standing on one leg with closed eyes retrains balance and prevents the "
        "next sprain.",
    ),
    "achilles": (
        "Tendon behind the heel",
        "Achilles tendinopathy is treated with heel drops from a step: up on both feet, down slowly on the "
        "sore one, three times fifteen, morning and evening, for twelve weeks. Pain of up to five out of "
        "ten is allowed. Rest alone makes the tendon weaker.",
    ),
    "shins": (
        "Runners' lower legs",
        "Medial tibial stress syndrome aches along the inner border of the shin bone over a hand's breadth. "
        "A single sharp spot points to a stress fracture instead. Distance is halved, hard ground avoided, "
        "and the soleus strengthened with bent-knee raises.",
    ),
    "neck": (
        "Chin back",
        "For neck pain of office workers the head is drawn straight back, as if to make a double chin, and "
        "held for five seconds, ten times every hour. The deep flexors learn to hold the head. A screen at "
        "eye level does more than any pillow.",
    ),
    "whiplash": (
        "After a rear-end collision",
        "Whiplash heals best when the neck is moved from the first day. A collar is worn for no longer than "
        "three days, if at all. Poor sleep, high pain in the first week and fear of moving predict a long "
        "course; such patients are seen again within a fortnight.",
    ),
    "carpal": (
        "Night-time tingling of the hand",
        "Thumb, index and middle finger fall asleep at night in carpal tunnel syndrome, and shaking the hand "
        "brings relief. A splint that keeps the wrist straight is worn in bed for six weeks. If the ball of "
        "the thumb has become thin, a surgeon is asked at once.",
    ),
    "kneecap": (
        "Stairs hurt",
        "Patellofemoral pain sits behind the kneecap on stairs, in squatting and after long films. Weak hip "
        "abductors let the knee fall inwards. Clamshells and side steps with a band for six weeks help "
        "more than exercises for the knee alone; tape gives short relief.",
    ),
    "hiparthrosis": (
        "Worn hips keep moving",
        "Osteoarthritis of the hip hurts in the groin and is stiff for less than half an hour after rest. "
        "Cycling, water gymnastics and training of the gluteus medius put off the artificial joint by "
        "years. Losing five kilograms takes fifteen off each step.",
    ),
    "back": (
        "The trunk as a corset",
        "Bird dog, side plank and curl-up are the three exercises that load a sore lumbar spine least while "
        "they train what holds it. Each position is held for ten seconds, then rested. The spine stays in "
        "its neutral curve; endurance counts, not strength.",
    ),
    "groin": (
        "Squeeze and lift",
        "In the copenhagen plank the upper leg lies on a bench and the hips are raised from the floor, so that "
        "the inner thigh carries the body. Football teams that did it three times a week had forty per "
        "cent fewer groin complaints.",
    ),
    "hinge": (
        "Lifting from the floor",
        "The deadlift begins with the bar over the middle of the feet. Hips go back, the back keeps its "
        "curve, and the floor is pushed away until knees and hips lock together. Beginners start with the "
        "bar at knee height and add weight only while the last repetition looks like the first.",
    ),
}  # fmt: skip

QUESTIONS = {  # question -> id of the text that answers it
    "why do my feet hurt when I get out of bed": "heel",
    "exercise for a sore sole": "heel",
    "does plantar fasciitis go away on its own": "heel",
    "pain on the outside of the elbow when I lift a mug": "elbow",
    "what is lateral epicondylitis": "elbow",
    "do only tennis players get tennis elbow": "elbow",
    "arm hurts when raised to the side": "impingement",
    "exercises for impingement": "impingement",
    "how long should I avoid working overhead": "impingement",
    "how do I do nordic hamstring curls": "nordic",
    "preventing hamstring tears in football": "nordic",
    "where should the bar touch in the bench press": "bench",
    "shoulder pain while bench pressing": "bench",
    "elbow angle for pressing a barbell": "bench",
    "what does the face pull train": "facepull",
    "exercise against hunched sitting": "facepull",
    "when can I run after ACL surgery": "acl",
    "return to football after a cruciate ligament reconstruction": "acl",
    "first phase after knee ligament operation": "acl",
    "how long does a frozen shoulder last": "frozen",
    "should I stretch adhesive capsulitis hard": "frozen",
    "diabetes and stiff shoulder": "frozen",
    "which muscles form the rotator cuff": "cuff",
    "muscle that rotates the arm inwards": "cuff",
    "how much more can I run each week": "overload",
    "why do I need rest days": "overload",
    "normal hand strength of a woman of fifty": "grip",
    "what is a weak grip a sign of": "grip",
    "pain shooting from the back into the foot": "sciatica",
    "when is a slipped disc an emergency": "sciatica",
    "bed rest for sciatica": "sciatica",
    "how is the straight leg raise test done": "slr",
    "at what angle is Lasègue's sign positive": "slr",
    "do I need an x-ray for a twisted ankle": "ankle",
    "plaster or brace for a sprain": "ankle",
    "balance training after spraining an ankle": "ankle",
    "eccentric training for the achilles tendon": "achilles",
    "may heel drops hurt": "achilles",
    "how many weeks of heel drops": "achilles",
    "shin splints or stress fracture": "shins",
    "ache along the tibia from running": "shins",
    "chin tucks for office workers": "neck",
    "how high should my monitor be": "neck",
    "should I wear a collar after a car accident": "whiplash",
    "who recovers slowly from whiplash": "whiplash",
    "fingers go numb at night": "carpal",
    "splint for carpal tunnel": "carpal",
    "when does carpal tunnel syndrome need surgery": "carpal",
    "knee pain going downstairs": "kneecap",
    "do hip exercises help the kneecap": "kneecap",
    "does taping help runner's knee": "kneecap",
    "how to delay a hip replacement": "hiparthrosis",
    "is cycling good for hip arthrosis": "hiparthrosis",
    "how much does losing weight relieve the hip": "hiparthrosis",
    "safe core exercises with a sore back": "back",
    "how long do I hold a bird dog": "back",
    "exercise against groin injuries": "groin",
    "how is the copenhagen plank done": "groin",
    "where should the bar be at the start of a deadlift": "hinge",
    "when may a beginner add weight": "hinge",
}  # fmt: skip

TOOL_CALLS = [  # tool, arguments, ids of the texts that it is meant to find
    ("search_by_condition", {"condition": "impingement"}, ["impingement"]),
    ("search_by_condition", {"condition": "lateral epicondylitis"}, ["elbow"]),
    ("search_by_condition", {"condition": "tennis elbow"}, ["elbow"]),
    ("search_by_condition", {"condition": "plantar fasciitis"}, ["heel"]),
    ("search_by_condition", {"condition": "frozen shoulder"}, ["frozen"]),
    ("search_by_condition", {"condition": "shin splints"}, ["shins"]),
    ("search_by_condition", {"condition": "sciatica"}, ["sciatica", "slr"]),
    ("search_by_condition", {"condition": "runner's knee"}, ["kneecap"]),
    ("search_by_condition", {"condition": "arthrosis"}, ["hiparthrosis"]),
    ("search_by_exercise", {"exercise": "nordic hamstring curl"}, ["nordic"]),
    ("search_by_exercise", {"exercise": "nordic curl"}, ["nordic"]),
    ("search_by_exercise", {"exercise": "bench press"}, ["bench"]),
    ("search_by_exercise", {"exercise": "face pull"}, ["facepull"]),
    ("search_by_exercise", {"exercise": "heel drop"}, ["achilles"]),
    ("search_by_exercise", {"exercise": "chin tuck"}, ["neck"]),
    ("search_by_exercise", {"exercise": "side plank"}, ["back", "groin"]),
    ("search_by_exercise", {"exercise": "deadlift"}, ["hinge"]),
    ("search_by_muscle_group", {"group": "rotator_cuff"}, ["cuff", "impingement"]),
    ("search_by_muscle_group", {"group": "hamstrings"}, ["nordic", "slr"]),
    ("search_by_muscle_group", {"group": "calves"}, ["achilles", "heel", "shins"]),
    ("search_by_muscle_group", {"group": "chest"}, ["bench"]),
    ("search_by_muscle_group", {"group": "neck"}, ["neck", "whiplash"]),
    ("search_by_muscle_group", {"group": "lower_back"}, ["back", "sciatica"]),
    ("search_by_muscle_group", {"group": "adductors"}, ["groin"]),
    ("search_by_muscle_group", {"group": "glutes"}, ["hiparthrosis", "kneecap"]),
    ("search_by_muscle_group", {"group": "forearms"}, ["elbow", "grip", "carpal"]),
    ("search_by_content_type", {"type": "anatomy", "query": "muscles that turn the arm"}, ["cuff"]),
    ("search_by_content_type", {"type": "assessment", "query": "nerve root of the leg"}, ["slr"]),
    ("search_by_content_type", {"type": "reference_data", "query": "hand strength"}, ["grip"]),
    ("search_by_content_type", {"type": "rehab_protocol", "query": "knee ligament"}, ["acl"]),
    ("search_by_content_type", {"type": "pathology", "query": "tingling fingers"}, ["carpal"]),
    ("search_by_content_type", {"type": "pathology", "query": "stiff shoulder"}, ["frozen"]),
    ("search_by_content_type", {"type": "training_principles", "query": "weekly increase"}, ["overload"]),
    ("search_by_content_type", {"type": "exercise_technique", "query": "barbell and chest"}, ["bench"]),
    ("search_by_content_type", {"type": "exercise_technique", "query": "inner thigh"}, ["groin"]),
]  # fmt: skip


def write_lines(path: Path, rows: list[object]) -> None:
    path.write_text(
        "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8"
    )


def main() -> None:
    assert len(QUESTIONS) == 60
    ids = {question: f"q{number:02}" for number, question in enumerate(QUESTIONS, start=1)}
    write_lines(
        FOLDER / "corpus.jsonl",
        [{"_id": id, "title": title, "text": text} for id, (title, text) in TEXTS.items()],
    )
    write_lines(
        FOLDER / "queries.jsonl",
        [{"_id": id, "text": question} for question, id in ids.items()],
    )
    rows = [f"{ids[question]}\t{text}\t1\n" for question, text in QUESTIONS.items()]
    (FOLDER / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(rows))
    write_lines(
        FOLDER / "tool_calls.jsonl",
        [
            {"tool": tool, "arguments": arguments, "texts": texts}
            for tool, arguments, texts in TOOL_CALLS
        ],
    )


if __name__ == "__main__":
    main()
