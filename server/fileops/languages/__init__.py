"""Language servers that the daemon starts, and what they say about edits."""
