"""The protocol as data: every message, and JSON schemas of all that is sent."""
