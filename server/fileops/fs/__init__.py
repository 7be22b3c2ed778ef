"""Filesystems: the disk, remote hosts, editors' open documents, and memory."""
