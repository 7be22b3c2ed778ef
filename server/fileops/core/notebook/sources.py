"""The sources of a notebook as one text, to find out who wrote its lines, whatever form the file has."""

from collections.abc import Sequence

from msgspec.structs import replace

from fileops.core.merge.texts import ContentOf
from fileops.core.notebook.cells import Notebook, parse
from fileops.model.digest import content_digest
from fileops.model.errors import NotebookInvalid
from fileops.model.rewind import FileStep


def sources_of(notebook: Notebook) -> bytes:
    """Return all sources, one after the other. The lines are those that a read by cells numbers."""
    texts = [f"{cell.source}\n" for cell in notebook.cells if cell.source]
    return "".join(texts).encode("utf-8", "replace")


def sources_in(content: bytes) -> bytes | None:
    """Return the sources of a content; None if it has a fault."""
    try:
        return sources_of(parse(content))
    except NotebookInvalid:
        return None


def steps_of_sources(steps: Sequence[FileStep], content_of: ContentOf) -> tuple[list[FileStep], ContentOf]:
    """Return the steps as changes of the sources, and what finds these by the digests in them. steps: oldest first.

    A content with a fault, such as one with the marks of a merge conflict, counts as the sources before it.
    """
    texts = dict[bytes, bytes]()
    digests = dict[bytes, bytes]()
    last = b""

    def digest_of(digest: bytes | None) -> bytes | None:
        nonlocal last
        if digest is None:
            return None
        if digest not in digests:
            content = content_of(digest)
            if content is None:
                return digest  # not kept: unknown here, too
            found = sources_in(content)
            if found is None:
                return content_digest(last)
            digests[digest] = content_digest(found)
            texts[digests[digest]] = found
        last = texts[digests[digest]]
        return digests[digest]

    texts[content_digest(last)] = last
    changed = list[FileStep]()
    for step in steps:
        before = digest_of(step.before)
        changed.append(replace(step, before=before, after=digest_of(step.after), reverse=None))
    return changed, texts.get
