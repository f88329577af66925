"""The apps without which the service runs."""

OPTIONAL = (
    "answers", "audit", "backup", "concepts", "evaluation", "evidence", "mcp_server",
    "presets.papers", "processing", "sign_in", "spaces", "webhooks",
)  # fmt: skip
