import pytest

from tests.webhooks.conftest import SECRET
from webhooks.checks import check_secret


class TestCheckSecret:
    def test_requires_none_without_urls(self, settings):
        settings.STRATA_WEBHOOK_URLS, settings.STRATA_WEBHOOK_SECRET = [], ""

        assert check_secret() == []

    @pytest.mark.parametrize(
        ("secret", "ids"),
        [(SECRET, []), ("", ["webhooks.E002"]), ("whsec_c2hvcnQ=", ["webhooks.E003"])],
    )
    def test_requires_a_valid_one_with_urls(self, settings, secret, ids):
        settings.STRATA_WEBHOOK_URLS = ["https://well.example/hook"]
        settings.STRATA_WEBHOOK_SECRET = secret

        assert [error.id for error in check_secret()] == ids
