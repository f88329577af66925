from retrieval.answers.continuing import Continuation

BEGUN = "Herons stand in the shallows at dawn"


def go_on(partial_answer, *pieces):
    continuation = Continuation(partial_answer)
    return [continuation.add(piece) for piece in pieces], continuation.text


class TestContinuation:
    def test_returns_pieces_unchanged(self):
        assert go_on("", "Her", "ons.") == (["Her", "ons."], "Herons.")

    def test_continues_after_the_partial_answer(self):
        assert go_on(BEGUN, " and ", "wait.") == ([" and ", "wait."], f"{BEGUN} and wait.")

    def test_removes_a_repetition_of_the_partial_answer(self):
        new, text = go_on(BEGUN, "Herons stand ", "in the shallows ", "at dawn and", " wait.")

        assert new == ["", "", " and", " wait."]
        assert text == f"{BEGUN} and wait."

    def test_keeps_text_that_only_begins_like_a_repetition(self):
        new, text = go_on(BEGUN, "Herons ", "also wait.")

        assert new == ["", "Herons also wait."]
        assert text == f"{BEGUN}Herons also wait."

    def test_does_not_treat_one_or_two_words_as_a_repetition(self):
        assert go_on("The ", "The ", "Hague")[1] == "The The Hague"
