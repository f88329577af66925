from tests.servers.settings import *  # noqa: F403

# isort: split
from tests.limits.values import *  # noqa: F403
