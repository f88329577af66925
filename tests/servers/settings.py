"""The production settings, to the letter where tests allow it."""

import os

from config.settings.production import *  # noqa: F403
from config.settings.production import (
    CELERY_BROKER_TRANSPORT_OPTIONS,
    INSTALLED_APPS,
    STRATA_SYNC_BATCH,
)

# Tests that run at the same time may share a Redis; none may take another's messages.
CELERY_BROKER_TRANSPORT_OPTIONS = {
    **CELERY_BROKER_TRANSPORT_OPTIONS,
    "global_keyprefix": os.environ["STRATA_TEST_KEY_PREFIX"],  # type: ignore[dict-item]
}

# What a killed worker held is taken up again within the test's patience.
STRATA_LEASE_SECONDS = int(os.environ.get("STRATA_TEST_LEASE_SECONDS", 5))

# A few times what a request may take.
STRATA_UNCONFIRMED_SECONDS = int(os.environ.get("STRATA_TEST_UNCONFIRMED_SECONDS", 60))

SILENCED_SYSTEM_CHECKS = ["indexing.E004"]  # that this is too short for a real model

# In small steps, for a fault to find one under way.
STRATA_SYNC_BATCH = int(os.environ.get("STRATA_TEST_SYNC_BATCH", STRATA_SYNC_BATCH))

if "STRATA_TEST_QUICK" in os.environ:
    INSTALLED_APPS = [*INSTALLED_APPS, "tests.servers.quick.QuickConfig"]
