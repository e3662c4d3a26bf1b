"""Worst cases: what was said, what was heard, word by word, and two recordings to listen to."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence

from voxaudit.render.document import Case
from voxaudit.render.escape import attribute, prose, shorten, text
from voxaudit.render.numbers import shown

WORDS = 400
"""Words of a diff in sight."""
WORD = 80
"""Characters of a word in a diff."""
_MEDIA = re.compile(r"audio/[a-z0-9.+-]{1,40}(;\s?codecs=[a-z0-9.]{1,20})?")

LEGEND = (
    '<p class="note legend-diff">Marks: <span class="d-del"><del>said, not heard</del></span>'
    ' <span class="d-ins"><ins>heard, not said</ins></span>'
    ' <span class="d-sub"><del>said</del><ins>heard instead</ins></span></p>'
)


def case_list(cases: Sequence[Case], scenarios: Mapping[str, str]) -> str:
    """Return cards of cases, with the meaning of the marks first; `scenarios` are what they do, in words."""
    if not cases:
        return ""
    cards = (_card(case, scenarios.get(case.scenario, "")) for case in cases)
    return LEGEND + f'<div class="cases">{"".join(cards)}</div>'


def _card(case: Case, does: str) -> str:
    wer = "" if case.wer is None else f'<span class="wer"><b>{shown(case.wer, "percent")}</b> WER</span>'
    who = [("speaker", case.speaker)] if case.speaker is not None else []
    chips = "".join(
        f'<li><span class="muted">{text(name, 40)}</span> {text(value, 60)}</li>'
        for name, value in [("heard by", case.recognizer), *who, *case.attributes.items()]
    )
    heard = diff_html(case.diff) if case.diff else _said(case.heard, "nothing was heard")
    return (
        f'<article class="case"><header><h4>{text(case.scenario, 80)}</h4>{wer}'
        f'<p class="muted utterance">{text(case.utterance, 90)}{_what(does)}</p></header>'
        f'<ul class="chips">{chips}</ul>'
        f"<dl><dt>Reference</dt><dd>{_said(case.reference, 'no reference')}</dd>"
        f"<dt>Heard clean</dt><dd>{_said(case.clean, 'nothing was heard')}</dd>"
        f"<dt>Heard disturbed</dt><dd>{heard}</dd></dl>"
        f"{_players(case)}</article>"
    )


def _what(words: str) -> str:
    return f"<br>{text(words, 200)}" if words else ""


def _said(words: str | None, otherwise: str) -> str:
    return prose(words) if words else f'<span class="muted">({otherwise})</span>'


def diff_html(diff: Sequence[tuple[str, str, str]]) -> str:
    """Return an alignment as words with marks that are seen (strike, underline, signs) and read aloud."""
    words = " ".join(_word(*step) for step in diff[:WORDS])
    rest = f' <span class="muted">and {len(diff) - WORDS:,} more words</span>' if len(diff) > WORDS else ""
    return f'<p class="diff">{words}{rest}</p>'


def _word(operation: str, reference: str, heard: str) -> str:
    if operation == "deletion":
        return f'<span class="d-del">{_aloud("missed: ")}<del>{text(reference, WORD)}</del></span>'
    if operation == "insertion":
        return f'<span class="d-ins">{_aloud("added: ")}<ins>{text(heard, WORD)}</ins></span>'
    if operation == "substitution":
        return (
            f'<span class="d-sub">{_aloud("said: ")}<del>{text(reference, WORD)}</del>'
            f"{_aloud(' heard: ')}<ins>{text(heard, WORD)}</ins></span>"
        )
    return text(heard or reference, WORD)


def _aloud(words: str) -> str:
    return f'<span class="vh">{words}</span>'


def _players(case: Case) -> str:
    players = [
        _player(name, data, case)
        for name, data in (("Original", case.original), ("Disturbed", case.audio))
        if data is not None
    ]
    if not players:
        return '<p class="players note">Listen with: <code>voxaudit review RUN</code></p>'
    return f'<div class="players">{"".join(players)}</div>'


def _player(name: str, data: bytes, case: Case) -> str:
    """Return a player that decodes nothing before somebody presses play."""
    media = case.media_type if _MEDIA.fullmatch(case.media_type) else "audio/ogg"
    label = attribute(f"{name} recording of {shorten(case.utterance, 60)}, {shorten(case.scenario, 60)}")
    encoded = base64.b64encode(data).decode("ascii")
    return (
        f'<div class="player"><span aria-hidden="true">{name}</span><audio controls preload="none"'
        f' aria-label="{label}" src="data:{attribute(media)};base64,{encoded}"></audio></div>'
    )
