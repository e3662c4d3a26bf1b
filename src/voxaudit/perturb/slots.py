"""Slots: scenarios of Speech Robust Bench that no function on audio can make, and what each of them needs."""

from __future__ import annotations

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
