"""Settings of the test suite without the apps that ``STRATA_TEST_LEFT_OUT`` names, or without all
optional ones: ``all``. What these add to the lists of the settings is left out with them."""

import os
from typing import Any, cast

from config.settings.test import *  # noqa: F403
from config.settings.test import INSTALLED_APPS, MIDDLEWARE, TEMPLATES
from tests.optional_apps import OPTIONAL

_named = os.environ["STRATA_TEST_LEFT_OUT"]
LEFT_OUT = OPTIONAL if _named == "all" else tuple(_named.split(","))


def _keep(paths: list[str]) -> list[str]:
    return [path for path in paths if not path.startswith(tuple(f"{app}." for app in LEFT_OUT))]


INSTALLED_APPS = _keep(INSTALLED_APPS)
MIDDLEWARE = _keep(MIDDLEWARE)
_options = cast(dict[str, Any], TEMPLATES[0]["OPTIONS"])
_options["context_processors"] = _keep(_options["context_processors"])
