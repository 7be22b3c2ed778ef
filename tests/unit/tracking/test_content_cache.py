"""What sessions saw lately, within a bound."""

from fileops.model.digest import content_digest
from fileops.tracking.content_cache import MAX_ALL_BYTES, MAX_CONTENT_BYTES, ContentCache


def keep(recent: ContentCache, content: bytes) -> bytes:
    digest = content_digest(content)
    recent.keep(digest, content)
    return digest


def test_tiny_contents_are_bounded_as_well() -> None:
    recent = ContentCache()
    for n in range(100_000):
        keep(recent, b"%d" % n)
    assert len(recent) < MAX_ALL_BYTES // 200


def test_latest_contents_are_kept_and_too_large_ones_are_not() -> None:
    recent = ContentCache()
    first, large = keep(recent, b"first"), keep(recent, b"x" * (MAX_CONTENT_BYTES + 1))
    digests = [keep(recent, b"%d" % n + b"x" * 200_000) for n in range(60)]
    assert recent.get(first) is None
    assert recent.get(large) is None
    assert recent.get(digests[-1]) == b"59" + b"x" * 200_000
    assert recent.get(None) is None
