"""Alignments that other tools wrote: CTM, TextGrid, lhotse."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from voxaudit.align import AlignmentError, read_alignments, read_ctm, read_lhotse, read_textgrid

WORDS = [(0.0, 0.5, ""), (0.5, 0.7, "the"), (0.7, 1.1, "weather"), (1.1, 1.5, "<eps>")]
PHONES = [
    (0.0, 0.5, "sil"),
    (0.5, 0.6, "DH"),
    (0.6, 0.7, "AH0"),
    (0.7, 0.8, "W"),
    (0.8, 0.9, "EH1"),
    (0.9, 1.0, "DH"),
    (1.0, 1.1, "ER0"),
    (1.1, 1.5, ""),
]


def check(timings):
    assert timings.text == "the weather"
    wea, ther = timings.words[1].syllables
    assert (wea.text, ther.text) == ("wea", "ther")
    assert (wea.start, wea.end, ther.end) == pytest.approx((0.7, 0.9, 1.1))
    assert [phone.name for phone in timings.words[1].phones] == ["W", "EH", "DH", "ER"]


def long_grid(tiers) -> str:
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "xmin = 0",
        "xmax = 1.5",
        "tiers? <exists>",
    ]
    lines += [f"size = {len(tiers)}", "item []:"]
    for i, (name, rows) in enumerate(tiers.items(), 1):
        lines += [f"    item [{i}]:", '        class = "IntervalTier"', f'        name = "{name}"']
        lines += ["        xmin = 0", "        xmax = 1.5", f"        intervals: size = {len(rows)}"]
        for j, (a, b, text) in enumerate(rows, 1):
            lines += [f"        intervals [{j}]:", f"            xmin = {a}", f"            xmax = {b}"]
            lines += [f'            text = "{text}"']
    return "\n".join(lines)


def short_grid(tiers) -> str:
    lines = [
        'File type = "ooTextFile"',
        'Object class = "TextGrid"',
        "",
        "0",
        "1.5",
        "<exists>",
        str(len(tiers) + 1),
    ]
    lines += ['"TextTier"', '"marks"', "0", "1.5", "1", "0.3", '"say ""hm"" 7"']
    for name, rows in tiers.items():
        lines += ['"IntervalTier"', f'"{name}"', "0", "1.5", str(len(rows))]
        lines += [str(part) if part != row[2] else f'"{part}"' for row in rows for part in row]
    return "\n".join(lines)


@pytest.mark.parametrize("write", [long_grid, short_grid])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_textgrid_long_and_short(tmp_path, write, encoding):
    path = tmp_path / "a.TextGrid"
    path.write_text(write({"anna - words": WORDS, "anna - phones": PHONES}), encoding=encoding)
    timings = read_textgrid(path)
    check(timings)
    assert timings.duration == 1.5


def test_textgrid_without_phones_shares_the_time(tmp_path):
    path = tmp_path / "a.TextGrid"
    path.write_text(long_grid({"words": WORDS}), encoding="utf-8")
    check(read_textgrid(path))
    with pytest.raises(AlignmentError, match="no interval tier 'speech'; there is words"):
        read_textgrid(path, words="speech")


@pytest.mark.parametrize(
    "text", ["", "hello", long_grid({"words": WORDS})[:400], long_grid({"phones": PHONES})]
)
def test_broken_textgrids_are_refused_in_one_line(tmp_path, text):
    path = tmp_path / "a.TextGrid"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AlignmentError, match=r"a\.TextGrid") as error:
        read_textgrid(path)
    assert "\n" not in str(error.value)


def ctm(rows) -> str:
    return ";; a comment\n" + "".join(f"rec1 1 {a} {b - a:.2f} {text} 0.9\n" for a, b, text in rows if text)


def test_ctm_with_and_without_phones(tmp_path):
    words, phones = tmp_path / "words.ctm", tmp_path / "phones.ctm"
    words.write_text(ctm(WORDS), encoding="utf-8")
    phones.write_text(ctm(PHONES), encoding="utf-8")
    check(read_ctm(words)["rec1"])
    check(read_ctm(words, phones)["rec1"])


@pytest.mark.parametrize(
    "line", ["rec1 1 x 0.2 the", "rec1 1 0.2", "rec1 1 nan 0.2 the", "rec1 1 -1 0.2 the"]
)
def test_a_bad_ctm_line_is_named(tmp_path, line):
    path = tmp_path / "a.ctm"
    path.write_text("rec1 1 0 0.1 oh\n" + line, encoding="utf-8")
    with pytest.raises(AlignmentError, match="line 2"):
        read_ctm(path)


def supervision(**other):
    alignment = {
        "word": [[text, 10 + a, b - a, 0.9] for a, b, text in WORDS],
        "phone": [{"symbol": text, "start": 10 + a, "duration": b - a} for a, b, text in PHONES],
    }
    return {"id": "u1", "recording_id": "r", "start": 10.0, "duration": 1.5, "alignment": alignment} | other


@pytest.mark.parametrize("ending", [".jsonl", ".jsonl.gz"])
def test_lhotse_counts_from_the_supervision(tmp_path, ending):
    path = tmp_path / f"supervisions{ending}"
    data = (json.dumps(supervision()) + "\n" + json.dumps(supervision(id="u2", alignment=None))).encode()
    path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
    found = read_lhotse(path)
    assert set(found) == {"u1"}
    check(found["u1"])


@pytest.mark.parametrize(
    "text", ["", "nonsense", "[1]", '{"id": "a"}', json.dumps(supervision(alignment={"word": [[1]]}))]
)
def test_bad_lhotse_lines_are_refused(tmp_path, text):
    path = tmp_path / "a.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(AlignmentError, match=r"a\.jsonl"):
        read_lhotse(path)


def test_a_folder_of_textgrids_by_name_and_a_broken_one_costs_itself(tmp_path):
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "a1.TextGrid").write_text(long_grid({"words": WORDS, "phones": PHONES}))
    (tmp_path / "b1.TextGrid").write_text("nonsense")
    found = read_alignments(tmp_path)
    check(found["a1"])
    assert list(found) == ["a1", "b1"]
    assert str(tmp_path / "b1.TextGrid") in found["b1"]
    check(read_alignments(tmp_path / "anna" / "a1.TextGrid")["a1"])


def test_ctm_and_other_files_by_ending(tmp_path):
    (tmp_path / "words.ctm").write_text("a1 1 0.5 0.2 the\na1 1 0.7 0.4 weather\n")
    assert read_alignments(tmp_path / "words.ctm")["a1"].text == "the weather"
    (tmp_path / "words.txt").write_text("a1")
    (tmp_path / "empty").mkdir()
    for name, message in (
        ("words.txt", "unknown alignment"),
        ("empty", "no TextGrid"),
        ("x", "no such file"),
    ):
        with pytest.raises(AlignmentError, match=message):
            read_alignments(tmp_path / name)


def test_phones_of_other_languages_are_timed_and_can_stutter(tmp_path):
    """German, as the Montreal Forced Aligner writes it: IPA, a long vowel, an affricate."""
    from voxaudit.perturb.stutter.sample import applicable, sample_operation

    words = [(0.0, 0.2, ""), (0.2, 0.6, "schöne"), (0.6, 1.0, "zeit"), (1.0, 1.2, "")]
    phones = [(0.2, 0.3, "ʃ"), (0.3, 0.45, "øː"), (0.45, 0.5, "n"), (0.5, 0.6, "ə")]
    phones += [(0.6, 0.72, "ts"), (0.72, 0.9, "aj"), (0.9, 1.0, "t")]
    (tmp_path / "a.TextGrid").write_text(long_grid({"words": words, "phones": phones}), encoding="utf-8")
    timings = read_textgrid(tmp_path / "a.TextGrid")
    assert [len(word.phones) for word in timings.words] == [4, 3]
    assert timings.words[0].phones[1].start == pytest.approx(0.3)
    assert {"block", "prolongation", "sound_repetition", "word_repetition"} == set(applicable(timings))
    generator = np.random.default_rng(0)
    samples = (0.1 * generator.standard_normal(19_200)).astype(np.float32)
    held = sample_operation("prolongation", timings, generator)
    assert held.target == 0  # the affricate is a stop, and cannot be held
    assert held(samples, 16_000, timings)[1].text == "schöne zeit"
