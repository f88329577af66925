"""The embedded form with limits that are low enough for tests."""

import os

from config.settings.embedded import *  # noqa: F403
from config.settings.embedded import DATABASES

# The first start hashes the admin's password, which would take a seventh of its processor time.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STRATA_MAX_ATTEMPTS = int(os.environ.get("STRATA_FAULT_MAX_ATTEMPTS", 5))
STRATA_LEASE_SECONDS = int(os.environ.get("STRATA_FAULT_LEASE_SECONDS", 120))
STRATA_RETIRED_BUILD_GRACE_SECONDS = int(os.environ.get("STRATA_FAULT_RETIRED_SECONDS", 60))
DATABASES["default"]["OPTIONS"]["timeout"] = int(  # type: ignore[index]
    os.environ.get("STRATA_FAULT_DATABASE_SECONDS", 30)
)
