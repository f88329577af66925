"""Settings of the test suite: the embedded form in a folder of its own, tasks run in the caller."""

import atexit
import os
import secrets
import shutil
import tempfile

_data_dir = f"{tempfile.gettempdir()}/strata-test-{os.getpid()}-{secrets.token_hex(4)}"
atexit.register(shutil.rmtree, _data_dir, ignore_errors=True)
os.environ["STRATA_DATA_DIR"] = _data_dir
os.environ["STRATA_ENV_FILE"] = os.devnull  # tests and their services are the same on any machine

from config.environment import BASE_DIR as BASE_DIR  # noqa: E402
from config.settings.embedded import *  # noqa: E402, F403

SECRET_KEY = "for tests only"  # noqa: S105
STRATA_MODEL_WAIT_SECONDS = 120.0  # enough on a slow machine
STRATA_WRONG_KEYS_PER_MINUTE = 0  # all tests have one address
CELERY_TASK_ALWAYS_EAGER = True
CELERY_TASK_EAGER_PROPAGATES = True
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
WHITENOISE_AUTOREFRESH = True  # each client of a test would look for all static files first
