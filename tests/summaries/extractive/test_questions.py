import logging
import subprocess
import sys
import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from summaries.extractive import propose_questions
from tests.summaries.extractive.texts import (
    CHINESE,
    ENGLISH,
    EVERY_TEXT,
    GERMAN,
    JAPANESE,
    RUSSIAN,
    TABLE,
    THAI,
)


def ask(text, *, heading="", title="", count=8, **options):
    return propose_questions(text, heading=heading, title=title, count=count, **options)


class TestProposeQuestions:
    def test_asks_whether_what_it_says_is_so(self):
        questions = ask(ENGLISH)

        assert "Is it true that a lunge stretches the hip flexors and strengthens the glutes?" in (
            questions
        )
        assert "Stop when the knee hurts, is that right?" in questions

    def test_asks_about_the_key_phrases_of_a_sentence(self):
        about = [question for question in ask(ENGLISH) if "hip flexors" in question]

        assert any(question.startswith("How are ") for question in about)

    def test_names_heading_and_title(self):
        questions = ask(ENGLISH, heading="Stretching", title="Hip_mobility-guide.pdf")

        assert any("in “Stretching”?" in question for question in questions)
        assert any("in “Hip mobility guide”?" in question for question in questions)

    @pytest.mark.parametrize("title", ["", "12", "scan0001.pdf", "  ", "---"])
    def test_does_not_name_a_title_without_words(self, title):
        assert not any("“" in question for question in ask(ENGLISH, title=title))

    def test_puts_questions_in_several_ways(self):
        openings = {" ".join(question.split()[:2]) for question in ask(ENGLISH)}

        assert len(openings) >= 4

    def test_keeps_the_questions_a_text_asks_itself(self):
        assert "How deep should one go?" in ask(
            "How deep should one go? Down to the floor at most."
        )

    def test_says_first_what_says_most(self):
        assert ask(ENGLISH, count=2) == ask(ENGLISH)[:2]

    def test_does_not_ask_about_pages_and_figures(self):
        text = "Squats strengthen the quadriceps (see Figure 3 on page 12).\n\nPage 12\n\n13"

        about_phrases = [question for question in ask(text) if not question.startswith("Squats")]

        assert about_phrases
        assert not any("page" in question.lower() for question in about_phrases)

    def test_does_not_ask_about_stop_words(self):
        questions = ask("The back is what it is, and the knee is not. They and those are of it.")

        assert "What is known about knee?" in questions
        assert not any(f"about {word}?" in " ".join(questions) for word in ("what", "they", "not"))

    def test_takes_no_stop_words_into_a_phrase(self):
        text = "Squats strengthen the quadriceps and improve the range of motion."

        [confirming, *about_phrases] = ask(text)

        assert (
            confirming
            == "Squats strengthen the quadriceps and improve the range of motion, "
            + ("is that right?")
        )
        assert any("motion" in question for question in about_phrases)
        assert not any("strengthen the" in question for question in about_phrases)

    def test_asks_the_same_in_other_letters_once(self):
        text = "KEEP your back straight? Keep your back straight?"

        assert "Keep your back straight?" not in ask(text)

    def test_asks_in_the_language_of_the_text(self):
        questions = ask(GERMAN, title="Handbuch")

        assert any(question.endswith(", stimmt das?") for question in questions)
        assert any("in „Handbuch“" in question for question in questions)

    def test_asks_in_the_given_language_if_the_words_show_none(self):
        assert ask("Vastus medialis", language="fr")[-1].startswith("Que sait-on sur Vastus")

    @pytest.mark.parametrize("language", ["lt", "english", ""])
    def test_accepts_an_unknown_language(self, language, capsys):
        assert ask("Vastus medialis", language=language)
        assert capsys.readouterr().out == ""

    def test_asks_without_grammar_in_a_language_it_has_no_wording_for(self):
        assert "Приседания укрепляют мышцы ног и спины?" in ask(RUSSIAN)

    @pytest.mark.parametrize(
        ("text", "questions"),
        [
            (CHINESE, ["腰痛的康复训练非常重要吗？", "深蹲可以强化臀部和大腿肌肉吗？"]),
            (JAPANESE, ["スクワットは下半身の筋肉を鍛えますか？", "腰痛の予防に役立ちますか？"]),
            (
                THAI,
                [
                    "การออกกำลังกายช่วยลดอาการปวดหลังใช่ไหม",
                    "การยืดกล้ามเนื้อช่วยให้ข้อต่อเคลื่อนไหวได้ดีใช่ไหม",
                ],
            ),
        ],
        ids=["chinese", "japanese", "thai"],
    )
    def test_asks_with_whole_sentences_in_scripts_without_word_gaps(self, text, questions):
        assert ask(text) == questions

    def test_asks_about_the_cells_of_a_table(self):
        questions = ask(TABLE, heading="Program")

        assert any("Lunge" in question and "Hip flexors" in question for question in questions)
        assert not any("|" in question for question in questions)

    @pytest.mark.parametrize("count", [1, 3, 20])
    @pytest.mark.parametrize("text", EVERY_TEXT.values(), ids=EVERY_TEXT)
    def test_are_some_and_differ_and_are_never_too_many(self, text, count):
        questions = ask(text, heading="Heading", title="A title", count=count)

        assert 1 <= len(questions) <= count
        assert len({question.casefold() for question in questions}) == len(questions)
        assert all(question.strip() and len(question) < 500 for question in questions)

    @pytest.mark.parametrize("text", ["", " \n\t"])
    def test_are_none_about_a_blank_text(self, text):
        assert ask(text, heading="Heading", title="A title") == []

    @settings(max_examples=50, deadline=None)
    @given(st.text(min_size=1, max_size=200), st.text(max_size=20), st.text(max_size=20))
    def test_are_the_same_each_time_for_any_text(self, text, heading, title):
        questions = ask(text, heading=heading, title=title)

        assert bool(questions) == bool(text.strip())
        assert questions == ask(text, heading=heading, title=title)

    def test_are_the_same_in_several_threads_at_once(self, caplog):
        caplog.set_level(logging.WARNING)
        expected, found = ask(ENGLISH), []
        threads = [
            threading.Thread(target=lambda: found.extend(ask(ENGLISH) for _ in range(20)))
            for _ in range(4)
        ]

        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        assert found == [expected] * 80
        assert caplog.records == []


class TestThePackage:
    def test_does_not_load_nltk_before_it_asks(self):
        code = "import sys, summaries.extractive; sys.exit('nltk' in sys.modules)"

        found = subprocess.run([sys.executable, "-c", code], check=False)

        assert found.returncode == 0
