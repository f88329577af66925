import pytest

from tests.marks import NOT_ON_SERVERS, ON_SERVERS, SLOW
from tests.serving import ROOT


@pytest.mark.parametrize("beginning", [*SLOW, *ON_SERVERS, *NOT_ON_SERVERS])
def test_a_rule_names_tests_that_exist(beginning):
    assert any(ROOT.glob(f"{beginning}*"))
