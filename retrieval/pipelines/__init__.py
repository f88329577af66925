"""Query pipelines: Haystack pipelines of our components, declared in YAML.

A component is one file and imports Haystack, which takes seconds: nothing that Django loads at
its start may import one.
"""

import os

# Before anything imports Haystack: it would send word of each run to its makers.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "false"
