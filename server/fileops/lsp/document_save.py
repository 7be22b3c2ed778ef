"""Asks an editor to save a document, by `fileops/saveDocument`. A malformed answer counts as not saved."""

import logging

import msgspec
from msgspec import Struct

from fileops.lsp.client import Client, ClientGone, ClientRefused

log = logging.getLogger(__name__)

SAVE_DOCUMENT = "fileops/saveDocument"
CAPABILITY = "experimental.fileops.save_document"
SAVE_S = 10.0  # a save may run formatters


class SaveDocumentParams(Struct, frozen=True, kw_only=True):
    """Asks the editor to save a document, if its user wants that."""

    uri: str
    """The document's URI."""
    version: int
    """The version that the daemon knows."""


class SaveDocumentResult(Struct, frozen=True, kw_only=True):
    """What became of the document."""

    saved: bool
    """Whether the file has the document's text now."""


async def save_document(client: Client, uri: str, version: int) -> bool:
    """Return whether the editor has saved the document. It does so only if its user wants that."""
    if client.capability(CAPABILITY) is not True:
        return False
    try:
        raw = await client.ask(SAVE_DOCUMENT, SaveDocumentParams(uri=uri, version=version), timeout_s=SAVE_S)
        return msgspec.convert(raw, SaveDocumentResult).saved
    except (TimeoutError, ClientGone):
        return False
    except ClientRefused as refusal:
        log.warning("an editor refused to save %s: %s %s", uri, refusal.code, refusal)
        return False
    except msgspec.ValidationError as fault:
        log.warning("an editor gave an invalid answer to a request to save %s: %s", uri, fault)
        return False
