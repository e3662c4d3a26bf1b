"""A rich report, as a real audit of two recognizers would give it; and a hostile one."""

from __future__ import annotations

import io
import math
from dataclasses import replace

import numpy as np
import polars as pl
import soundfile as sf

from voxaudit.answer import (
    Answer,
    Bars,
    Cell,
    Column,
    Curves,
    Figure,
    Finding,
    Forest,
    ForestRow,
    HeatMap,
    Note,
    Points,
    Refusal,
    Series,
    Table,
    Tables,
    finding_id,
    tabulate,
)
from voxaudit.render.document import Case, Chapter, GateResult, Question, Report

RECOGNIZERS = ("moonshine", "pocketsphinx")
FAMILIES = {
    "Noise": (
        "gaussian_noise",
        "environment_ms_snsd",
        "environment_esc50",
        "environment_wham",
        "music",
        "crosstalk",
    ),
    "Room": ("rir", "real_rir", "echo"),
    "Effects": ("bass", "treble", "chorus", "phaser", "tremolo", "overdrive"),
    "Filter and telephone": ("lowpass", "highpass", "telephone", "resampling"),
    "Tempo and pitch": ("tempo_up", "tempo_down", "pitch_up", "pitch_down"),
    "Level and loss": ("gain", "packet_loss"),
}
SEVERITIES = ("1", "2", "3", "4")


def ogg(seconds: float = 0.4, hertz: float = 440.0) -> bytes:
    """A short tone as an Ogg Vorbis file."""
    time = np.arange(int(16000 * seconds)) / 16000
    file = io.BytesIO()
    sf.write(file, 0.2 * np.sin(2 * math.pi * hertz * time), 16000, format="OGG", subtype="VORBIS")
    return file.getvalue()


def around(value: float, spread: float = 0.2) -> Cell:
    return Cell(value, value * (1 - spread), value * (1 + spread))


def _rates(seed: int, clean: float) -> dict[str, list[Cell | None]]:
    draw = np.random.default_rng(seed)
    rates: dict[str, list[Cell | None]] = {}
    for names in FAMILIES.values():
        for name in names:
            steep = draw.uniform(0.05, 2.4)
            rates[name] = [
                around(clean + (1.08 - clean) * (1 - math.exp(-steep * (step / 4) ** 2)), 0.16)
                for step in range(1, 5)
            ]
    rates["telephone"][3] = None
    return rates


def _robustness(name: str, clean: float, seed: int) -> tuple[Figure, Table, list[Finding]]:
    rates = _rates(seed, clean)
    rows = tuple(rates)
    groups = tuple(family for family, names in FAMILIES.items() for _ in names)

    def less(cells: list[Cell | None], scale: float) -> tuple[Cell | None, ...]:
        return tuple(
            None
            if cell is None
            else Cell(
                (cell.value - clean * 1.06) * scale, (cell.low - clean) * scale, (cell.high - clean) * scale
            )
            for cell in cells
        )

    cells = {
        "wer": tuple(tuple(rates[row]) for row in rows),
        "werd": tuple(less(rates[row], 1.0) for row in rows),
        "nwerd": tuple(less(rates[row], 0.6) for row in rows),
    }
    table = tabulate(
        f"rates-{name}",
        f"Word error rate by scenario, {name}",
        [
            {
                "perturbation": row,
                "family": group,
                "severity": place + 1,
                "wer": cell and cell.value,
                "low": cell and cell.low,
                "high": cell and cell.high,
                "werd": cell and cell.value - clean,
            }
            for row, group in zip(rows, groups, strict=True)
            for place, cell in enumerate(rates[row])
        ],
        (
            ("perturbation", "Perturbation"),
            ("family", "Family"),
            ("severity", "Severity", "count"),
            ("wer", "WER", "percent", "low", "high"),
            ("werd", "Added", "points"),
        ),
    )
    heat = Figure(
        f"heat-{name}",
        f"{name}: where it breaks",
        f"Word error rates of {name} for 25 perturbations at 4 severities; noise and rooms hurt most.",
        HeatMap(
            rows,
            groups,
            SEVERITIES,
            {"wer": "WER", "werd": "Added WER", "nwerd": "Added, by difficulty"},
            cells,
        ),
        table.id,
    )
    findings = [
        Finding(
            finding_id("robustness", name, f"{row}:{place + 1}", "wer"),
            "wer",
            "measured",
            f"{name} gets {100 * cell.value:.1f} % of the words wrong under {row}:{place + 1}.",
            cell.value,
            cell.low,
            cell.high,
            recognizer=name,
            scenario=f"{row}:{place + 1}",
            command=f"voxaudit robustness RUN --recognizer {name}",
        )
        for row in ("crosstalk", "gaussian_noise", "rir")
        for place, cell in enumerate(rates[row])
        if cell is not None
    ]
    return heat, table, findings


