"""Documents of which only a part was read: there is no digest to compare with, only what their state says."""

from collections.abc import AsyncGenerator

import pytest

from fileops.model.errors import ModifiedExternally
from fileops.model.requests import ReadRequest
from support.in_process import Desk

PATH = "/w/f"
PART = ReadRequest(file_path=PATH, limit=1)


@pytest.fixture
async def desk() -> AsyncGenerator[Desk]:
    desk = Desk()
    desk.disk.put(PATH, b"one\ntwo\nthree\n")
    yield desk
    desk.close()


@pytest.mark.parametrize("reads_after_opening", [True, False])
async def test_an_untouched_document_is_what_was_read(desk: Desk, reads_after_opening: bool):
    if reads_after_opening:
        desk.editor.open(PATH)
    await desk.service.read(PART)
    if not reads_after_opening:
        desk.editor.open(PATH)
    assert (await desk.edit(PATH, "one", "ONE")).error is None


async def test_typing_that_was_taken_back_is_no_change(desk: Desk):
    uri = desk.editor.open(PATH)
    await desk.service.read(PART)
    desk.editor.type(uri, "two", "2")
    desk.editor.type(uri, "2", "two")
    assert (await desk.edit(PATH, "one", "ONE")).error is None


async def test_typing_is_a_change(desk: Desk):
    uri = desk.editor.open(PATH)
    await desk.service.read(PART)
    desk.editor.type(uri, "two", "2")
    assert isinstance((await desk.edit(PATH, "one", "ONE")).error, ModifiedExternally)
    await desk.service.read(PART)
    assert (await desk.edit(PATH, "one", "ONE")).error is None
    assert desk.editor.documents[uri].text == "ONE\n2\nthree\n"


async def test_a_moved_disk_below_an_untouched_document_is_a_change(desk: Desk):
    desk.editor.open(PATH)
    await desk.service.read(PART)
    desk.disk.put(PATH, b"one\n2\nthree\n")
    assert isinstance((await desk.edit(PATH, "one", "ONE")).error, ModifiedExternally)
