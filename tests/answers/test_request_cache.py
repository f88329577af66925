"""What an answer asks for more than once is computed once."""

import asyncio
from contextlib import aclosing

import pytest

from answers.asking import AskRequest
from answers.pipelines.running import run_pipeline
from tests.retrieval.test_request_cache import embedded, full, reads  # noqa: F401


@pytest.mark.django_db(transaction=True)
def test_an_answer_embeds_its_question_once(full, embedded, reads):  # noqa: F811
    async def ask():
        question = AskRequest("full", "What does the heron wait for?", pipeline="plain")
        async with aclosing(run_pipeline(question)) as results:
            return [result async for result in results]

    found, *_, answer = asyncio.run(ask())

    assert found.passages
    assert answer.text
    assert embedded == ["What does the heron wait for?"]
    assert len(reads) == 1
