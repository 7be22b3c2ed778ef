"""Images for a model: recognised by their first bytes, scaled to the limits, and never trusted.

Takes bytes and returns an image; knows nothing of files. Pillow is imported when the first image is read. Images are
decoded one at a time, and the memory of each is freed before the next, so parallel requests need no more memory than
one.
"""

import base64
import io
import struct
import threading
import warnings
from typing import TYPE_CHECKING

from fileops.model.errors import ImageUnreadable
from fileops.model.results import ImageContent
from fileops.platform.memory import give_back

if TYPE_CHECKING:
    from PIL.Image import Image

MAX_SIDE_PIXELS = 2000
MAX_BASE64_BYTES = 4_500_000  # below the 5 MB that common model APIs take per image
MAX_FILE_BYTES = 32 * 1024 * 1024
_JPEG_QUALITIES = (85, 70, 50)
_SHRINK = 0.7  # of each side, if nothing else makes the image small enough
_ORIENTATION = 0x0112  # EXIF tag

PNG, JPEG, GIF, WEBP = "image/png", "image/jpeg", "image/gif", "image/webp"
# Decoding one of these needs 300 MB at most, for a short time. An 8K screen has 33 million pixels. WebP's decoder keeps
# three copies. A JPEG is decoded at a fraction of its size, up to the size that Pillow considers a bomb.
MAX_PIXELS = {PNG: 40_000_000, GIF: 40_000_000, WEBP: 20_000_000, JPEG: 89_000_000}
_FORMATS = {PNG: "PNG", JPEG: "JPEG", GIF: "GIF", WEBP: "WEBP"}

_one_at_a_time = threading.Lock()


class ContentDetector:
    """An ImageDetector that looks at the first bytes, not at the name."""

    def detect(self, path: str, head: bytes) -> str | None:
        del path
        return media_type(head)


def media_type(head: bytes) -> str | None:
    """Return the media type for the first bytes of a file; None if they are not those of a supported image."""
    if head.startswith(b"\x89PNG\r\n\x1a\n"):
        return PNG
    if head.startswith(b"\xff\xd8\xff"):
        return JPEG
    if head.startswith((b"GIF87a", b"GIF89a")):
        return GIF
    return WEBP if head[:4] == b"RIFF" and head[8:12] == b"WEBP" else None


def picture_of(data: bytes, file_type: str) -> ImageContent:
    """Return the image in a form that a model accepts: its own bytes if they fit, else upright, scaled and compressed.

    file_type: PNG, JPEG, GIF or WEBP; others are unreadable. Of an animation, only the first frame is returned. Raises:
    ImageUnreadable.
    """
    if file_type not in _FORMATS:
        raise ImageUnreadable(reason=f"{file_type} is not a supported type; there are {', '.join(_FORMATS)}")
    with _one_at_a_time:
        try:
            picture = _decode(data, file_type)
        finally:
            give_back()
    if isinstance(picture, ImageUnreadable):
        raise picture
    return picture


def _decode(data: bytes, file_type: str) -> ImageContent | ImageUnreadable:
    """Return the decoded image, or the failure: an exception raised from here would keep the pixels alive."""
    from PIL import Image

    broken = (
        OSError, SyntaxError, ValueError, ArithmeticError, LookupError, TypeError, AttributeError, struct.error,
        MemoryError, RuntimeError, Image.DecompressionBombError, Image.DecompressionBombWarning,
    )  # fmt: skip  # what decoders have been seen to raise over bytes that are no image
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", Image.DecompressionBombWarning)
        try:
            with Image.open(io.BytesIO(data), formats=[_FORMATS[file_type]]) as image:
                return _fit(image, data, file_type)
        except (Image.DecompressionBombError, Image.DecompressionBombWarning):
            return ImageUnreadable(reason="it has more pixels than are decoded here")
        except broken:
            return ImageUnreadable(reason="its content is damaged or incomplete")


