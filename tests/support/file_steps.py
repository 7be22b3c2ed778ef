"""Steps of a file from its contents, and the contents by their digests."""

from collections.abc import Iterable

from fileops.model.digest import content_digest
from fileops.model.rewind import FileStep


def to_steps(
    changes: Iterable[tuple[str, bytes | None, bytes | None]],
) -> tuple[list[FileStep], dict[bytes, bytes]]:
    """Args: changes: an id, and the contents before and after; None where no file is."""
    contents: dict[bytes, bytes] = {}

    def digest_of(content: bytes | None) -> bytes | None:
        if content is None:
            return None
        digest = content_digest(content)
        contents[digest] = content
        return digest

    return [FileStep(step_id, digest_of(before), digest_of(after)) for step_id, before, after in changes], contents
