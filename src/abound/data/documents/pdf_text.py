"""The text of a PDF."""

from abound.data.extras import require
from abound.data.formats import Malformed

PACKAGE = "pypdfium2"
_HYPHEN = "\ufffe"  # what PDFium writes between the parts of a word that is hyphenated at the end of a line


def load_pdfium() -> None:
    """Raise ImportError if the PDF reader is not installed."""
    require(PACKAGE, "documents", "PDF files")


def pdf_text(body: bytes, characters: int) -> str:
    """Return the text of the pages; an empty string if they are pictures.

    Parameters
    ----------
    body : bytes
    characters : int
        Maximum characters of the text; reading stops there.
    """
    pdfium = require(PACKAGE, "documents", "PDF files")
    try:
        document = pdfium.PdfDocument(body)
    except pdfium.PdfiumError as error:
        if "password" in str(error).lower():
            raise Malformed("the PDF is encrypted; save it without a password") from None
        if "security" in str(error).lower():
            raise Malformed("the PDF is encrypted in an unknown way; save it without a password") from None
        raise Malformed("the PDF is damaged; download or save it again") from None
    texts: list[str] = []
    left = characters
    for number in range(len(document)):
        try:
            page = document[number]
            text = page.get_textpage().get_text_range(errors="replace")
            page.close()
        except pdfium.PdfiumError:
            continue  # the others may be readable
        texts.append(text.replace("\r\n", "\n").replace("\r", "\n").replace(_HYPHEN, ""))
        left -= len(texts[-1])
        if left < 0:
            break
    if not texts:
        raise Malformed("the PDF is damaged: no page can be read; download or save it again")
    return "\n".join(texts)
