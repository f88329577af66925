import pytest

from sign_in.checks import check_openid


class TestCheckOpenid:
    @pytest.fixture(autouse=True)
    def openid(self, settings):
        settings.STRATA_OIDC_ISSUER = "https://login.example.org/realms/company"
        settings.STRATA_OIDC_CLIENT_ID = "strata"
        settings.STRATA_OIDC_CLIENT_SECRET = "secret"

    def test_accepts_all_settings_or_none(self, settings):
        assert check_openid(None) == []

        settings.STRATA_OIDC_ISSUER = ""
        settings.STRATA_OIDC_CLIENT_ID = ""
        settings.STRATA_OIDC_CLIENT_SECRET = ""

        assert check_openid(None) == []

    @pytest.mark.parametrize("name", ["ISSUER", "CLIENT_ID", "CLIENT_SECRET"])
    def test_names_the_missing_setting(self, settings, name):
        setattr(settings, f"STRATA_OIDC_{name}", "")

        [error] = check_openid(None)

        assert error.id == "access.E003"
        assert f"not set: STRATA_OIDC_{name}." in error.msg

    @pytest.mark.parametrize(
        "issuer", ["http://login.example.org", "login.example.org", "https://a.example/?x=1"]
    )
    def test_refuses_an_invalid_issuer(self, settings, issuer):
        settings.STRATA_OIDC_ISSUER = issuer

        assert [error.id for error in check_openid(None)] == ["access.E004"]

    def test_accepts_a_provider_on_this_machine_without_tls(self, settings):
        settings.STRATA_OIDC_ISSUER = "http://localhost:9400"

        assert check_openid(None) == []

    def test_requires_the_scope_openid(self, settings):
        settings.STRATA_OIDC_SCOPES = "profile email"

        assert [error.id for error in check_openid(None)] == ["access.E005"]
