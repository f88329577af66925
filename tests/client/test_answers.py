from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from strata_client.answers import EventParser, WireEvent

STREAM = (
    ": still here\n\n"
    'id: x.0\r\nevent: metadata\r\ndata: {"hits": ["ä\u2028b"]}\r\n\r\n'
    "event: chunk\rdata:one\rdata: two\r\r"
    "id\nid: a\0b\ndata\n\n"
    "event: nothing to tell\n\n"
    "retry: 5\ndata: last\n\n"
    "event: cut\ndata: sho"
).encode()
EVENTS = [
    WireEvent("metadata", '{"hits": ["ä\u2028b"]}', "x.0"),
    WireEvent("chunk", "one\ntwo", "x.0"),
    WireEvent("message", "", None),
    WireEvent("message", "last", None),
]


class TestEventParser:
    def test_reads_events_as_the_standard_defines_them(self):
        assert list(EventParser().feed(STREAM)) == EVENTS

    @given(st.lists(st.integers(0, len(STREAM))))
    def test_reads_events_however_the_stream_is_split(self, cuts):
        parser = EventParser()
        places = [0, *sorted(cuts), len(STREAM)]
        pieces = [STREAM[start:end] for start, end in pairwise(places)]

        assert [event for piece in pieces for event in parser.feed(piece)] == EVENTS

    def test_reads_byte_by_byte(self):
        parser = EventParser()

        assert [event for byte in STREAM for event in parser.feed(bytes([byte]))] == EVENTS
