"""Configuration of agent hosts: what `mcp config` prints, and how it is merged into existing files."""
