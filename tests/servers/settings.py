"""The production settings, with as few changes as tests allow."""

import os

from config.settings.production import *  # noqa: F403
from config.settings.production import (
    CELERY_BROKER_TRANSPORT_OPTIONS,
    INSTALLED_APPS,
    STRATA_SYNC_BATCH,
)

# Test runs at the same time may share a Redis, but must not take each other's messages.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    **CELERY_BROKER_TRANSPORT_OPTIONS,
    "global_keyprefix": os.environ["STRATA_TEST_KEY_PREFIX"],  # type: ignore[dict-item]
}

# Short, so that the leases of a killed worker expire within the test's timeout.
STRATA_LEASE_SECONDS = int(os.environ.get("STRATA_TEST_LEASE_SECONDS", 5))

# Several times the longest request.
STRATA_UNCONFIRMED_SECONDS = int(os.environ.get("STRATA_TEST_UNCONFIRMED_SECONDS", 60))

SILENCED_SYSTEM_CHECKS = ["indexing.E004"]  # this lease is too short for a real model

# Small batches, so that a fault hits one under way.
STRATA_SYNC_BATCH = int(os.environ.get("STRATA_TEST_SYNC_BATCH", STRATA_SYNC_BATCH))

if "STRATA_TEST_QUICK" in os.environ:
    INSTALLED_APPS = [*INSTALLED_APPS, "tests.servers.quick.QuickConfig"]
