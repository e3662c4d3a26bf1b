"""A page that plays ten generated cases, of every kind, for somebody who wants to know quickly how real they sound."""

from __future__ import annotations

import base64
import io
from html import escape
from pathlib import Path

import polars as pl
import soundfile

from voxaudit.audits.stutter.folder import CASES
from voxaudit.errors import VoxauditError
from voxaudit.perturb.stutter.recordings import read_recordings
from voxaudit.tables import read_table, require_columns, write_atomically

TEN = 10
AROUND = 1.5
"""Seconds of the recording on either side of what was put in."""

_STYLE = """
:root{color-scheme:light dark}
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1a1a1a;background:#fff}
article{border-top:1px solid #ccc;padding:1rem 0}h2{font-size:1rem;margin:0}.said{margin:.2rem 0}audio{width:100%}
.bar{position:relative;height:10px;background:#eee;margin:.3rem 0}
.bar span{position:absolute;top:0;height:10px;background:#b5470b}
fieldset{border:0;padding:0;margin:.3rem 0}label{margin-right:1.2rem}output{font-weight:600}
@media(prefers-color-scheme:dark){body{color:#eee;background:#161616}.bar{background:#333}article{border-color:#444}}
"""
_SCRIPT = """
addEventListener("change",()=>{const all=[...document.querySelectorAll("input:checked")];
const yes=all.filter((one)=>one.value==="yes").length;
document.querySelector("output").textContent=`${yes} of ${all.length} judged sound like a person who stutters.`;});
"""


def write_listen(folder: Path, target: Path) -> int:
    """Write the page and return how many cases it plays; it needs no server and nothing from elsewhere."""
    replay = read_recordings(folder)
    path = folder / CASES
    if replay is None or not path.is_file():
        raise VoxauditError(
            f"{folder}: no recordings there from which the audio of its cases could be made again"
        )
    table = read_table(path)
    require_columns(table, ("utterance", "chain", "kind", "kept", "intended", "surface"), path)
    cases = chosen(table.filter(pl.col("utterance").is_in(list(replay.recordings))))
    parts = []
    for number, row in enumerate(cases, start=1):
        audio, marks = replay.stuttered(row["utterance"], row["chain"])
        low = max(min(a for a, _, _ in marks) - AROUND, 0.0)
        high = min(max(b for _, b, _ in marks) + AROUND, audio.duration)
        sound = io.BytesIO()
        cut = audio.samples[round(low * audio.rate) : round(high * audio.rate)]
        soundfile.write(sound, cut, audio.rate, subtype="PCM_16", format="WAV")
        parts.append(_article(number, row, marks, (low, high), base64.b64encode(sound.getvalue()).decode()))
    page = (
        '<!doctype html><html lang="en"><meta charset="utf-8"><title>Listen to ten</title>'
        '<meta name="viewport" content="width=device-width"><style>'
        f"{_STYLE}</style><h1>Listen to ten</h1><p>Stuttering was put into fluent speech. Does each sound like a person"
        " who stutters? The orange marks show where something was put in. Nothing you choose leaves this page.</p>"
        f"<p><output>Nothing judged yet.</output></p>{''.join(parts)}<script>{_SCRIPT}</script></html>"
    )
    write_atomically(target, lambda file: file.write_text(page, encoding="utf-8"))
    return len(cases)


def chosen(table: pl.DataFrame) -> list[dict[str, str]]:
    """Return ten cases, the kinds in turn, each of another recording as long as there are any; cases kept go first."""
    cases = table.filter(pl.col("chain") != "").unique(["utterance", "chain"], maintain_order=True)
    cases = cases.sort(~pl.col("kept"), maintain_order=True)
    queues = {kind: part.to_dicts() for (kind,), part in cases.group_by("kind", maintain_order=True)}
    found: list[dict[str, str]] = []
    heard: set[str] = set()
    while len(found) < TEN and any(queues.values()):
        for queue in queues.values():
            if queue and len(found) < TEN:
                fresh = next((one for one in queue if one["utterance"] not in heard), queue[0])
                queue.remove(fresh)
                heard.add(fresh["utterance"])
                found.append(fresh)
    return found


def _article(
    number: int,
    row: dict[str, str],
    marks: tuple[tuple[float, float, str], ...],
    span: tuple[float, float],
    sound: str,
) -> str:
    low, high = span
    bars = "".join(
        f'<span style="left:{100 * (a - low) / (high - low):.1f}%;width:{100 * (b - a) / (high - low):.1f}%"></span>'
        for a, b, _ in marks
    )
    what = "; ".join(dict.fromkeys(text for _, _, text in marks))
    choices = "".join(
        f'<label><input type="radio" name="case{number}" value="{value}"> {text}</label>'
        for value, text in (("yes", "sounds like a person"), ("no", "does not"), ("unsure", "cannot say"))
    )
    return (
        f"<article><h2>{number}. {escape(what)}</h2>"
        f'<p class="said">{escape(row["surface"])}</p><div class="bar" aria-hidden="true">{bars}</div>'
        f'<audio controls preload="none" src="data:audio/wav;base64,{sound}"></audio>'
        f"<fieldset>{choices}</fieldset></article>"
    )
