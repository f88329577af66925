"""Conversations read as questions, and answers written as completions."""

import json

import pytest

from core.exceptions import InvalidInput
from guests.completions import (
    SOURCES,
    ChatBody,
    Completion,
    Message,
    WrittenAnswer,
    read_conversation,
)
from guests.errors import describe, make_openai_error, read_body


def converse(*messages, max_turns=10):
    read = [Message.model_validate({"role": role, "content": text}) for role, text in messages]
    return read_conversation(read, max_turns=max_turns, max_question=30, max_answer=10)


class TestAConversation:
    def test_is_the_last_question_and_the_turns_before_it(self):
        question, turns = converse(
            ("system", "Be brief."),
            ("user", "When do boats leave?"),
            ("assistant", "Before dawn."[:9]),
            ("tool", "an answer"),
            ("user", "And the tide?"),
        )

        assert question == "And the tide?"
        assert turns == [{"question": "When do boats leave?", "answer": "Before da"}]

    def test_is_cut_to_what_a_question_takes(self):
        _, turns = converse(
            ("user", "first"), ("user", "x" * 50), ("assistant", "y" * 50), ("user", "z"),
            max_turns=1,
        )  # fmt: skip

        assert turns == [{"question": "x" * 30, "answer": "y" * 10}]

    def test_keeps_no_sources_of_earlier_answers(self):
        _, [turn] = converse(("user", "a"), ("assistant", f"b{SOURCES}- [1] ..."), ("user", "c"))

        assert turn["answer"] == "b"

    def test_reads_the_texts_of_messages_in_parts(self):
        parts = [
            {"type": "text", "text": "When do"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
            {"type": "text", "text": "boats leave?"},
        ]

        assert converse(("user", parts))[0] == "When do\nboats leave?"

    def test_may_end_with_the_beginning_of_an_answer(self):
        assert converse(("user", "When?"), ("assistant", "At")) == ("When?", [])

    def test_without_a_question_is_refused(self):
        with pytest.raises(InvalidInput) as caught:
            converse(("system", "Be brief."))

        assert caught.value.field == "messages"


class TestABody:
    GIVEN = {"model": "plain", "messages": [{"role": "user", "content": "When?"}]}

    def test_may_have_any_other_parameter(self):
        sampling = {"temperature": 1, "top_p": 0.5, "n": 1, "max_tokens": None, "stop": ["x"]}
        others = {"tools": [{"type": "function"}], "user": "u-1", "reasoning_effort": "low"}

        assert read_body(ChatBody, self.GIVEN | sampling | others).model == "plain"

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"model": 3}, "model"),
            ({"messages": []}, "messages"),
            ({"messages": "When?"}, "messages"),
            ({"messages": [{"role": "robot", "content": "a"}]}, "messages.0.role"),
            ({"stream": "yes"}, "stream"),
            ({"temperature": "hot"}, "temperature"),
            ({"temperature": 3}, "temperature"),
            ({"n": 2}, "n"),
            ({"max_tokens": 0}, "max_tokens"),
        ],
    )
    def test_with_a_wrong_parameter_is_refused(self, given, field):
        with pytest.raises(InvalidInput) as caught:
            read_body(ChatBody, self.GIVEN | given)

        assert caught.value.field == field

    def test_with_a_name_that_cannot_be_stored_is_refused(self):
        with pytest.raises(InvalidInput, match="model: It has characters that no name has"):
            read_body(ChatBody, self.GIVEN | {"model": "a\0"})

    def test_that_is_no_object_is_refused(self):
        with pytest.raises(InvalidInput, match="must be a JSON object"):
            read_body(ChatBody, [1])


def make_hit(number, text="Boats leave."):
    return {
        "artifact": {"id": f"a{number}", "title": f"Book [{number}]", "file_name": "book.pdf"},
        "page": {"id": "p", "index": number},
        "source": {"id": f"s{number}"},
        "text": text,
        "start_offset": 10 * number,
        "end_offset": 10 * number + len(text),
    }


def cite(number, start, end, **more):
    offsets = {"answer_start": start, "answer_end": end, "start_offset": 3, "end_offset": 8}
    return {"number": number, **offsets, "is_supported": True, **more}


def make_content(answer, citations=(), hits=(), **more):
    return {
        "answer": answer,
        "citations": list(citations),
        "hits": list(hits),
        "model_name": "a-model",
        "refusal": None,
        "notes": [],
        **more,
    }


def link(hit, start, end):
    return f"http://strata/{hit['artifact']['id']}?{start}-{end}"


ANSWER = "Boats leave [2]. The tide turns [1][2]."
HITS = [make_hit(1), make_hit(2)]
CITED = make_content(ANSWER, [cite(2, 0, 15), cite(1, 17, 38), cite(2, 17, 38)], HITS)


