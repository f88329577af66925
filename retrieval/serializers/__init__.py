"""What the read side takes over HTTP (requests), what it answers (answers), and how the answers
are described (schema)."""
