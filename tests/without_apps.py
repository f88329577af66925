"""Settings of the tests without the apps that the variable ``WITHOUT_APPS`` names."""

import os

from config.settings.test import *  # noqa: F403
from config.settings.test import INSTALLED_APPS

_LEFT_OUT = tuple(f"{name}." for name in os.environ["WITHOUT_APPS"].split(","))
INSTALLED_APPS = [path for path in INSTALLED_APPS if not path.startswith(_LEFT_OUT)]