class TestAnAnswer:
    def test_annotates_its_sentences_and_lists_its_sources_as_links(self):
        written = WrittenAnswer(CITED, link)

        assert written.text == (
            f"{ANSWER}\n\nSources:\n"
            "- [1] [Book \\[1\\], page 2](http://strata/a1?3-8)\n"
            "- [2] [Book \\[2\\], page 3](http://strata/a2?3-8)"
        )
        cited = [each["url_citation"] for each in written.annotations]
        assert cited[0] == {
            "start_index": 0,
            "end_index": 15,
            "url": "http://strata/a2?3-8",
            "title": "Book [2]",
        }
        assert [written.text[each["start_index"] : each["end_index"]] for each in cited] == [
            "Boats leave [2]", "The tide turns [1][2]", "The tide turns [1][2]",
        ]  # fmt: skip

    def test_without_a_sentence_shows_the_passages(self):
        content = make_content(
            "No sentence.", hits=[make_hit(1, "Boats\n leave.")], model_name="extractive"
        )

        written = WrittenAnswer(content, link)

        assert written.text == (
            "No sentence.\n\n> Boats leave.\n\n[1] [Book \\[1\\], page 2](http://strata/a1?10-23)"
        )
        [cited] = (each["url_citation"] for each in written.annotations)
        assert written.text[cited["start_index"] : cited["end_index"]] == "Boats leave."

    def test_of_a_language_model_that_cites_nothing_stays_alone(self):
        assert WrittenAnswer(make_content("I do not know.", hits=HITS), link).text == (
            "I do not know."
        )

    def test_says_why_there_is_none(self):
        refusal = {"detail": "It is about something else.", "fix": "Ask about boats."}

        refused = WrittenAnswer(make_content(None, hits=HITS, refusal=refusal), link)
        nothing = WrittenAnswer(make_content(None), link)

        assert refused.text == "It is about something else. Ask about boats."
        assert nothing.text == "Nothing was found for this question."

    def test_ends_with_notes(self):
        unsupported = [cite(1, 0, 5, is_supported=False)]
        content = make_content("Boats [1].", unsupported, HITS, notes=["The model is slow."])

        text = WrittenAnswer(content, link).text

        assert text.endswith(
            "\n\nNote: The model is slow."
            "\n\nNote: Passage [1] does not support a sentence that cites it."
        )


class TestACompletion:
    @staticmethod
    def make(**given):
        return Completion(read_body(ChatBody, TestABody.GIVEN | given), link)

    @staticmethod
    def read(parts):
        lines = b"".join(parts).decode().split("\n\n")
        assert lines[-2:] == ["data: [DONE]", ""]
        return [json.loads(line.removeprefix("data: ")) for line in lines[:-2]]

    def test_in_chunks_is_the_same_as_whole(self):
        completion = self.make()
        begin, pieces = (
            completion.begin(),
            [completion.go_on("Boats "), completion.go_on(ANSWER[6:])],
        )

        chunks = self.read([begin, *pieces, *completion.end(CITED)])

        whole = completion.make_whole(CITED)["choices"][0]["message"]
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        assert deltas[0] == {"role": "assistant", "content": ""}
        assert "".join(delta.get("content", "") for delta in deltas) == whole["content"]
        assert deltas[-2] == {"annotations": whole["annotations"]}
        assert [chunk["choices"][0]["finish_reason"] for chunk in chunks][-2:] == [None, "stop"]
        assert not any("usage" in chunk for chunk in chunks)

    def test_ends_with_its_usage_if_it_was_asked_for(self):
        completion = self.make(stream=True, stream_options={"include_usage": True})

        chunks = self.read([completion.begin(), *completion.end(make_content("Four"))])

        assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * (len(chunks) - 1)
        assert chunks[-1]["choices"] == []
        assert chunks[-1]["usage"] == {
            "prompt_tokens": 2, "completion_tokens": 1, "total_tokens": 3,
        }  # fmt: skip


class TestAnError:
    def test_names_the_parameter_of_openai(self):
        content = {"code": "invalid", "detail": "Too long.", "field": "query", "fix": "Cut it."}

        assert make_openai_error(400, content, {"query": "messages"}) == {
            "error": {
                "message": "Too long. Cut it.",
                "type": "invalid_request_error",
                "param": "messages",
                "code": "invalid",
            }
        }

    @pytest.mark.parametrize(
        ("status", "type"),
        [
            (401, "invalid_request_error"),
            (403, "permission_error"),
            (429, "rate_limit_error"),
            (503, "server_error"),
        ],
    )
    def test_has_the_type_of_its_status(self, status, type):
        error = make_openai_error(status, {"code": "c", "detail": "d"}, {})["error"]

        assert (error["type"], error["param"]) == (type, None)

    def test_lists_what_is_allowed_within_reason(self):
        names = [f"n{number}" for number in range(100)]

        text = describe({"detail": "No.", "allowed": names})

        assert text.startswith("No. Allowed: n0, n1, ")
        assert text.endswith("n29, ….")
