"""Reads of images through the daemon. Requirements: R-IMAGE-1 to R-IMAGE-4 of docs/PROTOCOL.md."""

import asyncio
import base64
import pathlib

import pytest

from fileops_client import FileOpsClient
from support.patience import PATIENCE_S, wait_until
from support.pictures import animation, bomb, halves, picture


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    files = {
        "shot.txt": picture("PNG"),  # the name says nothing
        "photo.jpg": halves((4000, 3000), 6),
        "loop.gif": animation(),
        "bomb.png": bomb(20_000, 20_000),
        "cut.png": picture("PNG")[:60],
        "text.gif": b"GIF89a is how a GIF begins\n",
        "big.png": picture("PNG") + b"\0" * 400_000,
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path


async def test_image_is_attached(folder: pathlib.Path) -> None:
    """R-IMAGE-1"""
    async with FileOpsClient.start(root=folder) as client:
        answer = await client.request("fileops/read", {"file_path": str(folder / "shot.txt")})
        assert list(answer) == ["status", "output", "error", "ui_extra", "details", "attachments"]
        result = await client.read(folder / "shot.txt")
        assert (result.ok, result.output) == (True, "Read image file [image/png]")
        (image,) = result.attachments
        assert (image.type, image.mime_type, image.width, image.height) == ("image", "image/png", 40, 30)
        assert base64.b64decode(image.data) == (folder / "shot.txt").read_bytes()
        assert result.details.get("mime_type") == "image/png"
        text = await client.request("fileops/read", {"file_path": str(folder / "text.gif")})
        assert list(text) == ["status", "output", "error", "ui_extra", "details"]
        assert text["output"].startswith("     1→GIF89a is how")


async def test_attached_image_fits_the_limits(folder: pathlib.Path) -> None:
    """R-IMAGE-2"""
    async with FileOpsClient.start(root=folder) as client:
        (photo,) = (await client.read(folder / "photo.jpg")).attachments
        assert (photo.mime_type, photo.width, photo.height) == ("image/jpeg", 1500, 2000)
        loop = await client.read(folder / "loop.gif")
        assert loop.output == "Read image file [image/gif]"
        assert loop.details.get("n_frames") == 2
        assert loop.attachments[0].mime_type == "image/png"


async def test_images_are_exempt_from_text_limits_and_broken_ones_are_refused(folder: pathlib.Path) -> None:
    """R-IMAGE-3"""
    async with FileOpsClient.start(root=folder) as client:
        assert (await client.read(folder / "big.png", offset=7, limit=1)).ok
        for name in ("bomb.png", "cut.png"):
            result = await client.read(folder / name)
            assert (result.code, result.attachments) == ("image_unreadable", ())
            assert result.output.startswith("<tool_use_error>The image cannot be read: ")
            assert [file.file_path for file in await client.tracked()] == [str(folder / "big.png")]


async def test_image_that_was_read_is_tracked_and_cannot_be_edited(folder: pathlib.Path) -> None:
    """R-IMAGE-4"""
    path = folder / "shot.txt"
    async with FileOpsClient.start(root=folder) as client:
        assert (await client.edit(path, "a", "b")).code == "not_read"
        await client.read(path)
        assert (await client.edit(path, "a", "b")).code == "binary"
        with client.events("fileops/didBecomeStale") as events:
            path.write_bytes(picture("PNG", (10, 10)))
            assert (await events.next(timeout_s=PATIENCE_S)).file_path == str(path)
        assert (await client.edit(path, "a", "b")).code == "modified_externally"


async def test_images_are_binary_files_if_images_are_refused(folder: pathlib.Path) -> None:
    """R-IMAGE-1"""
    async with FileOpsClient.start(root=folder, initialization_options={"images": "refuse"}) as client:
        assert (await client.read(folder / "shot.txt")).code == "binary"
        assert (await client.read(folder / "big.png")).code == "too_large"


def memory_mb(pid: int, field: str) -> float:
    lines = pathlib.Path(f"/proc/{pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(field))


@pytest.mark.parametrize("n_cut_bytes", [0, 100], ids=["whole", "cut off"])
async def test_memory_of_large_images_is_released(tmp_path: pathlib.Path, n_cut_bytes: int) -> None:
    """R-IMAGE-5: four at once, of 80 MB each when they are decoded."""
    data = picture("PNG", (5000, 4000))
    files = [tmp_path / f"{number}.png" for number in range(4)]
    for file in files:
        file.write_bytes(data[: len(data) - n_cut_bytes])
    (tmp_path / "small.png").write_bytes(picture("PNG"))
    async with FileOpsClient.start(root=tmp_path) as client:
        await client.read(tmp_path / "small.png")
        before = memory_mb(client.pid, "VmRSS")
        results = await asyncio.gather(*map(client.read, files))
        assert {result.code for result in results} == {"image_unreadable" if n_cut_bytes else None}
        assert memory_mb(client.pid, "VmHWM") < before + 225  # of one, and not of four
        wait_until(lambda: memory_mb(client.pid, "VmRSS") < before + 50)
