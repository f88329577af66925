"""All work that is worked off in rounds, for whoever stops it."""

from concepts.tasks import extracting, surveying
from evaluation.tasks import evaluating, promoting
from indexing.tasks import regenerating, settling
from summaries.tasks import writing
from webhooks.tasks import delivering

ROUNDS = (settling, writing, delivering, promoting, regenerating, evaluating, surveying, extracting)
