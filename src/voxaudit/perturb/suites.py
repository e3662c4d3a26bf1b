"""Suites: named lists of scenarios; and slots, scenarios of Speech Robust Bench that no function on audio can make."""

from __future__ import annotations

from dataclasses import dataclass

_ATTACK = "an attack on a recognizer that gives gradients: the audit `attack` with the method `pgd`"
_UNIVERSAL = (
    "a saved perturbation, from an attack on a recognizer that gives gradients (the audit `attack`, method"
    " `universal`): universal = FILE or FOLDER in [sources]"
)

SLOTS = {
    **{f"pgd:{severity}": _ATTACK for severity in (1, 2, 3, 4)},
    **{f"universal:{severity}": _UNIVERSAL for severity in (1, 2, 3, 4)},
    **{
        name: f'a corpus in that role: [[corpora]] with role = "{name}" in audit.toml'
        for name in (
            "synthetic",
            "accented",
            "near_field_chime",
            "far_field_chime",
            "near_field_ami",
            "far_field_ami",
        )
    },
}
"""Scenario id: what fills it."""


@dataclass(frozen=True)
class Suite:
    """A named list of scenario ids; `clean` is always heard too and need not be listed.

    A suite may list slots: what fills them comes from elsewhere.
    """

    name: str
    description: str
    scenarios: tuple[str, ...]


AEQUEVOX = {
    "amp": (2.0, 0.5, 0.4, 0.3, 0.2, 0.1),
    "clipping": (0.05, 0.04, 0.03, 0.02, 0.01),
    "drop": (5, 10, 15, 20, 25),
    "frame": (10, 20, 30, 40, 50),
    "hp": (500, 600, 700, 800, 900),
    "lp": (900, 800, 700, 600, 500),
    "noise": (10, 8, 6, 4, 2),
    "scale": (0.9, 0.8, 0.7, 0.6, 0.5),
}
"""The settings (`theta`) of AequeVox's Table 2, from the least to the most destructive, and Amp 2.0 of its text."""

SRB = (
    *("gaussian_noise", "environment_ms_snsd", "environment_esc50", "environment_musan", "environment_wham"),
    *("music", "crosstalk", "rir", "real_rir", "echo", "bass", "treble", "phaser", "tempo_up", "tempo_down"),
    *("speed_up", "speed_down", "pitch_up", "pitch_down", "chorus", "tremolo", "resample", "gain"),
    *("lowpass", "highpass"),
)
"""The 25 perturbations of Speech Robust Bench, each at four severities (its Table 2)."""

SUITES = {
    suite.name: suite
    for suite in (
        Suite(
            "quick",
            "one scenario of each family, at a setting people still understand",
            (
                *("gaussian_noise:2", "rir:2", "echo:1", "lowpass:2", "tempo_up:2", "gain:1"),
                *("telephone", "packet_loss:3"),
            ),
        ),
        Suite(
            "srb",
            "Speech Robust Bench: 25 perturbations at 4 severities, and 14 slots for attacks and natural speech",
            (*(f"{name}:{severity}" for name in SRB for severity in (1, 2, 3, 4)), *SLOTS),
        ),
        Suite(
            "aequevox",
            "AequeVox's eight perturbations at 41 settings",
            tuple(f"{name}:theta={theta:.12g}" for name, thetas in AEQUEVOX.items() for theta in thetas),
        ),
    )
}
