"""Power: how many speakers a comparison of groups needs, and what those at hand can show (Herron et al., Eq. 1)."""

from voxaudit.audits.audit import SUMMARIES, Audit, Option
from voxaudit.audits.parity import SPEAKER_OPTIONS

AUDIT = Audit(
    name="power",
    title="How many speakers a comparison needs",
    summary=SUMMARIES["power"],
    example=("", {"gap": 0.1, "sigma": 0.15}),
    source="[RUN]",
    source_help="a pilot: a run's folder, or a table of scores; can be left out where numbers say it all",
    options={
        **SPEAKER_OPTIONS,
        "sigma": Option(
            "standard deviation of the word error rate between speakers", kind="number", metavar="SD"
        ),
        "speakers": Option("speakers at hand in the two groups", kind="numbers", metavar="N[,M]"),
        "ratio": Option("size of the second group over the first's", kind="number", metavar="RATIO"),
        "one_sided": Option("the direction is known beforehand", kind="flag"),
        "simulations": Option(
            "also draw N studies from the mixed model: fitted to RUN, or of the base WER; 1000 is plenty",
            kind="count",
            metavar="N",
            at_least=0,
        ),
        "test": Option("test of the simulated studies", choices=("t", "mixed")),
        "base_wer": Option("simulate without RUN: WER of the better group", kind="number", metavar="WER"),
        "log_sigma": Option("spread of speakers' log rates", kind="number", metavar="SD"),
        "utterance_words": Option("words per utterance", kind="count", metavar="N", at_least=1),
        "dispersion": Option("1 is Poisson; real speech has 2 to 3", kind="number", metavar="RATIO"),
    },
)
