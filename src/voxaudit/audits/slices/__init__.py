"""Slices: who is failed without a label? Speech that is served worse, searched in one half and confirmed in another."""

from __future__ import annotations

from voxaudit.audits.audit import OPTIONS, Audit, Option

AUDIT = Audit(
    name="slices",
    title="Who is failed without a label",
    summary="find kinds of speech that are served worse, by what was measured: rate, noise, pitch, rarity, room",
    function="voxaudit.audits.slices.audit:slices",
    example=("runs/first", {"attributes": ("gender", "accent")}),
    options={
        "attributes": OPTIONS["attributes"].noting("searched, too, and crossed with what was measured"),
        "fewest": Option(
            "slices with fewer speakers in either half are not searched", "count", "N", at_least=4
        ),
        "most": Option("slices that go on to the other half", "count", "N", at_least=1, at_most=100),
    },
)
