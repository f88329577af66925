"""A waitress channel that sends a response header together with the first bytes of its body."""

from typing import Any

from waitress.channel import HTTPChannel
from waitress.task import WSGITask


class _MergedHeaderTask(WSGITask):
    """A WSGI task whose channel holds the response header until the body starts."""

    def build_response_header(self) -> bytes:
        self.channel.hold_header(super().build_response_header())
        return b""

    def finish(self) -> None:
        super().finish()
        self.channel.flush_header()


class HeaderMergingChannel(HTTPChannel):
    """Send the header of a response in one write with the first bytes of its body.

    waitress sends them one after the other: two calls of the system for each answer, and a
    client that wakes twice, at a time when the model has emptied the processor's caches.
    """

    task_class = _MergedHeaderTask
    _held_header = b""

    def hold_header(self, head: bytes) -> None:
        """Keep the head of an answer until there is a body to send it with."""
        self._held_header = head

    def flush_header(self) -> None:
        """Send the head of an answer that has no body."""
        if self._held_header:
            head, self._held_header = self._held_header, b""
            self.write_soon(head)

    def write_soon(self, data: Any) -> int:
        """Take bytes, or a file that waitress sends by itself."""
        if self._held_header and data:
            head, self._held_header = self._held_header, b""
            if not isinstance(data, bytes):
                return int(super().write_soon(head) + super().write_soon(data))
            data = head + data
        return int(super().write_soon(data))
