"""fileops-server: a daemon through which agents read and edit files beside a person."""

__version__ = "0.1.0"
