import io

import pytest
from django.core.management import CommandError, call_command

from access.models import ApiKey

pytestmark = pytest.mark.django_db


def run(*arguments: str) -> tuple[str, str]:
    stdout, stderr = io.StringIO(), io.StringIO()
    call_command("key", *arguments, stdout=stdout, stderr=stderr)
    return stdout.getvalue(), stderr.getvalue()


class TestCreate:
    def test_prints_the_secret_alone(self):
        secret, said = run("create", "importer")

        assert ApiKey.find_by_secret(secret.strip()).name == "importer"
        assert "not stored" in said

    @pytest.mark.parametrize("name", ["", "  ", "x" * 101])
    def test_refuses_a_name_that_is_none(self, name):
        with pytest.raises(CommandError, match="characters"):
            run("create", name)


class TestList:
    def test_shows_every_key_and_no_secret(self):
        key, secret = ApiKey.issue("importer")
        ApiKey.issue("old")
        ApiKey.objects.filter(name="old").revoke()

        listed, _ = run("list")

        assert key.prefix in listed
        assert secret not in listed
        assert [("revoked" in line) for line in listed.splitlines()] == [True, False]


class TestRevoke:
    def test_closes_the_one_key_the_prefix_fits(self):
        key, secret = ApiKey.issue("importer")
        _, other = ApiKey.issue("other", secret="another secret")

        run("revoke", key.prefix)

        assert ApiKey.find_by_secret(secret) is None
        assert ApiKey.find_by_secret(other) is not None

    @pytest.mark.parametrize("prefix", ["strata_", "nothing", ""])
    def test_closes_none_where_several_or_none_fit(self, prefix):
        ApiKey.issue("one")
        ApiKey.issue("two")

        with pytest.raises(CommandError, match="exactly one"):
            run("revoke", prefix)

        assert ApiKey.objects.active().count() == 2
