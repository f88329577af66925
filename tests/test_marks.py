import pytest

from tests.core_alone import NEED_OPTIONAL_APPS
from tests.marks import NOT_ON_SERVERS, ON_SERVERS, SLOW
from tests.serving import ROOT


@pytest.mark.parametrize("beginning", [*SLOW, *ON_SERVERS, *NOT_ON_SERVERS])
def test_a_rule_names_tests_that_exist(beginning):
    assert any(ROOT.glob(f"{beginning}*"))


@pytest.mark.parametrize("test", NEED_OPTIONAL_APPS)
def test_a_test_that_needs_optional_apps_exists(test):
    file, *names = test.split("::")
    assert (names[-1] if names else "") in (ROOT / file).read_text()