def _curves() -> tuple[Figure, Table]:
    rates = {
        name: _rates(seed, clean) for name, clean, seed in (("moonshine", 0.11, 3), ("pocketsphinx", 0.34, 4))
    }
    panels = tuple(
        (
            row,
            SEVERITIES,
            tuple(Series(name, tuple(rates[name][row])) for name in RECOGNIZERS),
        )
        for names in FAMILIES.values()
        for row in names
    )
    table = tabulate(
        "curves",
        "Word error rate by severity",
        [
            {"perturbation": row, "recognizer": name, "wer4": getattr(rates[name][row][3], "value", None)}
            for row, _, _ in panels
            for name in RECOGNIZERS
        ],
        (("perturbation", "Perturbation"), ("recognizer", "Recognizer"), ("wer4", "WER at 4", "percent")),
    )
    figure = Figure(
        "curves",
        "How fast it breaks",
        "Word error rate by severity for 25 perturbations; both recognizers rise, pocketsphinx from a higher start.",
        Curves(panels, "WER"),
        table.id,
    )
    return figure, table


def _groups() -> Chapter:
    ratios = (
        ("moonshine: female against male", 1.08, 0.86, 1.36, "alike"),
        ("moonshine: accent Scottish against English", 1.62, 1.19, 2.21, "shown"),
        ("moonshine: accent Indian against English", 2.34, 1.71, 3.20, "shown"),
        ("moonshine: accent Northern Irish against English", 1.41, 0.52, 41.0, "not_shown"),
        ("pocketsphinx: female against male", 0.83, 0.71, 0.97, "shown"),
        ("pocketsphinx: accent Scottish against English", 1.24, 0.98, 1.57, "not_shown"),
        ("pocketsphinx: accent Indian against English", 1.47, 1.22, 1.78, "shown"),
        ("pocketsphinx: age over 70 against 30 to 50", 1.12, 0.02, 9.1, "not_shown"),
    )
    forest = Figure(
        "ratios",
        "Error-rate ratios on clean speech",
        "Ratios of error rates with 95 % intervals; moonshine serves Indian and Scottish accents worse.",
        Forest(
            tuple(
                ForestRow(
                    label,
                    Cell(ratio, low, high),
                    verdict == "shown",
                    "" if verdict == "shown" else "9 speakers",
                )
                for label, ratio, low, high, verdict in ratios
            ),
            "ratio of word error rates (right: worse served)",
        ),
        "ratios",
    )
    table = tabulate(
        "ratios",
        "Error-rate ratios",
        [
            {
                "group": label,
                "estimate": ratio,
                "low": low,
                "high": high,
                "p_adjusted": 0.0004 if verdict == "shown" else 0.31,
                "verdict": verdict,
                "speakers": 9,
            }
            for label, ratio, low, high, verdict in ratios
        ],
        (
            ("group", "Group"),
            ("estimate", "Ratio", "ratio", "low", "high"),
            ("p_adjusted", "p, adjusted", "p"),
            ("verdict", "Verdict"),
        ),
    )
    findings = tuple(
        Finding(
            finding_id("disparity", label, "wer_ratio"),
            "wer_ratio",
            verdict,
            f"{label.replace(': ', f' makes {ratio:.2f} times as many errors for ')} ({low:.2f} to {high:.2f}).",
            ratio,
            low,
            high,
            unit="ratio",
            recognizer=label.split(":")[0],
            attribute="accent" if "accent" in label else "gender",
            headline=verdict == "shown",
            command=f"voxaudit disparity RUN --recognizer {label.split(':')[0]}",
        )
        for label, ratio, low, high, verdict in ratios
    )
    answer = Answer(
        "disparity",
        "Error rates of groups",
        {"scenario": "clean"},
        findings,
        Tables([table]),
        (forest,),
        (
            Note(
                "family",
                "Adjusted for 8 comparisons (Holm). Texts differ between groups: see the checklist.",
                {"comparisons": 8},
            ),
        ),
        (
            Refusal(
                "too_few_speakers",
                "Accent Welsh",
                "1 speaker: no interval can be given",
                {"speakers": 1, "needed": 5},
                see=("attribute",),
            ),
        ),
        "Every ratio compares a group with the one named after “against”, on clean speech.",
    )
    refusal = Refusal(
        "one_group", "Age under 18", "no recordings", remedy="record this group or drop it from the plan"
    )
    return Chapter("groups", "For whom it breaks", (answer,), refusals=(refusal,))


