import pytest

from access.checks import check_admin_key


class TestCheckAdminKey:
    @pytest.mark.parametrize("secret", ["", "a-secret-of-sixteen-or-more"])
    def test_accepts_no_key_or_a_long_one(self, settings, secret):
        settings.STRATA_ADMIN_KEY = secret

        assert check_admin_key(None) == []

    @pytest.mark.parametrize("secret", ["sixteen chars, a space", "schlüssel-aus-umlauten"])
    def test_refuses_characters_that_a_header_cannot_hold(self, settings, secret):
        settings.STRATA_ADMIN_KEY = secret

        assert [error.id for error in check_admin_key(None)] == ["access.E001"]

    def test_refuses_a_short_key(self, settings):
        settings.STRATA_ADMIN_KEY = "short"

        assert [error.id for error in check_admin_key(None)] == ["access.E002"]
