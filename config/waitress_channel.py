"""waitress's side of a connection in the embedded form."""

from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import WSGITask


class _Answer(WSGITask):
    """An answer whose connection keeps its head for a moment."""

    def build_response_header(self) -> bytes:
        self.channel.hold(super().build_response_header())
        return b""

    def finish(self) -> None:
        super().finish()
        self.channel.release()


class Connection(HTTPChannel):
    """Sends the head of an answer with the first of its body.

    waitress sends them one after the other: two calls of the system for each answer, and a
    client that wakes twice, at a time when the model has emptied the processor's caches.
    """

    task_class = _Answer
    _head = b""

    def hold(self, head: bytes) -> None:
        """Keep the head of an answer until there is a body to send it with."""
        self._head = head

    def release(self) -> None:
        """Send the head of an answer that has no body."""
        if self._head:
            head, self._head = self._head, b""
            self.write_soon(head)

    def write_soon(self, data: Any) -> int:
        """Take bytes, or a file that waitress sends by itself."""
        if self._head and data:
            head, self._head = self._head, b""
            if not isinstance(data, bytes):
                return int(super().write_soon(head) + super().write_soon(data))
            data = head + data
        return int(super().write_soon(data))
