"""Images made to fit: what is attached, what is refused."""

import base64
import io
import random

import pytest
from PIL import Image

from fileops.model.errors import ImageUnreadable
from fileops.model.results import ImageContent
from fileops.service.reading import images
from support.pictures import animation, bomb, halves, noise, picture

FORMATS = {"PNG": images.PNG, "JPEG": images.JPEG, "GIF": images.GIF, "WEBP": images.WEBP}


def shown(result: ImageContent) -> Image.Image:
    image = Image.open(io.BytesIO(base64.b64decode(result.data)))
    image.load()
    assert image.size == (result.width, result.height)
    assert Image.MIME[image.format or ""] == result.mime_type
    return image.convert("RGB")


def is_near(image: Image.Image, at: tuple[int, int], colour: tuple[int, int, int]) -> bool:
    found = image.getpixel(at)
    assert isinstance(found, tuple)
    return all(abs(one - other) < 30 for one, other in zip(found, colour, strict=True))


@pytest.mark.parametrize("format_name", FORMATS)
def test_image_within_the_limits_keeps_its_bytes(format_name: str) -> None:
    data = picture(format_name)
    file_type = images.media_type(data)
    assert file_type is not None
    assert file_type == FORMATS[format_name]
    result = images.picture_of(data, file_type)
    assert (result.mime_type, result.width, result.height, result.n_frames) == (file_type, 40, 30, 1)
    assert base64.b64decode(result.data) == data


@pytest.mark.parametrize("format_name", FORMATS)
def test_large_image_is_scaled_proportionally(format_name: str) -> None:
    data = picture(format_name, (3000, 1000))
    result = images.picture_of(data, FORMATS[format_name])
    assert (result.width, result.height, result.file_width, result.file_height) == (2000, 667, 3000, 1000)
    assert is_near(shown(result), (10, 10), (200, 30, 60))


def test_thin_image_keeps_one_pixel() -> None:
    result = images.picture_of(picture("PNG", (9000, 1)), images.PNG)
    assert (result.width, result.height) == (2000, 1)


# orientation -> size of the upright image, and where its red half is
@pytest.mark.parametrize(
    ("orientation", "size", "red"),
    [
        (2, (60, 40), (50, 20)), (3, (60, 40), (50, 20)), (4, (60, 40), (10, 20)), (5, (40, 60), (20, 10)),
        (6, (40, 60), (20, 10)), (7, (40, 60), (20, 50)), (8, (40, 60), (20, 50)),
    ],
)  # fmt: skip
def test_image_is_rotated_by_its_exif_orientation(
    orientation: int, size: tuple[int, int], red: tuple[int, int]
) -> None:
    result = images.picture_of(halves((60, 40), orientation), images.JPEG)
    assert (result.width, result.height) == size
    assert is_near(shown(result), red, (255, 0, 0))
    assert is_near(shown(result), (size[0] - red[0] - 1, size[1] - red[1] - 1), (0, 0, 255)) or orientation in {2, 4}


def test_heavy_image_is_compressed_to_the_budget() -> None:
    data = noise((1500, 1500))
    assert len(data) * 4 / 3 > images.MAX_BASE64_BYTES
    result = images.picture_of(data, images.PNG)
    assert result.mime_type == images.JPEG
    assert len(result.data) <= images.MAX_BASE64_BYTES
    shown(result)


def test_animation_shows_its_first_frame() -> None:
    result = images.picture_of(animation(), images.GIF)
    assert (result.mime_type, result.n_frames) == (images.PNG, 2)
    assert is_near(shown(result), (5, 5), (255, 0, 0))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16"])
def test_every_pixel_format_can_be_scaled(mode: str) -> None:
    out = io.BytesIO()
    Image.new(mode, (2100, 20)).save(out, "PNG")
    assert images.picture_of(out.getvalue(), images.PNG).width == 2000


@pytest.mark.parametrize("size", [(60_000, 60_000), (9000, 9000), (7000, 7000)])
def test_decompression_bomb_is_refused(size: tuple[int, int]) -> None:
    with pytest.raises(ImageUnreadable):
        images.picture_of(bomb(*size), images.PNG)


@pytest.mark.parametrize("data", [picture(name) for name in FORMATS] + [animation(), halves((60, 40), 6)])
def test_damaged_image_is_decoded_or_refused(data: bytes) -> None:
    rng = random.Random(3)
    file_type = images.media_type(data)
    assert file_type is not None
    n_refused = 0
    for i in range(150):
        broken = bytearray(data[: rng.randrange(13, len(data))] if i % 2 else data)
        for _ in range(rng.randrange(4)):
            broken[rng.randrange(12, len(broken))] = rng.randrange(256)
        try:
            images.picture_of(bytes(broken), file_type)
        except ImageUnreadable:
            n_refused += 1
    assert n_refused > 20


@pytest.mark.parametrize("head", [b"", b"GIF", b"BM\0\0", b"%PDF", b"RIFF\0\0\0\0WAVE", b"\x89PNG\n\n", b"<svg"])
def test_unsupported_image_is_none(head: bytes) -> None:
    assert images.media_type(head) is None