def _differential() -> Chapter:
    labels = ("female", "male", "native", "non-native")
    found, chance = (0.12, 0.09, 0.07, 0.31), (0.1, 0.11, 0.12, 0.14)
    bars = Figure(
        "violations",
        "Violations without reference texts",
        "Share of scenarios with a violation by group; non-native speakers have most, 31 % against 14 % by chance.",
        Bars(
            labels,
            (
                Series("found", tuple(map(around, found))),
                Series("expected by chance", tuple(map(Cell, chance))),
            ),
            "share of scenarios with a violation",
        ),
        "violations",
    )
    table = tabulate(
        "violations",
        "Violations by group",
        [
            {"group": group, "found": a, "chance": b}
            for group, a, b in zip(labels, found, chance, strict=True)
        ],
        (("group", "Group"), ("found", "Found", "percent"), ("chance", "By chance", "percent")),
    )
    words = tabulate(
        "words",
        "Words that fail most",
        [{"word": f"word{n}", "said": 40 - n, "wrong": 0.9 - n / 60, "heard": f"ward{n}"} for n in range(36)],
        (
            ("word", "Word"),
            ("said", "Said", "count"),
            ("wrong", "Wrong", "percent"),
            ("heard", "Mostly heard as"),
        ),
    )
    answer = Answer("differential", "Drift by group", tables=Tables([table, words]), figures=(bars,))
    lead = ("How far the recognizers drift apart under disturbance, group by group.",)
    return Chapter("differential", "Fairness without references", (answer,), lead)


