"""What people must hand in, from the findings of a report: a model-card section, a statement, a methods paragraph."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from voxaudit.answer import Finding
from voxaudit.perturb import CLEAN
from voxaudit.render.document import Chapter, Report
from voxaudit.render.markdown import claim, escape, model_index, table_lines
from voxaudit.wording import counted, listed

MOST = 20
"""Sentences of a list; findings.json has them all."""

FAIRNESS = ("disparity", "parity", "differential")
"""Audits that ask whom a recognizer serves worse."""

SHOWN = (*FAIRNESS, "stutter")
"""Audits of which a statement says everything that is shown, headline or not."""

PEOPLE = {
    "gender": {"gender", "sex"},
    "age": {"age"},
    "accent or dialect": {"accent", "accents", "dialect", "region", "variety"},
    "first language": {"native", "language", "l1"},
    "ethnicity": {"ethnicity", "ethnic", "race"},
    "disability or impaired speech": {"disability", "impairment", "dysarthria", "disorder", "etiology"},
}
"""What people ask about first, and the words in the name of an attribute that answers it."""

WORKS = {
    "srb": "Shah, M. A., Solans, D., Heikkilä, M. A., Raj, B., Kourtellis, N. (2025). Speech Robust Bench: A"
    " Robustness Benchmark for Speech Recognition. ICLR.",
    "liu": "Liu, Z., Veliche, I.-E., Peng, F. (2022). Model-Based Approach for Measuring the Fairness in ASR. ICASSP.",
    "herron": "Herron, F., Richard, A., Portet, F., Allauzen, A., Rossato, S. Responsible Benchmarking of Fairness for"
    " Automatic Speech Recognition.",
    "aequevox": "Rajan, S. S., Udeshi, S., Chattopadhyay, S. (2022). AequeVox: Automated Fairness Testing of Speech"
    " Recognition Systems. FASE.",
    "aster": "Liu, Y., Li, Y., Deng, G., Juefei-Xu, F., Du, Y., Zhang, C., Liu, C., Li, Y., Ma, L., Liu, Y. (2023)."
    " ASTER: Automatic Speech Recognition System Accessibility Testing for Stutterers. ASE.",
}
"""The works that audits follow."""

METHODS = {
    "versus": "Recognizers were compared on the same utterances, pair by pair.",
    "robustness": "Disturbed speech is reported as the word error rate it adds to that of clean speech, also normalized"
    " by the difficulty of each scenario [@srb]",
    "disparity": "Gaps between groups on clean speech are ratios of their word error rates.",
    "disparity typical_speaker_ratio": "The ratio for a typical speaker is given as well, from a mixed-effects"
    " Poisson regression [@liu]",
    "parity": "Speaker-level, conditional and intersectional comparisons of groups follow Herron et al. [@herron]",
    "differential": "Groups under disturbance were also compared without reference texts, by how far recognizers move"
    " apart [@aequevox]",
    "localize": "Words that get lost were found from the recognizers' own transcripts [@aequevox]",
    "stutter": "Stuttered speech was made from the recordings and compared with the same speech without stuttering"
    " [@aster]",
    "attack": "Recognizers were attacked within a bound on the signal-to-noise ratio [@srb]",
}
"""By audit (and measure, where it is about one): a sentence of a methods paragraph, and the key of what it cites."""


def statements(report: Report) -> dict[str, str]:
    """Return all documents by file name: a model card per recognizer, `statement.md` and `methods.md`."""
    recognizers = _recognizers(report)
    cards = {
        name: f"model-card-{slug}.md" for name, slug in zip(recognizers, _slugs(recognizers), strict=True)
    }
    return {
        **{file: model_card(report, name) for name, file in cards.items()},
        "statement.md": statement(report),
        "methods.md": methods(report),
    }


def model_card(report: Report, recognizer: str) -> str:
    """Return the evaluation section of one recognizer's model card, with Hugging Face's `model-index` on top."""
    own = [one for one in report.findings if one.headline and one.recognizer == recognizer]
    found = [one for one in own if one.verdict != "refused"]
    lines = [
        *model_index(report, recognizer),
        "## Robustness, fairness and accessibility",
        "",
        f"{_sentence(_tested(report, [recognizer]))} {_sentence(_on_whom(report))} Intervals are 95 %, over speakers.",
        "",
        *_list(found, report),
        *_rates(report, recognizer),
        "### What this does not show",
        "",
        *_bullets(_not_tested(report, [one for one in own if one.verdict == "refused"])),
    ]
    return "\n".join(lines) + "\n"


def statement(report: Report) -> str:
    """Return an accessibility and fairness statement: what was tested, on whom, what was found, what was not tested."""
    found = [one for one in report.findings if one.verdict != "refused"]
    told = [one for one in found if one.headline or (one.verdict == "shown" and one.audit in SHOWN)]
    access = [one for one in told if one.audit == "stutter"]
    gaps = [one for one in told if one not in access and (one.audit in FAIRNESS or one.attribute)]
    rest = [one for one in told if one not in access and one not in gaps]
    heard = escape(str(report.config.get("created", ""))[:10])
    lines = [
        f"# Accessibility and fairness statement: {escape(', '.join(_recognizers(report)))}",
        "",
        "## What was tested",
        "",
        f"{_sentence(_tested(report, _recognizers(report)))} {heard and f'It was heard on {heard}.'}",
        "",
        "## On whom",
        "",
        _sentence(_on_whom(report)),
        "",
        *_bullets(_groups(report)),
        "## What was found",
        "",
        *_part("Whom it serves worse", gaps, report),
        *_part("People who stutter", access, report),
        *_part("All speakers, clean and disturbed", rest, report),
        *_judged(report),
        "## What was not tested",
        "",
        *_bullets(
            _not_tested(report, [one for one in report.findings if one.verdict == "refused" and one.headline])
        ),
        "## Contact",
        "",
        "Add here how people whom this serves badly can reach you.",
    ]
    return "\n".join(lines) + "\n"


def methods(report: Report) -> str:
    """Return a paragraph for the methods section of a paper, with the works that it cites."""
    config = report.config
    cited: list[str] = []
    sentences = [
        f"{_tested(report, _recognizers(report))} {_on_whom(report)}",
        f"The audio of every scenario follows from the seed {config.get('seed', 0)} and can be made again.",
        f"Transcripts were normalized (`{config.get('normalizer', 'basic')}`) and scored by word error rate, the ratio"
        " of summed errors to summed reference words.",
    ]
    if sizes := _sizes(report):
        sentences.append(f"Groups were compared by {listed(sizes)}.")
    for about, said in METHODS.items():
        audit, _, measure = about.partition(" ")
        own = [one for one in report.findings if one.audit == audit and one.verdict != "refused"]
        if any(one.measure == (measure or one.measure) for one in own):
            said, _, work = said.removesuffix("]").partition(" [@")
            cited += [work] if work and work not in cited else []
            sentences.append(f"{said} ({cited.index(work) + 1})." if work else said)
    sentences.append(
        "Intervals are at 95 %; intervals and tests treat speakers, not utterances, as the sample."
    )
    if any(one.family and one.p_adjusted is not None for one in report.findings):
        sentences.append("P-values are adjusted within each family of questions that were asked together.")
    tool = f"voxaudit {report.config.get('voxaudit', '')}".strip()
    works = [
        *(WORKS[work] for work in cited),
        f"{tool}. Robustness, fairness and accessibility audits of speech recognizers.",
    ]
    return (
        "\n".join(
            [
                "## Methods",
                "",
                " ".join(_sentence(one) for one in sentences),
                "",
                "## References",
                "",
                *(f"{number}. {work}" for number, work in enumerate(works, start=1)),
            ]
        )
        + "\n"
    )


def _recognizers(report: Report) -> list[str]:
    return [str(name) for name in report.config.get("recognizers", {})]


def _slugs(names: Iterable[str]) -> list[str]:
    """Return names as parts of file names; those that come out alike get a number."""
    slugs: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name).strip("._-")[:60] or "recognizer"
        slug, number = plain, 1
        while slug.lower() in {one.lower() for one in slugs}:
            number += 1
            slug = f"{plain}-{number}"
        slugs.append(slug)
    return slugs


def _tested(report: Report, recognizers: list[str]) -> str:
    """Return what was tested and how, in two sentences."""
    known = [f"{name}{_version(report, name)}" for name in recognizers]
    scenarios = [str(one) for one in report.config.get("scenarios", ()) if one != CLEAN]
    tool = f"voxaudit {report.config.get('voxaudit', '')}".strip()
    heard = (
        f"Each recording was heard as it is and in {counted(len(scenarios), 'further scenario')}:"
        f" {listed(scenarios, 12)}."
        if scenarios
        else "Each recording was heard as it is."
    )
    return f"{listed(known, 12)} {'was' if len(known) == 1 else 'were'} audited with {tool}. {heard}"


_FIRST = r"\1..."
"""Of a digest, the beginning tells models apart; run.json has all of it."""


def _version(report: Report, name: str) -> str:
    """Return what is known of a recognizer: engine, version and model, in brackets."""
    about = report.config.get("recognizers", {}).get(name, {})
    known = about.get("fingerprint", {}) if isinstance(about, dict) else {}
    parts = [
        f"{key} {re.sub(r'^([0-9a-f]{12})[0-9a-f]{20,}$', _FIRST, str(known[key]))}"
        for key in ("engine", "version", "model")
        if known.get(key) and known[key] != name
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _on_whom(report: Report) -> str:
    corpus = report.config.get("corpus", {})
    said = (
        f"The recordings are {counted(int(corpus.get('utterances', 0) or 0), 'utterance')} by"
        f" {counted(int(corpus.get('speakers', 0) or 0), 'speaker')} of the corpus {corpus.get('name', '')}."
    )
    # The subtitle carries the warning that voices are synthetic, behind the counts.
    warning = report.subtitle.partition(". ")[2]
    return f"{said} {warning}".strip()


def _sizes(report: Report) -> dict[str, dict[str, int]]:
    """Return the speakers of every group that was compared, by attribute."""
    sizes: dict[str, dict[str, int]] = {}
    for one in report.findings:
        if one.attribute is None or one.verdict == "refused":
            continue
        for group, speakers in ((one.group, one.speakers), (one.against, one.speakers_against)):
            if group is not None and speakers:
                own = sizes.setdefault(one.attribute, {})
                own[group] = max(own.get(group, 0), speakers)
    return sizes


def _groups(report: Report) -> list[str]:
    return [
        f"{attribute}: "
        + listed((f"{group} ({counted(count, 'speaker')})" for group, count in groups.items()), 12)
        for attribute, groups in _sizes(report).items()
    ]


def _list(found: list[Finding], report: Report) -> list[str]:
    """Return findings as a list, what is shown first, with what reviewers said of them."""
    unique: dict[str, Finding] = {}
    for one in found:
        unique.setdefault(one.id, one)
    ordered = sorted(unique.values(), key=lambda one: one.verdict != "shown")
    lines = [line for one in ordered[:MOST] for line in claim(one, report)]
    if ordered[MOST:]:
        lines.append(f"- {len(ordered) - MOST:,} more are in findings.json.")
    return [*lines, ""] if lines else []


def _part(title: str, found: list[Finding], report: Report) -> list[str]:
    lines = _list(found, report) or ["Nothing was found that can be said here: see what was not tested.", ""]
    return [f"### {title}", "", *lines]


def _judged(report: Report) -> list[str]:
    if not report.gates:
        return []
    said = [f"{one.outcome}: {one.sentence}" for one in report.gates]
    return ["### Limits that were set beforehand", "", *_bullets(said)]


def _rates(report: Report, recognizer: str) -> list[str]:
    """Return the word error rates of one recognizer by scenario."""
    for chapter in report.chapters:
        for answer in chapter.answers:
            for table in answer.tables.shown if answer.audit == "accuracy" else ():
                if {"recognizer", "scenario", "wer"} <= set(table.frame.columns):
                    own = table.frame.filter(table.frame["recognizer"].cast(str) == recognizer)
                    if own.height:
                        return [f"### {escape(table.title)}", "", *table_lines(replace(table, frame=own)), ""]
    return []


def _not_tested(report: Report, refused: list[Finding]) -> list[str]:
    """Return what nobody may conclude: people nobody asked about, audits that refused, claims that are open."""
    compared = {word for name in _sizes(report) for word in re.split(r"[^a-z0-9]+", name.lower())}
    missing = [what for what, words in PEOPLE.items() if not words & compared]
    said = [f"Differences by {what} were not tested." for what in missing]
    if not any(one.audit == "stutter" and one.verdict != "refused" for one in report.findings):
        said.append("Stuttered speech was not tested.")
    else:
        said.append(
            "Stuttered speech was made from recordings of fluent speech; people who stutter were not recorded."
        )
    said += [one.sentence for one in refused]
    said += [_refused(one, chapter) for chapter in report.chapters for one in chapter.all_refusals]
    said = list(dict.fromkeys(said))
    more = [f"{len(said) - MOST:,} more are in findings.json."] if said[MOST:] else []
    return said[:MOST] + more


def _refused(one: object, chapter: Chapter) -> str:
    about, text, remedy = (str(getattr(one, name, "")) for name in ("about", "text", "remedy"))
    said = f"{about or chapter.title.lower()}: {text}".rstrip(".")
    return f"{said}. To get it: {remedy}." if remedy else f"{said}."


def _bullets(said: Iterable[str]) -> list[str]:
    lines = [f"- {escape(one)}" for one in said]
    return [*lines, ""] if lines else []


def _sentence(text: str) -> str:
    """Return a sentence of a paragraph: text that stays text, with a stop behind it."""
    flat = escape(text).strip()
    return flat if not flat or flat.endswith((".", "!", "?")) else f"{flat}."
