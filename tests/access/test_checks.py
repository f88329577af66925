import pytest

from access.checks import check_admin_key, check_key_limits


class TestCheckAdminKey:
    @pytest.mark.parametrize("secret", ["", "a-secret-of-sixteen-or-more"])
    def test_takes_none_or_a_long_one(self, settings, secret):
        settings.STRATA_ADMIN_KEY = secret

        assert check_admin_key(None) == []

    @pytest.mark.parametrize("secret", ["sixteen chars, a space", "schlüssel-aus-umlauten"])
    def test_refuses_what_no_header_can_hold(self, settings, secret):
        settings.STRATA_ADMIN_KEY = secret

        assert [error.id for error in check_admin_key(None)] == ["access.E001"]

    def test_refuses_one_that_can_be_guessed(self, settings):
        settings.STRATA_ADMIN_KEY = "short"

        assert [error.id for error in check_admin_key(None)] == ["access.E002"]


class TestCheckKeyLimits:
    def test_takes_the_defaults(self):
        assert check_key_limits(None) == []

    def test_refuses_a_limit_below_none(self, settings):
        settings.STRATA_KEY_STREAMS = -1

        assert [error.id for error in check_key_limits(None)] == ["access.E003"]
