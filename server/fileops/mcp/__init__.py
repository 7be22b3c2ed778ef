"""The Model Context Protocol: the service's tools for the hosts of AI agents."""
