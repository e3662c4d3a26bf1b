"""The gates as JUnit XML: every continuous-integration service shows it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

from voxaudit.render.document import Report


def to_junit(report: Report) -> str:
    """Return a test suite with a test case for each gate; one that could not be judged is skipped."""
    outcomes = [gate.outcome for gate in report.gates]
    counts = {
        "tests": str(len(outcomes)),
        "failures": str(outcomes.count("FAIL")),
        "errors": "0",
        "skipped": str(outcomes.count("not judged")),
    }
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(
        suites, "testsuite", {"name": valid_xml(f"voxaudit gates: {report.title}"), **counts}
    )
    for gate in report.gates:
        case = ElementTree.SubElement(
            suite, "testcase", {"classname": "voxaudit.gates", "name": valid_xml(gate.name), "time": "0"}
        )
        said = valid_xml(gate.sentence)
        if gate.passed:
            ElementTree.SubElement(case, "system-out").text = said
            continue
        why = {"message": said, "type": "gate" if gate.judged else "not judged"}
        ElementTree.SubElement(case, "skipped" if gate.passed is None else "failure", why).text = said
    ElementTree.indent(suites)
    body = ElementTree.tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def valid_xml(text: str) -> str:
    """Return text with what XML 1.0 cannot hold (control characters, lone surrogates) replaced."""
    return re.sub("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]", "\ufffd", text)
