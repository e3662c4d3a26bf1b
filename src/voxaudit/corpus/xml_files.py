"""Read XML that a stranger may have written: no document types, so no entities that grow or read files."""

from __future__ import annotations

from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from voxaudit.corpus.base import CorpusError
from voxaudit.errors import one_line


def read_xml(path: Path) -> Element:
    """Return the root of an XML file. Names keep their prefix as written (`nite:id`); a DOCTYPE is refused."""
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = lambda tag, attributes: builder.start(tag, attributes)
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    # Entities are declared in a document type only: without one, nothing can expand or name another file.
    parser.StartDoctypeDeclHandler = lambda *_: _refuse(path)
    if path.exists() and not path.is_file():  # a device or a pipe would be read for ever
        raise CorpusError(f"{path}: is not a file")
    try:
        with path.open("rb") as file:
            parser.ParseFile(file)
    except OSError as error:
        raise CorpusError(f"{path}: cannot read this file ({error.strerror or error})") from error
    except (expat.ExpatError, LookupError) as error:
        raise CorpusError(f"{path}: not valid XML ({one_line(error, 100)})") from None
    return builder.close()


def _refuse(path: Path) -> None:
    raise CorpusError(
        f"{path}: has a DOCTYPE, which is not read (entities could grow without end); remove it"
    )
