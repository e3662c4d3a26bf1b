"""The gates as JUnit XML: every continuous-integration service shows it."""

from __future__ import annotations

from xml.etree import ElementTree

from voxaudit.render.document import Report


def to_junit(report: Report) -> str:
    """Return a test suite with a test case for each gate; one that cannot be judged is an error."""
    failed = [gate for gate in report.gates if gate.judged and not gate.passed]
    unknown = [gate for gate in report.gates if not gate.judged]
    counts = {
        "tests": str(len(report.gates)),
        "failures": str(len(failed)),
        "errors": str(len(unknown)),
        "skipped": "0",
    }
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(
        suites, "testsuite", {"name": valid_xml(f"voxaudit gates: {report.title}"), **counts}
    )
    for gate in report.gates:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": "voxaudit.gates", "name": valid_xml(gate.name), "time": "0"}
        )
        if gate in unknown or gate in failed:
            kind, why = ("failure", "gate") if gate.judged else ("error", "cannot be judged")
            mark = ElementTree.SubElement(case, kind, {"message": valid_xml(gate.sentence), "type": why})
            mark.text = valid_xml(gate.sentence)
        else:
            ElementTree.SubElement(case, "system-out").text = valid_xml(gate.sentence)
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def valid_xml(text: str) -> str:
    """Return text with what XML 1.0 cannot hold (control characters, lone surrogates) replaced."""
    return "".join(character if _allowed(ord(character)) else "\ufffd" for character in text)


def _allowed(code: int) -> bool:
    return (
        code in (0x9, 0xA, 0xD)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )
