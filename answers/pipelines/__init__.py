"""Query pipelines: Haystack pipelines declared in YAML and built from Strata's own components.

Each component is one module. It imports Haystack, which takes seconds, so no module that Django
loads at startup may import a component. Components that search raise as ``IndexRetriever.search``.
"""

import os

# Set before Haystack is imported: otherwise it sends telemetry for each run.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
