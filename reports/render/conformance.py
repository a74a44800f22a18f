"""One file that an archive accepts (PDF/A-3a) and a screen reader can follow (PDF/UA-1), its data attached."""

from __future__ import annotations

import base64
from datetime import date, datetime
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # at run time only ``reports.render.pdf`` loads it: a missing library is one line there
    import weasyprint

VARIANT = "pdf/a-3a"
"""What the PDF engine writes by itself; it knows one standard a file, so ``claim_accessibility`` adds the other."""

UA_CLAIM = b"""<rdf:Description rdf:about="" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/">
<pdfuaid:part>1</pdfuaid:part>
</rdf:Description>
<rdf:Description rdf:about=""
 xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/"
 xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#"
 xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">
<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">
<pdfaSchema:schema>PDF/UA identification schema</pdfaSchema:schema>
<pdfaSchema:namespaceURI>http://www.aiim.org/pdfua/ns/id/</pdfaSchema:namespaceURI>
<pdfaSchema:prefix>pdfuaid</pdfaSchema:prefix>
<pdfaSchema:property><rdf:Seq><rdf:li rdf:parseType="Resource">
<pdfaProperty:name>part</pdfaProperty:name>
<pdfaProperty:valueType>Integer</pdfaProperty:valueType>
<pdfaProperty:category>internal</pdfaProperty:category>
<pdfaProperty:description>Part of ISO 14289 that the file claims to follow</pdfaProperty:description>
</rdf:li></rdf:Seq></pdfaSchema:property>
</rdf:li></rdf:Bag></pdfaExtension:schemas>
</rdf:Description>
"""
"""PDF/A allows no metadata outside its own schemas unless the file describes them: hence the second block."""

END_OF_METADATA = b"</rdf:RDF>"

KINDS = {
    ".xlsx": ("Source", "The workbook behind this document"),
    ".zip": ("Source", "The scenario and the catalogs that were used: build it again with them"),
    ".csv": ("Data", "Rows that this document was made from"),
    ".json": ("Data", "Results and inputs, for programs"),
}
"""Ending -> (relation of ISO 32000-2 7.11.3, description) of a file that travels inside the document."""


def finish(document: Any, pdf: Any) -> None:
    """Finisher for WeasyPrint's ``write_pdf``: adds the PDF/UA-1 claim and mends stream ends that readers misjudge."""
    del document
    metadata = pdf.objects[int(pdf.catalog["Metadata"].split()[0])]
    metadata.stream = [b"".join(metadata.stream).replace(END_OF_METADATA, UA_CLAIM + END_OF_METADATA)]
    metadata.compress = False  # archives read the claim as plain text
    for each in pdf.objects:
        if hasattr(each, "compress"):  # a stream; the other objects have no content of their own
            no_carriage_return_at_the_end(each)


def no_carriage_return_at_the_end(stream: Any) -> None:
    """A stream whose last byte is CR, before the LF that ends it, looks one byte too long: ISO 19005-3, 6.1.7.1.

    The last byte of compressed data is the last of its Adler-32 sum, whatever the level, so one stream in 256 is met:
    it gets a second coating, of letters.
    """
    head, _, rest = stream.data.partition(b"\nstream\n")
    del head
    content = rest.removesuffix(b"\nendstream")
    if stream.compress:  # once is enough: the engine would compress it again when it writes the file
        stream.extra["Filter"] = "/FlateDecode"
        stream.compress = False
        stream.stream = [content]
    if content.endswith(b"\r"):
        coated = "/ASCII85Decode"
        inner = stream.extra.get("Filter")
        stream.extra["Filter"] = f"[{coated} {inner}]" if inner else coated
        stream.stream = [base64.a85encode(content) + b"~>"]


def attachment(path: Path, dated: date) -> weasyprint.Attachment:
    """A file as an attachment of the document, with its relation to it and a date that a rerun repeats.

    ``dated`` is the day of the report: the clock has no place in a file that must come out the same.
    """
    from weasyprint import Attachment

    relation, description = KINDS[path.suffix]
    moment = datetime(dated.year, dated.month, dated.day)
    return Attachment(
        file_obj=BytesIO(path.read_bytes()),
        name=path.name,
        description=description,
        created=moment,
        modified=moment,
        relationship=relation,
    )