def _stutter() -> Chapter:
    kinds = ("block", "prolongation", "sound repetition", "word repetition", "interjection")
    faults = ("word injection", "incorrect word", "word repetition", "word omission", "syllable repetition")
    doses = (0, 5, 10, 20, 40)
    rates = {
        "moonshine": (0.11, 0.15, 0.19, 0.27, 0.38),
        "pocketsphinx": (0.34, 0.38, 0.42, 0.51, 0.66),
    }
    dose = Figure(
        "dose",
        "WER by moments of stuttering",
        "Word error rates rise with the dose, from 11 % without to 38 % at 40 moments per 100 words.",
        Curves(
            (
                (
                    "all kinds mixed",
                    tuple(map(str, doses)),
                    tuple(Series(name, tuple(map(around, values))) for name, values in rates.items()),
                ),
            ),
            "WER",
            "moments per 100 words",
        ),
        "dose",
    )
    taxonomy = Figure(
        "taxonomy",
        "Kinds of fault",
        "Faults by kind of stuttering; word repetitions end mostly as injected words.",
        Bars(
            kinds,
            tuple(
                Series(fault, tuple(Cell(((place * 3 + kind * 5) % 17) + 1.0) for kind in range(len(kinds))))
                for place, fault in enumerate(faults)
            ),
            "suspicious cases",
            "count",
        ),
        "taxonomy",
    )
    spread = np.random.default_rng(5)
    loss = {"people": spread.normal(0.3, 0.1, 40), "made": spread.normal(0.25, 0.12, 40)}
    scatter = Figure(
        "scatter",
        "Errors beside moments, recording by recording",
        "Recordings with more moments have more errors, whether people or the search made them.",
        Points(
            tuple(float(2 * n % 41) for n in range(80)),
            tuple(float(one) + (2 * n % 41) / 100 for n, one in enumerate(np.concatenate([*loss.values()]))),
            tuple(name for name in loss for _ in range(40)),
            "moments per 100 words",
            "errors per word",
            ((0.0, 0.25), (40.0, 0.65)),
        ),
        "dose",
    )
    tables = [
        tabulate(
            "dose",
            "WER by dose",
            [{"dose": n, "wer": one} for n, one in zip(doses, rates["moonshine"], strict=True)],
            (("dose", "Dose", "number"), ("wer", "WER", "percent")),
        ),
        tabulate(
            "taxonomy",
            "Kinds of fault",
            [
                {
                    "kind": kind,
                    **{fault: ((place * 3 + row * 5) % 17) + 1 for place, fault in enumerate(faults)},
                }
                for row, kind in enumerate(kinds)
            ],
            (("kind", "Stutter"), *((fault, fault, "count") for fault in faults)),
        ),
    ]
    answer = Answer("stutter", "Stuttered speech", tables=Tables(tables), figures=(dose, taxonomy, scatter))
    return Chapter("stutter", "People who stutter", (answer,))


def cases(count: int = 4) -> tuple[Case, ...]:
    reference = "turn the kitchen lights on and play the news"
    diff = (
        ("=", "turn", "turn"),
        ("=", "the", "the"),
        ("substitution", "kitchen", "chicken"),
        ("=", "lights", "lights"),
        ("deletion", "on", ""),
        ("=", "and", "and"),
        ("insertion", "", "please"),
        ("=", "play", "play"),
        ("=", "the", "the"),
        ("substitution", "news", "noose"),
    )
    return tuple(
        Case(
            f"speaker-{place:02d}/utterance-{place:04d}",
            RECOGNIZERS[place % 2],
            ("crosstalk:4", "rir:3", "gaussian_noise:4", "tempo_up:4")[place % 4],
            f"speaker-{place:02d}",
            {"accent": "Scottish", "gender": "female", "age": "41"},
            reference,
            reference,
            "turn the chicken lights and please play the noose",
            diff,
            4 / 9,
            None if place == 3 else ogg(hertz=330.0 + 40 * place),
            None if place == 3 else ogg(hertz=440.0 + 40 * place),
        )
        for place in range(count)
    )


