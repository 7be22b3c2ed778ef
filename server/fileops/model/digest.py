"""The identity of content: one hash, used wherever two contents are compared by it."""

import xxhash


def content_digest(data: bytes | memoryview) -> bytes:
    """16 bytes. Not cryptographic: it tells apart what happens to files, not what an attacker forges."""
    return xxhash.xxh3_128_digest(data)
