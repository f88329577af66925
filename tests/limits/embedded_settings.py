from config.settings.embedded import *  # noqa: F403
from tests.limits.values import *  # noqa: F403

STRATA_WEB_DRAIN_SECONDS = 30  # however slow the machine is