def sample_report() -> Report:
    figures: list[Figure] = []
    tables: list[Table] = []
    findings: list[Finding] = []
    for place, (name, clean) in enumerate(zip(RECOGNIZERS, (0.112, 0.341), strict=True)):
        findings.append(
            Finding(
                finding_id("robustness", name, "clean", "wer"),
                "wer",
                "measured",
                f"{name} gets {100 * clean:.1f} % of the words wrong on clean speech.",
                clean,
                clean * 0.86,
                clean * 1.19,
                recognizer=name,
                scenario="clean",
                headline=True,
                command="voxaudit robustness RUN",
            )
        )
        heat, table, measured = _robustness(name, clean, place + 3)
        figures.append(heat)
        tables.append(table)
        findings += measured
    curves, table = _curves()
    figures.append(curves)
    tables.append(table)
    tables.append(
        tabulate(
            "trials",
            "All trials by scenario and speaker",
            [
                {
                    "recognizer": RECOGNIZERS[n % 2],
                    "scenario": f"crosstalk:{n % 4 + 1}",
                    "speaker": f"speaker-{n % 40:02d}",
                    "errors": n % 13,
                    "words": 40 + n % 7,
                    "wer": (n % 13) / (40 + n % 7),
                }
                for n in range(900)
            ],
            (
                ("recognizer", "Recognizer"),
                ("scenario", "Scenario"),
                ("speaker", "Speaker"),
                ("errors", "Errors", "count"),
                ("words", "Words", "count"),
                ("wer", "WER", "percent"),
            ),
            folded=True,
        )
    )
    robustness = Answer(
        "robustness",
        "What disturbances cost",
        {"suite": "srb"},
        tuple(findings),
        Tables(tables),
        tuple(figures),
        lead="Each scenario disturbs every recording; the error rate is a ratio of sums.",
    )
    groups = _groups()
    indian = next(one for one in groups.findings if "Indian" in one.id and one.recognizer == "moonshine")
    checks = tabulate(
        "checks",
        "Checklist",
        [
            {"check": "speakers per group", "status": "caution", "means": "Welsh has one speaker"},
            {
                "check": "same texts in all groups",
                "status": "caution",
                "means": "Indian speakers read longer sentences",
            },
            {"check": "trials that failed", "status": "pass", "means": "3 of 368,000"},
        ],
        (("check", "Check"), ("status", "Result"), ("means", "What it means")),
    )
    return Report(
        title="Audit of kitchen-commands",
        subtitle="1,840 utterances by 46 speakers, 2 recognizers, 100 scenarios, 368,000 trials",
        summary=(
            Question(
                "Where does it break?",
                (
                    findings[0],
                    "Somebody talking in the background breaks both: at 0 dB moonshine gets 71 % of the words wrong.",
                ),
                ("robustness",),
                first=1,
            ),
            Question("For whom?", (indian,), ("disparity", "nothing of this name")),
            Question(
                "What these data cannot tell",
                ("No conclusion about Welsh accents: one speaker cannot carry an interval.",),
            ),
        ),
        chapters=(
            Chapter("robustness", "Where it breaks", (robustness,)),
            groups,
            _differential(),
            _stutter(),
            Chapter(
                "cases",
                "Worst cases",
                lead=("Trials with most errors beyond those on clean speech.",),
                cases=cases(),
            ),
            Chapter("checklist", "Before you rely on this", tables=(checks,)),
        ),
        gates=(
            GateResult("clean_wer", True, "moonshine: 11.2 % of at most 15 %.", 0.15, 0.112, findings[0].id),
            GateResult(
                "group_ratio", False, "moonshine, accent Indian: 2.34 of at most 1.50.", 1.5, 2.34, indian.id
            ),
            GateResult(
                "stutter_added_wer",
                None,
                "The stutter audit lacks a second recognizer.",
                0.1,
                judged=False,
            ),
        ),
        facts=(
            ("voxaudit", "0.5.0"),
            ("seed", "0"),
            ("normalizer", "whisper-english"),
            ("made with", "voxaudit run audit.toml"),
        ),
        config={
            "seed": 0,
            "recognizers": {name: {"engine": name} for name in RECOGNIZERS},
            "scenarios": ["srb"] * 20,
        },
        scenarios={
            "crosstalk:4": "Somebody else talks, as loud as the speaker.",
            "rir:3": "A hall with a long reverberation.",
        },
    )


EVIL = (
    '"><script>alert(1)</script><img src=x onerror=alert(2)><style>*{display:none}</style></style>'
    "'\u202egnirts\u202c \u2069\u2066 \x00\x07\x1b \u2028\u2029 ../../etc/passwd "
    "javascript:alert(3) ]]> --> {{7*7}} ${7} \ud800 =1+1" + "A" * 10_000
)


