"""The hash function of a journal."""

import hashlib

DIGEST_BYTES = 16


def digest_of(*parts: bytes) -> bytes:
    """Return the digest of the concatenated parts."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for part in parts:
        digest.update(part)
    return digest.digest()
