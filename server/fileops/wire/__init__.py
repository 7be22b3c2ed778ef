"""The protocol in code: wire shapes, their translation, the ordered tool definitions."""
