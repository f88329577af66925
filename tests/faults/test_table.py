"""``docs/reliability.md`` must match the faults that are injected."""

from pathlib import Path

import pytest

from tests.faults.counts import FAULTS

TABLE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"


class TestTheTable:
    @pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
    def test_lists_every_fault_with_its_test_and_its_number_of_repetitions(self, fault):
        rows = [line.split("|") for line in TABLE.read_text(encoding="utf-8").splitlines()]

        [row] = [row for row in rows if len(row) > 1 and row[1].strip() == fault.what]

        assert (Path(__file__).parent / row[3].strip(" `")).exists()
        assert row[4].strip().startswith(f"{fault.short:,} / {fault.long:,}")
