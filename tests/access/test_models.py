import re
from datetime import timedelta

import pytest
from django.utils import timezone

from access.grants import EVERYTHING, Grant, Scope
from access.models import ApiKey, hash_secret
from core.exceptions import InvalidInput

pytestmark = pytest.mark.django_db


class TestIssue:
    def test_creates_unique_secrets_of_one_format(self):
        secrets = {ApiKey.issue(f"tests {number}")[1] for number in range(20)}

        assert len(secrets) == 20
        assert all(re.fullmatch(r"strata_[\w-]{43}", secret) for secret in secrets)

    def test_stores_only_the_hash_and_the_prefix_of_the_secret(self):
        key, secret = ApiKey.issue("tests")

        [kept] = ApiKey.objects.values()
        assert kept["digest"] == hash_secret(secret)
        assert secret.startswith(key.prefix)
        assert secret not in map(str, kept.values())

    def test_shows_no_part_of_a_given_secret_in_the_prefix(self):
        key, secret = ApiKey.issue("admin", secret="correct horse battery staple")

        assert secret == "correct horse battery staple"
        assert not any(word in key.prefix for word in secret.split())
        assert ApiKey.find_by_secret(secret).name == key.name


class TestRevoke:
    def test_revokes_keys_and_counts_those_that_were_active(self):
        key, secret = ApiKey.issue("tests")

        assert [ApiKey.objects.all().revoke(), ApiKey.objects.all().revoke()] == [1, 0]

        assert ApiKey.find_by_secret(secret) is None
        key.refresh_from_db()
        assert key.revoked_at is not None


class TestFindBySecret:
    def test_returns_the_scope_indexes_and_groups(self):
        _, secret = ApiKey.issue("a", scope=Scope.SEARCH, indexes=["b", "a"], groups=[])

        rights = ApiKey.find_by_secret(secret)

        assert rights.scope == Scope.SEARCH
        assert rights.grant == Grant(indexes=frozenset({"a", "b"}), groups=frozenset())

    def test_returns_all_rights_by_default(self):
        rights = ApiKey.find_by_secret(ApiKey.issue("a")[1])

        assert (rights.scope, rights.grant) == (Scope.MANAGE, EVERYTHING)

    def test_refuses_an_expired_key(self):
        key, secret = ApiKey.issue("a", expires_at=timezone.now() + timedelta(hours=1))
        assert ApiKey.find_by_secret(secret) is not None

        ApiKey.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

        assert ApiKey.find_by_secret(secret) is None
        key.refresh_from_db()
        assert key.state == "expired"

    def test_stores_the_time_of_use_at_most_once_a_minute(self, django_assert_num_queries):
        key, secret = ApiKey.issue("a")

        ApiKey.find_by_secret(secret)
        key.refresh_from_db()
        first = key.last_used_at
        with django_assert_num_queries(1):
            ApiKey.find_by_secret(secret)
        key.refresh_from_db()
        assert (first is not None, key.last_used_at) == (True, first)

        ApiKey.objects.update(last_used_at=first - timedelta(seconds=61))
        ApiKey.find_by_secret(secret)
        key.refresh_from_db()
        assert key.last_used_at >= first


class TestNames:
    def test_are_unique_among_active_keys(self):
        key, _ = ApiKey.issue("importer")

        with pytest.raises(InvalidInput, match="importer"):
            ApiKey.issue("importer")

        ApiKey.objects.filter(pk=key.pk).revoke()
        ApiKey.issue("importer")
