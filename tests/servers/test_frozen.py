"""A process that is frozen while it holds a row lock of PostgreSQL."""

import os
import signal
import subprocess

import pytest
from django.db import connection, transaction

from documents.services import update_artifact
from tests.factories import give
from tests.servers.conftest import REDIS_URL
from tests.servers.production import Production

pytestmark = pytest.mark.django_db(transaction=True)

ENDED_SECONDS = 60
HOLDER = """
import os, signal, sys
import django
django.setup()
from django.db import Error, transaction
from documents.models import Artifact

claim = Artifact.objects.filter(pk=sys.argv[1]).claim()
try:
    with claim.working(), transaction.atomic():
        claim.rows.select_for_update().get()
        os.kill(os.getpid(), signal.SIGSTOP)
        claim.rows.get()
except Error as error:
    print(error)
"""


@pytest.fixture
def production(tmp_path):
    database_url = "postgresql://{USER}:{PASSWORD}@{HOST}:{PORT}/{NAME}"
    production = Production(
        tmp_path,
        database_url=database_url.format(**connection.settings_dict),
        redis_url=REDIS_URL,
        qdrant_url="http://127.0.0.1:6333",  # nothing asks it
        STRATA_IDLE_TRANSACTION_SECONDS="1",
        STRATA_TEST_LEASE_SECONDS="60",
    )
    yield production
    production.api.close()


@pytest.mark.usefixtures("no_messages", "build")
class TestAProcessFrozenInATransaction:
    def test_keeps_no_writer_waiting_and_loses_no_attempt(self, production):
        artifact = give("One.")
        with subprocess.Popen(
            [production.python, "-c", HOLDER, str(artifact.pk)],
            cwd=production.root, env=production.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as holder:  # fmt: skip
            try:
                ended = os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                assert ended.si_code == os.CLD_STOPPED, holder.communicate()

                with transaction.atomic(), connection.cursor() as cursor:
                    cursor.execute("SET LOCAL lock_timeout = '30s'")  # else it could wait for ever
                    update_artifact(artifact.pk, title="Later")

                holder.send_signal(signal.SIGCONT)
                out, err = holder.communicate(timeout=ENDED_SECONDS)
            finally:
                holder.kill()
        assert "idle-in-transaction timeout" in out, err
        artifact.refresh_from_db()
        assert (artifact.title, artifact.attempts, artifact.lease_token) == ("Later", 0, None)
        assert "idle-in-transaction timeout" in artifact.last_error
