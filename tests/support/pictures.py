"""Image files to read, made on the spot."""

import io
import random
import zlib

from PIL import Image

EXIF_ORIENTATION = 0x0112


def picture(format_name: str, size: tuple[int, int] = (40, 30), **options: object) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, (200, 30, 60)).save(out, format_name, **options)
    return out.getvalue()


def halves(size: tuple[int, int], orientation: int) -> bytes:
    """A JPEG that is red in its left half and blue in the right, with a note on how to turn it."""
    image = Image.new("RGB", size, (255, 0, 0))
    image.paste((0, 0, 255), (size[0] // 2, 0, *size))
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = orientation
    out = io.BytesIO()
    image.save(out, "JPEG", exif=exif, quality=95)
    return out.getvalue()


def noise(size: tuple[int, int]) -> bytes:
    """A PNG that no compression makes small."""
    out = io.BytesIO()
    Image.frombytes("RGB", size, random.Random(7).randbytes(size[0] * size[1] * 3)).save(out, "PNG", compress_level=0)
    return out.getvalue()


def animation(size: tuple[int, int] = (20, 10)) -> bytes:
    """A GIF: first red, then blue."""
    out = io.BytesIO()
    first, second = Image.new("RGB", size, (255, 0, 0)), Image.new("RGB", size, (0, 0, 255))
    first.save(out, "GIF", save_all=True, append_images=[second])
    return out.getvalue()


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few KB that claims to be huge."""

    def chunk(name: bytes, body: bytes) -> bytes:
        return len(body).to_bytes(4, "big") + name + body + zlib.crc32(name + body).to_bytes(4, "big")

    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + b"\x08\x02\0\0\0"
    body = zlib.compress(b"\0" * 100_000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")
