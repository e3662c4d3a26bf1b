"""Making a recognizer mishear: models with gradients, noise by gradient, noise by transcripts alone."""

from voxaudit.registry import lazy_attributes

__getattr__ = lazy_attributes(
    __name__,
    {
        "CtcModule": "voxaudit.recognize.attack.models",
        "TransducerModule": "voxaudit.recognize.attack.models",
        "Differentiable": "voxaudit.recognize.attack.models",
    },
)
