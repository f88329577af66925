"""The apps without which the service runs."""

OPTIONAL = (
    "answers", "audit", "backup", "concepts", "copies", "curation", "evaluation", "evidence",
    "feeds", "guests", "mcp_server", "presets.papers", "processing", "sign_in", "spaces",
    "webhooks",
)  # fmt: skip
