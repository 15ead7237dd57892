"""Documents for tests, written by hand: PDF with and without text or password, and Word."""

import hashlib
import io
import zipfile

_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml."
DOCX_TYPE = f"{_TYPE}document"


def pdf(text: str = "", password: str | None = None, loop: bool = False) -> bytes:
    """Return a PDF of one page per line of the text, or with a picture if there is none.

    With a password, it is encrypted by RC4 as in PDF 1.4; the empty password lets everyone open it. With `loop`, a page
    draws a form that draws itself twice, and so on.
    """
    id_ = hashlib.md5(text.encode()).digest()  # noqa: S324  what the format uses
    owner = _rc4(hashlib.md5(_padded("owner")).digest()[:5], _padded(password or ""))  # noqa: S324
    rights = (-4).to_bytes(4, "little", signed=True)
    key = None if password is None else hashlib.md5(_padded(password) + owner + rights + id_).digest()[:5]  # noqa: S324
    lines = text.split("\n")
    kids = " ".join(f"{5 + 2 * i} 0 R" for i in range(len(lines)))
    objects: dict[int, tuple[bytes, bytes | None]] = {
        1: (b"<</Type/Catalog/Pages 2 0 R>>", None),
        2: (b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids.encode(), len(lines)), None),
        3: (b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>", None),
        4: (b"/Type/XObject/Subtype/Image/Width 2/Height 2/ColorSpace/DeviceGray/BitsPerComponent 8", b"\0\xff\xff\0"),
    }
    resources = b"/Resources<</Font<</F 3 0 R>>/XObject<</I 4 0 R>>>>"
    for i, line in enumerate(lines):
        page = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]%s/Contents %d 0 R>>" % (resources, 6 + 2 * i)
        shown = line.encode("cp1252").replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
        content = b"BT /F 12 Tf 50 700 Td (%s) Tj ET" % shown if line else b"q 500 0 0 700 50 50 cm /I Do Q"
        objects[5 + 2 * i] = page, None
        objects[6 + 2 * i] = b"", content
    if loop:
        first = max(objects) + 1
        levels = 64
        for level in range(levels):
            inner = b"<</XObject<</X %d 0 R>>/Font<</F 3 0 R>>>>" % (first + min(level + 1, levels - 1))
            form = b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]/Resources%s" % inner
            objects[first + level] = form, b"/X Do /X Do" if level < levels - 1 else b"BT /F 9 Tf (x) Tj ET"
        objects[5] = objects[5][0].replace(b"/I 4 0 R", b"/I %d 0 R" % first), None
    return _assembled(objects, key, owner, id_)


def _assembled(objects: dict[int, tuple[bytes, bytes | None]], key: bytes | None, owner: bytes, id_: bytes) -> bytes:
    out, places = io.BytesIO(), {}
    out.write(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    for number, (head, stream) in objects.items():
        places[number] = out.tell()
        out.write(b"%d 0 obj\n" % number)
        if stream is None:
            out.write(head)
        else:
            if key is not None:
                inner = hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0").digest()  # noqa: S324
                stream = _rc4(inner[:10], stream)
            out.write(b"<<%s/Length %d>>\nstream\n%s\nendstream" % (head, len(stream), stream))
        out.write(b"\nendobj\n")
    start, count = out.tell(), max(objects) + 1
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % count)
    out.writelines(b"%010d 00000 n \n" % places[number] for number in range(1, count))
    trailer = b"/Size %d/Root 1 0 R/ID[<%s><%s>]" % (count, id_.hex().encode(), id_.hex().encode())
    if key is not None:
        user = _rc4(key, _PADDING)
        trailer += b"/Encrypt<</Filter/Standard/V 1/R 2/P -4/O<%s>/U<%s>>>" % (
            owner.hex().encode(),
            user.hex().encode(),
        )
    out.write(b"trailer\n<<%s>>\nstartxref\n%d\n%%%%EOF\n" % (trailer, start))
    return out.getvalue()


def _padded(password: str) -> bytes:
    return (password.encode("latin-1") + _PADDING)[:32]


def _rc4(key: bytes, data: bytes) -> bytes:
    state, j = list(range(256)), 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out, i, j = bytearray(), 0, 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)


def paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def table(*rows: tuple[str, ...]) -> str:
    cells = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{row}</w:tr>' for row in cells)}</w:tbl>"


def docx(body: str, header: str = "", prolog: str = "") -> bytes:
    """Return a Word document with the XML of its body, and with a header."""
    parts = {"document.main": ("word/document.xml", "document", f"<w:body>{body}</w:body>")}
    if header:
        parts["header"] = ("word/header1.xml", "hdr", header)
    types = "".join(
        f'<Override PartName="/{name}" ContentType="{_TYPE}{kind}+xml"/>' for kind, (name, _, _) in parts.items()
    )
    out = io.BytesIO()
    namespace = "http://schemas.openxmlformats.org/package/2006/content-types"
    files = {"[Content_Types].xml": f'<Types xmlns="{namespace}">{types}</Types>'}
    for name, root, content in parts.values():
        files[name] = f'<?xml version="1.0"?>{prolog}<w:{root} xmlns:w="{_W}">{content}</w:{root}>'
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            # ZipInfo has a fixed date: the same document is the same bytes at any time.
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return out.getvalue()


def docx_bomb(size: int) -> bytes:
    """Return a small Word document that unpacks to about this many bytes."""
    out, run = io.BytesIO(docx(paragraph("x"))), 1 << 20
    with zipfile.ZipFile(out) as archive:
        types = archive.read("[Content_Types].xml")
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", types)
        with archive.open("word/document.xml", "w", force_zip64=True) as part:
            part.write(f'<w:document xmlns:w="{_W}"><w:body><w:p><w:r><w:t>'.encode())
            for _ in range(size // run):
                part.write(b"a" * run)
            part.write(b"</w:t></w:r></w:p></w:body></w:document>")
    return out.getvalue()