def hostile_report(evil: str = EVIL) -> Report:
    """A report that has `evil` wherever a text can be, and numbers that cannot be drawn."""
    odd = Cell(math.nan, -math.inf, math.inf)
    huge = Cell(1e300, 0.0, math.inf)
    kept = evil.replace("\ud800", "")  # frames hold valid Unicode only
    frame = pl.DataFrame(
        {
            kept: [kept, kept, None, "short"],
            f"{kept}2": [math.nan, -math.inf, math.inf, 1e300],
            "low": [math.nan, 0.0, None, math.nan],
            "high": [math.inf, None, math.inf, math.nan],
            "verdict": ["shown", kept, None, "no_verdict"],
            "list": [[kept], [], None, [kept, None]],
        }
    )
    table = Table(
        evil,
        evil,
        frame,
        (
            Column(kept, evil),
            Column(f"{kept}2", evil, "percent", "low", "high"),
            Column(f"{kept}2", evil, "ratio"),
            Column("verdict"),
            Column("list"),
        ),
        evil,
    )
    drawings = (
        HeatMap(
            (evil, "b"),
            (evil, evil),
            (evil, "c"),
            {evil: evil, "m": "m"},
            {evil: ((odd, huge), (None, Cell(-0.2)))},
        ),
        HeatMap((), (), (), {}, {}),
        Curves(
            ((evil, (evil, "2"), (Series(evil, (odd, huge)), Series("b", (Cell(0.1), None, Cell(0.2))))),),
            evil,
            evil,
        ),
        Curves((), ""),
        Forest(
            (
                ForestRow(evil, odd, True, evil),
                ForestRow("b", huge, False),
                ForestRow("c", Cell(None), False),
            ),
            evil,
        ),
        Forest((ForestRow(evil, Cell(-5.0, -9.0, 0.0), True),), evil, no_difference=0.0, log=False),
        Forest((), evil),
        Bars((evil, "b"), (Series(evil, (odd, huge)), Series("b", (Cell(-0.5), None))), evil),
        Bars((), (), evil),
        Points(
            (math.nan, 1.0, 1e300, -2.0), (1.0, 2.0), (evil, evil), evil, evil, ((0.0, math.nan), (1.0, 1.0))
        ),
        Points((), (), (), evil, evil),
    )
    case = Case(
        evil,
        evil,
        evil,
        evil,
        {evil: evil},
        evil,
        evil,
        evil,
        (("substitution", evil, evil), (evil, evil, evil), ("deletion", evil, "")),
        math.nan,
        b"no audio",
        None,
        evil,
    )
    answer = Answer(
        evil,
        evil,
        {evil: evil},
        tuple(
            Finding(
                f"{evil}{n}",
                "wer",
                "shown",
                evil,
                math.nan,
                0.0,
                math.inf,
                unit=evil,
                recognizer=evil,
                scenario=evil,
                attribute=evil,
                command=evil,
            )
            for n in range(12)
        ),
        Tables([table, replace(table, id="second", folded=True)]),
        tuple(Figure(evil, evil, evil, drawing, evil) for drawing in drawings),
        (Note(evil, evil, {evil: evil}, (evil,)),),
        (Refusal(evil, evil, evil, {evil: evil}, evil, (evil,)),),
        evil,
    )
    chapter = Chapter(
        evil,
        evil,
        (answer, answer),
        (evil,),
        (case, case),
        (table,),
        (Note(evil, evil),),
        (Refusal(evil, evil, evil, remedy=evil),),
    )
    return Report(
        evil,
        evil,
        (Question(evil, (evil, answer.findings[0]), (evil,), first=1),),
        (chapter, chapter),
        (GateResult(evil, False, evil, finding=evil),),
        ((evil, evil),),
        {evil: [evil, math.nan]},
        {evil: evil},
    )
