"""How the store packs contents: whole, or as the difference from another content.

A delta states how many bytes the two contents share at the start and at the end. The bytes in between are deflated,
with the corresponding bytes of the other content as the dictionary. Trimming first matters for files of more than
32 KiB, because deflate uses only that much of a dictionary.
"""

import struct
import zlib

MAX_CHAIN = 50  # deltas between a content and its whole base
_HEAD = struct.Struct("<II")
_LEVEL = 1  # the fastest level; level 6 saves 8 % of the space
_RAW = -15  # deflate without header and checksum: the digest is the checksum
_WINDOW_BYTES = 32 << 10


class DamagedBlob(Exception):
    """The packed bytes were not made by `pack` or `pack_delta`."""


def pack(content: bytes) -> bytes:
    return zlib.compress(content, _LEVEL)


def unpack(packed: bytes) -> bytes:
    """Raises: DamagedBlob."""
    try:
        return zlib.decompress(packed)
    except zlib.error as error:
        raise DamagedBlob(str(error)) from error


def pack_delta(content: bytes, base: bytes) -> bytes:
    """Pack the difference of `content` from `base`."""
    n_start = _count_shared_start(content, base)
    n_end = _count_shared_start(content[n_start:][::-1], base[n_start:][::-1])
    dictionary = base[n_start : len(base) - n_end][-_WINDOW_BYTES:]
    deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _RAW, zdict=dictionary)
    middle = content[n_start : len(content) - n_end]
    return _HEAD.pack(n_start, n_end) + deflate.compress(middle) + deflate.flush()


def unpack_delta(packed: bytes, base: bytes) -> bytes:
    """Return the content whose difference from `base` was packed. Raises: DamagedBlob."""
    try:
        n_start, n_end = _HEAD.unpack_from(packed)
        dictionary = base[n_start : len(base) - n_end][-_WINDOW_BYTES:]
        inflate = zlib.decompressobj(_RAW, zdict=dictionary)
        middle = inflate.decompress(packed[_HEAD.size :]) + inflate.flush()
    except (zlib.error, struct.error) as error:
        raise DamagedBlob(str(error)) from error
    return base[:n_start] + middle + base[len(base) - n_end :]


def _count_shared_start(one: bytes, other: bytes) -> int:
    """Return how many bytes the two share at the start. Bisection compares in C what a loop would compare in Python."""
    n_same, n_max = 0, min(len(one), len(other))
    while n_same < n_max:
        n_half = (n_max - n_same + 1) // 2
        if one[n_same : n_same + n_half] == other[n_same : n_same + n_half]:
            n_same += n_half
        elif n_half == 1:
            break
        else:
            n_max = n_same + n_half
    return n_same
