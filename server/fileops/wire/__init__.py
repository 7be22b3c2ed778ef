"""The `fileops/*` protocol in code: wire types, their translation, and the tool definitions."""
