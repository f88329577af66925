"""Texts in several scripts, and texts that are not prose."""

ENGLISH = (
    "The hip flexors lift the thigh towards the trunk. Sitting for hours keeps the hip flexors "
    "short. A lunge stretches the hip flexors and strengthens the glutes. Stop when the knee hurts."
)
GERMAN = (
    "Die Kniebeuge ist eine Übung für die Beine und wird mit geradem Rücken ausgeführt. "
    "Bei Schmerzen im Knie sollte sie nicht tief sein."
)
RUSSIAN = (
    "Приседания укрепляют мышцы ног и спины. Это упражнение не подходит для людей с болью в "
    "колене, если она острая."
)
CHINESE = "腰痛的康复训练非常重要。深蹲可以强化臀部和大腿肌肉。"
JAPANESE = "スクワットは下半身の筋肉を鍛えます。腰痛の予防に役立ちます。"
THAI = "การออกกำลังกายช่วยลดอาการปวดหลัง การยืดกล้ามเนื้อช่วยให้ข้อต่อเคลื่อนไหวได้ดี"
EMOJI = "😀 👩‍👩‍👧‍👦 🏋🏽‍♀️"
TABLE = (
    "| Muscle | Exercise | Sets |\n|---|---|---|\n"
    "| Hip flexors | Lunge | 3 |\n| Glutes | Bridge | 4 |"
)
REPEATED = "Keep the back straight while lifting.\n" * 12
ENDLESS = "lifting weights without ever pausing " * 400
UNBROKEN = "字" * 3_000

EVERY_TEXT = {
    "english": ENGLISH,
    "german": GERMAN,
    "russian": RUSSIAN,
    "chinese": CHINESE,
    "japanese": JAPANESE,
    "thai": THAI,
    "emoji": EMOJI,
    "table": TABLE,
    "repeated lines": REPEATED,
    "one huge sentence": ENDLESS,
    "no word gaps": UNBROKEN,
    "digits": "12 34\n56 78",
    "rule": "|---|",
    "page number": "Page 12",
    "stop words": "the of and to the of",
}
