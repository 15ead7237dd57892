"""The endpoint that extracts the text of a file.

Files may come from anyone, so that a process with limits reads each one. The event loop only waits for it.
"""

import asyncio

from msgspec import UNSET

from abound.data.documents import MEDIA_TYPES, Extracted, Extractor, Kind, Limits
from abound.data.formats import Malformed
from abound.server.http.bodies import FileRequest, FileText
from abound.server.http.endpoints import Call, Endpoint
from abound.server.http.limits import FILE_BYTES, TEXT_BYTES, cut_text
from abound.server.http.problems import Problem

LIMITS = Limits(n_bytes=FILE_BYTES, unpacked=64 << 20, characters=TEXT_BYTES, seconds=10.0, memory=512 << 20)
NO_TEXT = "the file has no text; scanned pages need text recognition (OCR) first"


async def text(call: Call[FileRequest]) -> FileText:
    """Extract the text of a PDF, Word, HTML or text file, as much of it as can be ranked."""
    request = call.request
    kind = MEDIA_TYPES[request.media_type]
    async with call.service.extractions:
        try:
            found = await asyncio.to_thread(_extract, request.body, kind, request.charset)
        except Malformed as error:
            raise Problem(422, str(error)) from None
        except ImportError as error:
            raise Problem(501, str(error)) from None
    whole = found.text.encode("utf-8", "replace").decode()  # JSON has no half of a surrogate pair
    shown = cut_text(whole)
    note = NO_TEXT if not shown or shown.isspace() else UNSET
    return FileText(shown, is_cut=found.is_cut or len(shown) < len(whole), note=note)


def _extract(body: bytes, kind: Kind, charset: str | None) -> Extracted:
    with Extractor(LIMITS) as extractor:  # a new process, so that nobody's file meets another one
        return extractor.extract(body, kind, charset)


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/text",
        text,
        FileRequest,
        FileText,
        "Extract the text of a file",
        limit=FILE_BYTES,
        media_types=tuple(MEDIA_TYPES),
        errors=(501,),
    ),
)
