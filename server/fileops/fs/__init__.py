"""File systems: the disk, remote hosts, editors' open documents, and memory."""
