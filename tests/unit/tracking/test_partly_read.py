"""Documents of which only a part was read: there is no digest to compare with, only what their state says."""

from collections.abc import AsyncGenerator

import pytest

from fileops.model.errors import ModifiedExternally
from fileops.model.requests import ReadRequest
from support.in_process import Workbench

PATH = "/w/f"
PART = ReadRequest(file_path=PATH, limit=1)


@pytest.fixture
async def bench() -> AsyncGenerator[Workbench]:
    bench = Workbench()
    bench.disk.put(PATH, b"one\ntwo\nthree\n")
    yield bench
    bench.close()


@pytest.mark.parametrize("reads_after_opening", [True, False])
async def test_unchanged_document_is_fresh(bench: Workbench, reads_after_opening: bool):
    if reads_after_opening:
        bench.editor.open(PATH)
    await bench.service.read(PART)
    if not reads_after_opening:
        bench.editor.open(PATH)
    assert (await bench.edit(PATH, "one", "ONE")).error is None


async def test_typing_that_was_undone_is_no_change(bench: Workbench):
    uri = bench.editor.open(PATH)
    await bench.service.read(PART)
    bench.editor.type(uri, "two", "2")
    bench.editor.type(uri, "2", "two")
    assert (await bench.edit(PATH, "one", "ONE")).error is None


async def test_typing_is_a_change(bench: Workbench):
    uri = bench.editor.open(PATH)
    await bench.service.read(PART)
    bench.editor.type(uri, "two", "2")
    assert isinstance((await bench.edit(PATH, "one", "ONE")).error, ModifiedExternally)
    await bench.service.read(PART)
    assert (await bench.edit(PATH, "one", "ONE")).error is None
    assert bench.editor.documents[uri].text == "ONE\n2\nthree\n"


async def test_change_on_disk_of_a_clean_document_is_a_change(bench: Workbench):
    bench.editor.open(PATH)
    await bench.service.read(PART)
    bench.disk.put(PATH, b"one\n2\nthree\n")
    assert isinstance((await bench.edit(PATH, "one", "ONE")).error, ModifiedExternally)
