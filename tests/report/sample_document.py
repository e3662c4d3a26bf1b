"""A rich report, as a real audit of two recognizers would give it; and a hostile one."""

from __future__ import annotations

import io
import math

import numpy as np
import soundfile as sf

from voxaudit.report.document import (
    Bars,
    Case,
    Cell,
    Column,
    Curves,
    Document,
    Figure,
    Finding,
    Forest,
    ForestRow,
    GateResult,
    HeatMap,
    Refusal,
    Section,
    Series,
    Table,
)

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


def _robustness(name: str, clean: float, seed: int) -> tuple[tuple[Figure, ...], list[Finding]]:
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
    table = Table(
        f"rates-{name}",
        f"Word error rate by scenario, {name}",
        (
            Column("perturbation", "Perturbation"),
            Column("family", "Family"),
            Column("severity", "Severity", "count"),
            Column("wer", "WER", "percent"),
            Column("wer_interval", "95 % interval", "interval"),
            Column("werd", "Added", "points"),
        ),
        tuple(
            (row, group, place + 1, cell.value, (cell.low, cell.high), cell.value - clean)
            if cell
            else (row, group, place + 1, None, None, None)
            for row, group in zip(rows, groups, strict=True)
            for place, cell in enumerate(rates[row])
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
        table,
    )
    findings = [
        Finding(
            f"robustness/{name}/{row}:{place + 1}/wer",
            "robustness",
            "measured",
            f"{name} gets {100 * cell.value:.1f} % of the words wrong under {row}:{place + 1}.",
            "wer",
            cell.value,
            cell.low,
            cell.high,
            recognizer=name,
            scenario=f"{row}:{place + 1}",
        )
        for row in ("crosstalk", "gaussian_noise", "rir")
        for place, cell in enumerate(rates[row])
        if cell is not None
    ]
    return (heat,), findings


def _curves() -> Figure:
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
    table = Table(
        "curves",
        "Word error rate by severity",
        (
            Column("perturbation", "Perturbation"),
            Column("recognizer", "Recognizer"),
            Column("wer4", "WER at 4", "percent"),
        ),
        tuple(
            (row, name, getattr(rates[name][row][3], "value", None))
            for row, _, _ in panels
            for name in RECOGNIZERS
        ),
    )
    return Figure(
        "curves",
        "How fast it breaks",
        "Word error rate by severity for 25 perturbations; both recognizers rise, pocketsphinx from a higher start.",
        Curves(panels, "WER"),
        table,
    )


def _groups() -> Section:
    ratios = (
        ("moonshine: female against male", 1.08, 0.86, 1.36, False),
        ("moonshine: accent Scottish against English", 1.62, 1.19, 2.21, True),
        ("moonshine: accent Indian against English", 2.34, 1.71, 3.20, True),
        ("moonshine: accent Northern Irish against English", 1.41, 0.52, 41.0, False),
        ("pocketsphinx: female against male", 0.83, 0.71, 0.97, True),
        ("pocketsphinx: accent Scottish against English", 1.24, 0.98, 1.57, False),
        ("pocketsphinx: accent Indian against English", 1.47, 1.22, 1.78, True),
        ("pocketsphinx: age over 70 against 30 to 50", 1.12, 0.02, 9.1, False),
    )
    forest = Figure(
        "ratios",
        "Error-rate ratios on clean speech",
        "Ratios of error rates with 95 % intervals; moonshine serves Indian and Scottish accents worse.",
        Forest(
            tuple(
                ForestRow(label, Cell(ratio, low, high), shown, "9 speakers" if not shown else "")
                for label, ratio, low, high, shown in ratios
            ),
            "ratio of word error rates (right: worse served)",
        ),
        Table(
            "ratios",
            "Error-rate ratios",
            (
                Column("group", "Group"),
                Column("ratio", "Ratio", "ratio"),
                Column("low", "From", "ratio"),
                Column("high", "To", "ratio"),
                Column("p", "p, adjusted", "p"),
            ),
            tuple(
                (label, ratio, low, high, 0.0004 if shown else 0.31)
                for label, ratio, low, high, shown in ratios
            ),
        ),
    )
    findings = tuple(
        Finding(
            f"disparity/{label}",
            "disparity",
            "shown" if shown else "undecided" if high / low > 20 else "not_shown",
            f"{label.replace(': ', f' makes {ratio:.2f} times as many errors for ')} ({low:.2f} to {high:.2f}).",
            "rate_ratio",
            ratio,
            low,
            high,
            "ratio",
            recognizer=label.split(":")[0],
            attribute="accent" if "accent" in label else "gender",
            headline=shown,
        )
        for label, ratio, low, high, shown in ratios
    )
    return Section(
        "groups",
        "For whom it breaks",
        lead=("Every ratio compares a group with the one named after “against”, on clean speech.",),
        findings=findings,
        figures=(forest,),
        notes=("Adjusted for 8 comparisons (Holm). Texts differ between groups: see the checklist.",),
        refusals=(
            Refusal(
                "Accent Welsh",
                "1 speaker: no interval can be given. Five or more speakers of this group would enable it.",
            ),
            Refusal("Age under 18", "no recordings. Add recordings of this group or drop it from the plan."),
        ),
    )


def _differential() -> Section:
    labels = ("female", "male", "native", "non-native")
    bars = Figure(
        "violations",
        "Violations without reference texts",
        "Share of scenarios with a violation by group; non-native speakers have most, 31 % against 14 % by chance.",
        Bars(
            labels,
            (
                Series("found", (around(0.12), around(0.09), around(0.07), around(0.31))),
                Series("expected by chance", (Cell(0.1), Cell(0.11), Cell(0.12), Cell(0.14))),
            ),
            "share of scenarios with a violation",
        ),
        Table(
            "violations",
            "Violations by group",
            (
                Column("group", "Group"),
                Column("found", "Found", "percent"),
                Column("chance", "By chance", "percent"),
            ),
            tuple(zip(labels, (0.12, 0.09, 0.07, 0.31), (0.1, 0.11, 0.12, 0.14), strict=True)),
        ),
    )
    words = Table(
        "words",
        "Words that fail most",
        (
            Column("word", "Word"),
            Column("said", "Said", "count"),
            Column("wrong", "Wrong", "percent"),
            Column("heard", "Mostly heard as"),
        ),
        tuple((f"word{place}", 40 - place, 0.9 - place / 60, f"ward{place}") for place in range(36)),
    )
    return Section(
        "differential",
        "Fairness without references",
        lead=("How far the recognizers drift apart under disturbance, group by group.",),
        figures=(bars,),
        tables=(words,),
    )


def _stutter() -> Section:
    kinds = ("block", "prolongation", "sound repetition", "word repetition", "interjection")
    faults = ("word injection", "incorrect word", "word repetition", "word omission", "syllable repetition")
    dose = Figure(
        "dose",
        "WER by moments of stuttering",
        "Word error rates rise with the dose, from 11 % without to 38 % at 40 moments per 100 words.",
        Curves(
            (
                (
                    "all kinds mixed",
                    ("0", "5", "10", "20", "40"),
                    (
                        Series("moonshine", tuple(around(value) for value in (0.11, 0.15, 0.19, 0.27, 0.38))),
                        Series(
                            "pocketsphinx", tuple(around(value) for value in (0.34, 0.38, 0.42, 0.51, 0.66))
                        ),
                    ),
                ),
            ),
            "WER",
            "moments per 100 words",
        ),
        Table(
            "dose",
            "WER by dose",
            (Column("dose", "Dose", "number"), Column("wer", "WER", "percent")),
            ((0, 0.11), (40, 0.38)),
        ),
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
        Table(
            "taxonomy",
            "Kinds of fault",
            (Column("kind", "Stutter"), *(Column(fault, fault, "count") for fault in faults)),
            tuple(
                (kind, *(((place * 3 + row * 5) % 17) + 1 for place in range(5)))
                for row, kind in enumerate(kinds)
            ),
        ),
    )
    return Section("stutter", "People who stutter", figures=(dose, taxonomy))


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


def sample_document() -> Document:
    figures: list[Figure] = []
    findings: list[Finding] = []
    for place, (name, clean) in enumerate(zip(RECOGNIZERS, (0.112, 0.341), strict=True)):
        findings.append(
            Finding(
                f"robustness/{name}/clean/wer",
                "robustness",
                "measured",
                f"{name} gets {100 * clean:.1f} % of the words wrong on clean speech.",
                "wer",
                clean,
                clean * 0.86,
                clean * 1.19,
                recognizer=name,
                scenario="clean",
                headline=True,
            )
        )
        drawn, found = _robustness(name, clean, place + 3)
        figures += drawn
        findings += found
    trials = Table(
        "trials",
        "All trials by scenario and speaker",
        (
            Column("recognizer", "Recognizer"),
            Column("scenario", "Scenario"),
            Column("speaker", "Speaker"),
            Column("errors", "Errors", "count"),
            Column("words", "Words", "count"),
            Column("wer", "WER", "percent"),
        ),
        tuple(
            (
                RECOGNIZERS[n % 2],
                f"crosstalk:{n % 4 + 1}",
                f"speaker-{n % 40:02d}",
                n % 13,
                40 + n % 7,
                (n % 13) / (40 + n % 7),
            )
            for n in range(1200)
        ),
    )
    return Document(
        title="Audit of kitchen-commands",
        subtitle="1,840 utterances by 46 speakers, 2 recognizers, 100 scenarios, 368,000 trials",
        summary=(
            "Clean speech: moonshine gets 11.2 % of the words wrong (9.6 to 13.3), pocketsphinx 34.1 % (29.3 to 40.6).",
            "Somebody talking in the background breaks both: at 0 dB moonshine gets 71 % of the words wrong.",
            "Indian-accented speakers meet 2.34 times the errors of English ones with moonshine (1.71 to 3.20): shown.",
            "No conclusion about Welsh accents: one speaker cannot carry an interval.",
        ),
        sections=(
            Section(
                "robustness",
                "Where it breaks",
                ("Each scenario disturbs every recording; the error rate is a ratio of sums.",),
                tuple(findings),
                (*figures, _curves()),
                (trials,),
            ),
            _groups(),
            _differential(),
            _stutter(),
            Section(
                "cases",
                "Worst cases",
                ("Trials with most errors beyond those on clean speech.",),
                cases=cases(),
            ),
            Section(
                "checklist",
                "Before you rely on this",
                tables=(
                    Table(
                        "checks",
                        "Checklist",
                        (
                            Column("check", "Check"),
                            Column("status", "Result"),
                            Column("means", "What it means"),
                        ),
                        (
                            ("speakers per group", "caution", "Welsh has one speaker"),
                            ("same texts in all groups", "caution", "Indian speakers read longer sentences"),
                            ("trials that failed", "pass", "3 of 368,000"),
                        ),
                    ),
                ),
            ),
        ),
        gates=(
            GateResult("clean_wer", True, "moonshine: 11.2 % of at most 15 %.", 0.15, 0.112),
            GateResult("group_ratio", False, "moonshine, accent Indian: 2.34 of at most 1.50.", 1.5, 2.34),
            GateResult(
                "stutter_added_wer",
                False,
                "Not judged: the stutter audit lacks a second recognizer.",
                0.1,
                None,
                True,
            ),
        ),
        facts=(
            ("voxaudit", "0.5.0"),
            ("seed", "0"),
            ("normaliser", "whisper-english"),
            ("made with", "voxaudit run audit.toml"),
        ),
        config={
            "seed": 0,
            "recognizers": {name: {"engine": name} for name in RECOGNIZERS},
            "scenarios": ["srb"] * 20,
        },
    )


EVIL = (
    '"><script>alert(1)</script><img src=x onerror=alert(2)><style>*{display:none}</style></style>'
    "'\u202egnirts\u202c \u2069\u2066 \x00\x07\x1b \u2028\u2029 ../../etc/passwd "
    "javascript:alert(3) ]]> --> {{7*7}} ${7} \ud800 =1+1" + "A" * 10_000
)


def hostile_document(evil: str = EVIL) -> Document:
    """A document that has `evil` wherever a text can be, and numbers that cannot be drawn."""
    odd = Cell(math.nan, -math.inf, math.inf)
    huge = Cell(1e300, 0.0, math.inf)
    table = Table(
        evil,
        evil,
        (Column(evil, evil), Column(evil, evil, "percent"), Column(evil, evil, "interval")),
        ((evil, math.nan, (math.nan, math.inf)), (evil, evil, evil), (None, math.inf, None), ("short",)),
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
    section = Section(
        evil,
        evil,
        (evil,),
        tuple(
            Finding(
                evil,
                evil,
                "shown",
                evil,
                "wer",
                math.nan,
                0.0,
                math.inf,
                evil,
                recognizer=evil,
                scenario=evil,
                attribute=evil,
            )
            for _ in range(12)
        ),
        tuple(Figure(evil, evil, evil, drawing, table) for drawing in drawings),
        (table,),
        (case, case),
        (evil,),
        (Refusal(evil, evil),),
    )
    return Document(
        evil,
        evil,
        (evil,),
        (section, section),
        (GateResult(evil, False, evil),),
        ((evil, evil),),
        {evil: [evil, math.nan]},
    )
