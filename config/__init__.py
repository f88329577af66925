"""Settings, URLs and what belongs to the service as a whole."""

import sys
from pathlib import Path

# The types of answers are in the client's distribution, which the service does not install.
sys.path.append(str(Path(__file__).parent.parent / "client" / "src"))

from config.celery import app as celery_app
