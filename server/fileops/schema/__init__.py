"""The protocol as data: every message, and JSON schemas of everything that is sent."""
