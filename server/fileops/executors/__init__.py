"""Where shell commands run."""
