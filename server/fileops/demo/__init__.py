"""The README's first command: the daemon at work, told step by step."""