def _fit(image: "Image", data: bytes, file_type: str) -> ImageContent | ImageUnreadable:
    width, height = image.size
    n_frames = getattr(image, "n_frames", 1) if file_type != JPEG else 1
    if width * height > MAX_PIXELS[file_type]:
        return ImageUnreadable(reason=f"{width} x {height} pixels are more than are decoded here")
    orientation = _orientation(image)
    is_as_it_is = (
        max(width, height) <= MAX_SIDE_PIXELS
        and orientation == 1
        and n_frames == 1
        and _base64_bytes(len(data)) <= MAX_BASE64_BYTES
    )
    if is_as_it_is:
        image.load()  # fails for an image that cannot be decoded
        shown_type, shown, size = file_type, data, (width, height)
    else:
        image.draft("RGB", (MAX_SIDE_PIXELS, MAX_SIDE_PIXELS))  # has an effect on a JPEG only
        upright = _turn(_scale(_plain(image), MAX_SIDE_PIXELS), orientation)
        shown_type, shown, size = _encode(upright, file_type)
    return ImageContent(
        mime_type=shown_type,
        data=base64.b64encode(shown).decode("ascii"),
        width=size[0],
        height=size[1],
        file_type=file_type,
        file_width=width,
        file_height=height,
        n_frames=n_frames,
    )


def _base64_bytes(n_bytes: int) -> int:
    return (n_bytes + 2) // 3 * 4


def _orientation(image: "Image") -> int:
    """Return the orientation; 1 if the file has none, or an unknown one."""
    try:
        orientation = image.getexif().get(_ORIENTATION, 1)
    except (OSError, SyntaxError, ValueError, LookupError, TypeError, struct.error):
        return 1
    return orientation if isinstance(orientation, int) and 1 <= orientation <= 8 else 1


def _plain(image: "Image") -> "Image":
    """Return the first frame, in a mode that every scaler and encoder accepts."""
    image.load()
    if image.mode in {"RGB", "RGBA", "L"}:
        return image
    has_alpha = image.mode in {"LA", "PA", "La", "RGBa"} or "transparency" in image.info
    return image.convert("RGBA" if has_alpha else "L" if image.mode in {"1", "I;16"} else "RGB")


def _scale(image: "Image", max_side: int) -> "Image":
    if max(image.size) <= max_side:
        return image
    from PIL import Image

    factor = max_side / max(image.size)
    size = (max(1, round(image.width * factor)), max(1, round(image.height * factor)))
    return image.resize(size, Image.Resampling.LANCZOS, reducing_gap=3.0)


def _turn(image: "Image", orientation: int) -> "Image":
    from PIL.Image import Transpose

    turns = {
        2: Transpose.FLIP_LEFT_RIGHT,
        3: Transpose.ROTATE_180,
        4: Transpose.FLIP_TOP_BOTTOM,
        5: Transpose.TRANSPOSE,
        6: Transpose.ROTATE_270,
        7: Transpose.TRANSVERSE,
        8: Transpose.ROTATE_90,
    }
    return image.transpose(turns[orientation]) if orientation in turns else image


def _encode(image: "Image", file_type: str) -> tuple[str, bytes, tuple[int, int]]:
    """Return media type, bytes within the budget, and size. Photographs become JPEG; others stay PNG if that fits."""
    while True:
        tries = [] if file_type == JPEG else [(PNG, 0)]
        for mime_type, quality in (*tries, *((JPEG, quality) for quality in _JPEG_QUALITIES)):
            encoded = _as_png(image) if mime_type == PNG else _as_jpeg(image, quality)
            if _base64_bytes(len(encoded)) <= MAX_BASE64_BYTES:
                return mime_type, encoded, image.size
        image = _scale(image, max(1, int(max(image.size) * _SHRINK)))


def _as_png(image: "Image") -> bytes:
    out = io.BytesIO()
    image.save(out, "PNG", compress_level=6)
    return out.getvalue()


def _as_jpeg(image: "Image", quality: int) -> bytes:
    """Return a JPEG. Transparent parts become white."""
    out = io.BytesIO()
    if image.mode == "RGBA":
        from PIL import Image

        opaque = Image.new("RGB", image.size, (255, 255, 255))
        opaque.paste(image, mask=image.getchannel("A"))
        image = opaque
    image.save(out, "JPEG", quality=quality)
    return out.getvalue()
