"""HTTP parameters of the read side (requests), its rendered answers (answers), and their OpenAPI
descriptions (schema)."""
