"""The production settings, to the letter where these servers allow it."""

import os

from config.settings.production import *  # noqa: F403

# Tests that run at the same time may share a Redis; none may take another's messages.
CELERY_BROKER_TRANSPORT_OPTIONS = {"global_keyprefix": os.environ["STRATA_TEST_KEY_PREFIX"]}

STRATA_LEASE_SECONDS = 5  # what a killed worker held is taken up again within the test's patience

if "STRATA_TEST_EMBEDDED" in os.environ:
    # No Qdrant server here: the one child of the one indexing worker owns the engine instead.
    STRATA_VECTOR_STORE = "embedded"
