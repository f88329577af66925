import re

import pytest

from access.models import ApiKey, hash_secret

pytestmark = pytest.mark.django_db


class TestIssue:
    def test_makes_secrets_of_one_shape_that_never_repeat(self):
        secrets = {ApiKey.issue(f"tests {number}")[1] for number in range(20)}

        assert len(secrets) == 20
        assert all(re.fullmatch(r"strata_[\w-]{43}", secret) for secret in secrets)

    def test_keeps_nothing_but_the_hash_and_the_prefix(self):
        key, secret = ApiKey.issue("tests")

        [kept] = ApiKey.objects.values()
        assert kept["digest"] == hash_secret(secret)
        assert secret.startswith(key.prefix)
        assert secret not in map(str, kept.values())

    def test_shows_nothing_of_a_secret_it_was_given(self):
        key, secret = ApiKey.issue("admin", secret="correct horse battery staple")

        assert secret == "correct horse battery staple"
        assert not any(word in key.prefix for word in secret.split())
        assert ApiKey.find_by_secret(secret).name == key.name


class TestRevoke:
    def test_closes_keys_and_counts_those_that_were_open(self):
        key, secret = ApiKey.issue("tests")

        assert [ApiKey.objects.all().revoke(), ApiKey.objects.all().revoke()] == [1, 0]

        assert ApiKey.find_by_secret(secret) is None
        key.refresh_from_db()
        assert key.revoked_at is not None
