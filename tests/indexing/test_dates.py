"""Dates and times of metadata: which forms are read, what each means, and how they are stored."""

from datetime import UTC
from zoneinfo import ZoneInfo

import pytest

from core.exceptions import InvalidInput
from indexing.spec.dates import get_period, read_date, to_stored_date

BERLIN = ZoneInfo("Europe/Berlin")
NEW_YORK = ZoneInfo("America/New_York")
MOMENT = "2024-05-01T10:00:00Z"


class TestReadDate:
    @pytest.mark.parametrize(
        "written",
        [
            "2024-05-01", "2024-05-01T10:00:00Z", "2024-05-01T12:00:00+02:00",
            "2024-05-01T10:00:00.123456789Z", "2024-05-01T10:00:00+00:00", "2024-05-01T10:00:00",
            "2024-05", "2024",
        ],
    )  # fmt: skip
    def test_keeps_what_is_written_as_in_iso_8601(self, written):
        assert read_date(written, "at") == written

    @pytest.mark.parametrize(
        "written",
        [
            "2024-05-01T10:00Z", "2024-05-01t10:00:00z", "2024-05-01 10:00:00Z", "20240501T100000Z",
            "20240501T1000Z", "2024-05-01T12:00:00+0200", "2024-05-01T12:00:00 +02",
            "2024-05-01 10:00:00 UTC", "2024-05-01T10:00:00.0Z", "2024-05-01T10:00:00,000Z",
            "2024-05-01T12:00:00+02:00[Europe/Berlin]", "2024-05-01T08:00:00−02:00",
            "Wed, 1 May 2024 10:00:00 GMT", "Wed, 01 May 2024 12:00:00 +0200 (CEST)",
            "1 May 2024 10:00 +0000", "Wed May 01 2024 12:00:00 GMT+0200 (Central European Time)",
            "Wed May  1 12:00:00 2024 +0200", "2024/05/01 10:00:00Z",
        ],
    )  # fmt: skip
    def test_reads_a_time_as_programs_write_it(self, written):
        read = read_date(written, "at")

        assert get_period(read, NEW_YORK) == (MOMENT, MOMENT)
        assert read_date(read, "at") == read

    @pytest.mark.parametrize(
        "written",
        ["20240501", "2024/05/01", "2024-5-1", " 2024-05-01 ", "1 May 2024", "May 1, 2024",
         "01-May-2024"],
    )  # fmt: skip
    def test_reads_a_day_as_programs_write_it(self, written):
        assert read_date(written, "at") == "2024-05-01"

    def test_reads_the_ends_of_days(self):
        assert read_date("2024-02-28T24:00:00Z", "at") == "2024-02-29T00:00:00Z"
        assert read_date("2016-12-31T23:59:60Z", "at") == "2016-12-31T23:59:59.999999Z"
        assert read_date("2016-12-31T18:59:60-05:00", "at") == "2016-12-31T18:59:59.999999-05:00"

    @pytest.mark.parametrize(
        ("written", "problem"),
        [
            (1714557600, "string"), (20240501, "string"), (True, "string"), (["2024"], "string"),
            ("1714557600", "ISO 8601"), ("202405", "ISO 8601"), ("yesterday", "ISO 8601"),
            ("", "ISO 8601"), ("24-05-01", "which number"), ("2024-05-01T", "ISO 8601"),
            ("1" * 10_000, "ISO 8601"), ("2024-05-01T10:00:00[Europe/Berlin]", "ISO 8601"),
            ("01/02/2024", "which number"), ("13.2.2024", "which number"),
            ("1/2/24 10:00", "which number"),
            ("2024-02-30", "not exist"), ("2024-13", "not exist"), ("0000-01-01", "not exist"),
            ("2024-00", "not exist"), ("2024-03-00", "not exist"),
            ("2024-05-01T24:00:01Z", "not exist"), ("2024-05-01T12:00:60Z", "not exist"),
            ("2024-05-01T12:00:00+24:00", "not exist"), ("30 Feb 2024", "not exist"),
            ("9999-12-31T23:00:00-05:00", "not exist"),
        ],
    )  # fmt: skip
    def test_refuses_what_has_no_meaning_or_two(self, written, problem):
        with pytest.raises(InvalidInput, match=problem) as refused:
            read_date(written, "metadata.at")

        assert refused.value.field == "metadata.at"
        assert "2019-05-01" in refused.value.fix


class TestGetPeriod:
    @pytest.mark.parametrize(
        ("read", "zone", "first", "last"),
        [
            ("2024-05-01", UTC, "2024-05-01T00:00:00Z", "2024-05-01T23:59:59.999999Z"),
            ("2024-05-01", BERLIN, "2024-04-30T22:00:00Z", "2024-05-01T21:59:59.999999Z"),
            ("2024-03-31", BERLIN, "2024-03-30T23:00:00Z", "2024-03-31T21:59:59.999999Z"),
            ("2024-02", UTC, "2024-02-01T00:00:00Z", "2024-02-29T23:59:59.999999Z"),
            ("2024", NEW_YORK, "2024-01-01T05:00:00Z", "2025-01-01T04:59:59.999999Z"),
            ("9999-12", UTC, "9999-12-01T00:00:00Z", "9999-12-31T23:59:59.999999Z"),
            ("9999", NEW_YORK, "9999-01-01T05:00:00Z", "9999-12-31T23:59:59.999999Z"),
            ("0001-01-01", BERLIN, "0001-01-01T00:00:00Z", "0001-01-01T23:06:31.999999Z"),
            ("2024-05-01T10:00:00", BERLIN, "2024-05-01T08:00:00Z", "2024-05-01T08:00:00Z"),
        ],
    )
    def test_spans_the_day_month_or_year_of_the_zone(self, read, zone, first, last):
        assert get_period(read, zone) == (first, last)

    def test_ends_a_day_with_the_second_of_two_equal_hours(self):
        havana = ZoneInfo("America/Havana")  # clocks go from 1:00 back to 0:00

        assert get_period("2024-11-03", havana) == (
            "2024-11-03T04:00:00Z",
            "2024-11-04T04:59:59.999999Z",
        )


class TestToStoredDate:
    @pytest.mark.parametrize(
        "value",
        ["2024-05-01", "2024-05-01T12:00:00+02:00", "2024-05-01T12:00:00", "spring", 2024, None],
    )
    def test_keeps_what_the_store_reads_and_what_is_no_date(self, value):
        assert to_stored_date(value, UTC) == value

    def test_stores_the_first_moment_of_anything_else(self):
        assert to_stored_date(["20240501T100000Z", "2024-05"], UTC) == [
            MOMENT,
            "2024-05-01T00:00:00Z",
        ]
        assert to_stored_date("2024-05-01", BERLIN) == "2024-04-30T22:00:00Z"
        assert to_stored_date("2024-05-01T12:00:00", BERLIN) == MOMENT
        assert to_stored_date("2024-05-01T10:00:00+00:00", BERLIN) == "2024-05-01T10:00:00+00:00"
