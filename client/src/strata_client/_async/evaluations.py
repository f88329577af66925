"""Measure an index with human judgements."""

from collections.abc import AsyncGenerator
from time import monotonic
from typing import Unpack

from strata_client._async.connection import AsyncMethods
from strata_client._async.polling import poll
from strata_client.exceptions import StrataError
from strata_client.types import (
    Evaluation,
    EvaluationDetail,
    EvaluationList,
    EvaluationOptions,
    ListOptions,
)


class AsyncEvaluations(AsyncMethods):
    """Every method raises ``AccessDenied`` without a key that sees all documents, and ``NotFound``
    if there is no evaluation with the given id."""

    async def start(self, index: str, **options: Unpack[EvaluationOptions]) -> Evaluation:
        """Start an evaluation; return the same one if it still waits. Needs the scope ``write``.

        Raises:
            NotFound: there is no such index or pipeline.
            InvalidRequest: a measure or a judgement is not valid, or there are no judgements.
        """
        return await self._connection.post("evaluations/", index=index, **options)

    async def get(self, evaluation_id: str) -> EvaluationDetail:
        """Return an evaluation with its results, and the earlier results of the same queries."""
        return await self._connection.read("evaluations/{}/", evaluation_id)

    async def list(
        self, index: str | None = None, **options: Unpack[ListOptions]
    ) -> EvaluationList:
        """Return evaluations, newest first."""
        return await self._connection.read("evaluations/", index=index, **options)

    def follow(
        self, evaluation_id: str, *, timeout: float = 3_600.0
    ) -> AsyncGenerator[EvaluationDetail, None]:
        """Yield the evaluation whenever its progress has changed, until it has ended.

        Raises:
            NotReady: it has not ended after ``timeout`` seconds; it continues.
        """
        deadline = monotonic() + timeout
        return poll(self._connection, "evaluations/{}/", evaluation_id, _has_ended, deadline)

    async def wait(self, evaluation_id: str, *, timeout: float = 3_600.0) -> EvaluationDetail:
        """Wait until an evaluation is done and return it with its results.

        Raises:
            StrataError: the evaluation failed, with its code.
            NotReady: it has not ended after ``timeout`` seconds; it continues.
        """
        async for evaluation in self.follow(evaluation_id, timeout=timeout):
            last = evaluation
        if error := last["error"]:
            raise StrataError(error["detail"], code=error["code"])
        return last

    async def report(self, evaluation_id: str) -> str:
        """Return the report of a finished evaluation, an HTML page."""
        response = await self._connection.send("GET", "evaluations/{}/report", evaluation_id)
        return response.text

    async def delete(self, evaluation_id: str) -> None:
        """Delete an evaluation; cancel it if it is running. Needs the scope ``write``."""
        await self._connection.send("DELETE", "evaluations/{}/", evaluation_id)


def _has_ended(evaluation: Evaluation) -> bool:
    return evaluation["state"] in {"done", "failed"}
