import io

import pytest
from django.core.management import CommandError, call_command

from access.grants import EVERYTHING, Grant, Scope
from access.models import ApiKey

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    call_command("key", *arguments, stdout=stdout, stderr=stderr)
    return stdout.getvalue(), stderr.getvalue()


class TestCreate:
    def test_prints_only_the_secret_on_stdout(self):
        secret, said = run("create", "importer")

        assert ApiKey.find_by_secret(secret.strip()).name == "importer"
        assert "not stored" in said

    @pytest.mark.parametrize("name", ["", "  ", "x" * 101])
    def test_refuses_a_blank_or_too_long_name(self, name):
        with pytest.raises(CommandError, match=r"\[invalid, field name\]"):
            run("create", name)


class TestList:
    def test_shows_every_key_without_its_secret(self):
        key, secret = ApiKey.issue("importer")
        ApiKey.issue("old")
        ApiKey.objects.filter(name="old").revoke()

        listed, _ = run("list")

        assert key.prefix in listed
        assert secret not in listed
        assert [("revoked" in line) for line in listed.splitlines()] == [True, False]


class TestRevoke:
    def test_revokes_the_key_with_the_prefix(self):
        key, secret = ApiKey.issue("importer")
        _, other = ApiKey.issue("other", secret="another secret")

        run("revoke", key.prefix)

        assert ApiKey.find_by_secret(secret) is None
        assert ApiKey.find_by_secret(other) is not None

    @pytest.mark.parametrize("prefix", ["strata_", "nothing", ""])
    def test_revokes_nothing_unless_exactly_one_key_has_the_prefix(self, prefix):
        ApiKey.issue("one")
        ApiKey.issue("two")

        with pytest.raises(CommandError, match="exactly one"):
            run("revoke", prefix)

        assert ApiKey.objects.active().count() == 2


class TestRights:
    def test_are_unlimited_without_options(self):
        secret, _ = run("create", "laptop")

        rights = ApiKey.find_by_secret(secret.strip())
        assert (rights.scope, rights.grant) == (Scope.MANAGE, EVERYTHING)
        assert "(" not in run("list")[0]

    def test_are_limited_by_options(self):
        options = ["--scope", "search", "--index", "a", "--index", "b", "--group", "red"]
        secret, _ = run("create", "agent", *options, "--expires", "2999-01-31")

        rights = ApiKey.find_by_secret(secret.strip())
        assert rights.scope == Scope.SEARCH
        assert rights.grant == Grant(frozenset({"a", "b"}), frozenset({"red"}))
        listed = "(scope search; index a, b; group red; expires 2999-02-01 00:00)"
        assert listed in run("list")[0]

    @pytest.mark.parametrize("expires", ["tomorrow", "2026-02-30", "2001-01-01"])
    def test_refuse_an_expiry_that_is_not_a_future_date(self, expires):
        with pytest.raises(CommandError, match=r"expire"):
            run("create", "agent", "--expires", expires)

    def test_refuse_a_name_in_use(self):
        run("create", "agent")

        with pytest.raises(CommandError, match="named 'agent'"):
            run("create", "agent")
