"""The command `mcp config`: prints a host's configuration."""

import argparse
import sys

from fileops.mcp.config.documents import documents_of


def main(options: argparse.Namespace) -> int:
    """The exit status."""
    documents = documents_of(options.host, options.server_command, read_only_sandbox=options.read_only_sandbox)
    sys.stdout.write("\n".join(document.printed for document in documents))
    return 0
