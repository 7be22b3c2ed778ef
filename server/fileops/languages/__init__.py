"""Language servers that the daemon starts, and what they report about edits."""
