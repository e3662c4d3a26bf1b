"""A session: recognizers kept warm for audits that choose what to hear next by what they have heard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from voxaudit.corpus import Utterance
from voxaudit.errors import VoxauditError, one_line
from voxaudit.options import RunOptions
from voxaudit.perturb import Scenario
from voxaudit.recognize import Recognizer
from voxaudit.recognize.base import RecognizerError
from voxaudit.run.cache import opened_cache
from voxaudit.run.folder import make_folder
from voxaudit.run.local import Pool
from voxaudit.run.lock import hold
from voxaudit.run.plan import UNREADABLE, hash_recordings, in_language, trial_of
from voxaudit.run.store import Store
from voxaudit.run.trial import Outcome, recognizer_digest
from voxaudit.run.worker import Job

Asked = tuple[Utterance, str]
"""An utterance, and the id of the scenario under which it is to be heard."""


class Session:
    """Hears utterances under scenarios on demand, through the store of a run folder and the user's cache.

    What was heard before, in this session or an earlier one, is not heard again. `scenarios` maps ids to scenarios; it
    may make them on the way. It travels to the workers, so it must be picklable. Use it as a context manager. Of the
    options of a run it keeps those that need no whole grid, and refuses the others; each can be given by name too. A
    recognizer that can be told the language is told that of the utterance (attribute `language`), as in a run.
    """

    def __init__(
        self,
        folder: str | Path,
        recognizers: Mapping[str, Recognizer],
        scenarios: Mapping[str, Scenario],
        options: RunOptions | None = None,
        **given: Any,
    ) -> None:
        self._options = RunOptions.of(options, **given)
        self._options.require_on_demand()
        self.folder = Path(folder)
        self._recognizers = dict(recognizers)
        self._scenarios = scenarios
        self._stack = ExitStack()
        self.heard = 0
        """Trials that took a recognizer's time in this session."""

    def __enter__(self) -> Session:
        try:
            self._stack.enter_context(hold(make_folder(self.folder)))
            self._store = self._stack.enter_context(closing(Store(self.folder / "trials.sqlite")))
            self._cache = self._stack.enter_context(opened_cache(self._options.cache))
            self._known = {name: self._store.outcomes(name) for name in self._recognizers}
            self._listeners: dict[tuple[str, str | None], tuple[str, Pool]] = {}
        except OSError as error:
            self._stack.close()
            where = error.filename or self.folder
            raise VoxauditError(f"{where}: {error.strerror or one_line(error)}") from error
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def hear(
        self, asked: Sequence[Asked], recognizers: Iterable[str] | None = None
    ) -> dict[str, list[Outcome]]:
        """Return, for every recognizer, one outcome per (utterance, scenario id), in the order they were asked.

        `recognizers` names those that shall hear; without it all do.
        """
        paths = sorted({str(utterance.audio) for utterance, _ in asked})
        hashes = hash_recordings(self._store, paths, self._options.limits)
        return {name: self._hear(name, asked, hashes) for name in recognizers or self._recognizers}

    def _hear(self, name: str, asked: Sequence[Asked], hashes: Mapping[str, str]) -> list[Outcome]:
        spoken = [utterance.attributes.get("language") for utterance, _ in asked]
        languages = list(dict.fromkeys(spoken))
        parts = {
            language: iter(
                self._hear_in(
                    name,
                    language,
                    [one for one, own in zip(asked, spoken, strict=True) if own == language],
                    hashes,
                )
            )
            for language in languages
        }
        return [next(parts[language]) for language in spoken]

    def _listener(self, name: str, language: str | None) -> tuple[str, Pool]:
        """Return the digest and the workers of a recognizer that was told a language."""
        told = in_language(self._recognizers[name], language)
        key = (name, getattr(told, "language", None))
        if key not in self._listeners:
            job = Job(told, self._scenarios, self._options.seed, self._options.limits)
            pool = self._stack.enter_context(Pool(job, self._options, self.folder / "workers.log"))
            self._listeners[key] = (recognizer_digest(told.fingerprint()), pool)
        return self._listeners[key]

    def _hear_in(
        self, name: str, language: str | None, asked: Sequence[Asked], hashes: Mapping[str, str]
    ) -> list[Outcome]:
        known = self._known[name]
        digest, pool = self._listener(name, language)
        trials = [
            trial_of(
                utterance,
                self._scenarios[scenario],
                hashes[str(utterance.audio)],
                self._options.seed,
                digest,
            )
            for utterance, scenario in asked
        ]
        self._record(
            name,
            (
                Outcome(trial, None, failure=hashes[trial.audio])
                for trial in trials
                if hashes[trial.audio].startswith(UNREADABLE)
            ),
        )
        missing = {trial.key: trial for trial in trials if trial.key not in known}
        if missing and self._cache is not None:
            found = self._cache.find(list(missing))
            self._record(name, (Outcome(missing.pop(key), *answer) for key, answer in found.items()))
        try:
            for outcomes in pool.hear(iter(list(missing.values()))):
                self._record(name, outcomes)
                self.heard += len(outcomes)
                if self._cache is not None:
                    self._cache.add(outcomes)
        except RecognizerError as error:
            raise RecognizerError(f"recognizer '{name}': {error}") from error
        return [Outcome(trial, *known[trial.key]) for trial in trials]

    def _record(self, name: str, outcomes: Iterable[Outcome]) -> None:
        outcomes = list(outcomes)
        if outcomes:
            self._store.add(name, outcomes)
            self._known[name].update({o.trial.key: (o.transcript, o.seconds, o.failure) for o in outcomes})
