"""Many models in one process: each is opened on demand, and the least used ones are closed within a memory budget."""

import asyncio
import gc
import logging
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from abound.server.backups import is_backup
from abound.server.home import SERVED_SUFFIX
from abound.server.http.allowances import KeyRefused
from abound.server.http.app import App, Authenticator
from abound.server.http.connections import Address
from abound.server.http.endpoints import Scope
from abound.server.http.hosted import Hosted
from abound.server.http.problems import Problem, unknown_model
from abound.server.memory import private_bytes, return_free_memory
from abound.server.turns import Threads
from abound.server.writer import Writer
from abound.store.directory import MANIFEST, is_home

LOG = logging.getLogger(__name__)
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
FIRST_COST = 32 << 20  # bytes that a model is expected to take before one was opened
MAX_MODELS = 10_000

OpenWriter = Callable[[str, Threads], Writer]  # takes the path of a model or of its home
MakeAuthenticator = Callable[[str], Authenticator]


class Library:
    """The models of a process.

    Parameters
    ----------
    models : dict
        The paths of models, or of their homes, by name.
    open_writer : callable
        Open the writer of a path, with shared threads.
    authenticator : callable
        Return the authenticator of a path.
    folder : path, optional
        Models of this directory can be added.
    memory : int, optional
        Private bytes of the process above which models are closed.
    origins : sequence of str
        See App.
    """

    def __init__(
        self,
        models: dict[str, str],
        open_writer: OpenWriter,
        authenticator: MakeAuthenticator,
        *,
        folder: str | None = None,
        memory: int | None = None,
        origins: Sequence[str] = (),
    ) -> None:
        self.folder = folder
        self.memory = memory
        self.busy: set[Address] = set()
        self.draining = False
        self._origins = origins
        self._open_writer = open_writer
        self._authenticator = authenticator
        self._threads = Threads()
        self._models: dict[str, Hosted] = {}
        self._opening = asyncio.Semaphore(1)  # one at a time, so that the memory that it takes is known
        for name, path in models.items():
            self._add(name, path)

    def __iter__(self) -> Iterator[Hosted]:
        return iter(sorted(self._models.values(), key=lambda hosted: hosted.name))

    def __len__(self) -> int:
        return len(self._models)

    def get(self, name: str) -> Hosted:
        """Return a model; raise Problem if there is none of this name."""
        hosted = self._models.get(name)
        if hosted is None:
            raise unknown_model(name)
        return hosted

    @asynccontextmanager
    async def using(self, name: str, headers: Mapping[bytes, bytes]) -> AsyncIterator[App]:
        """Give the application of a model; it is opened if needed, and if the headers of the request allow to read it.

        The application checks the key of each request. A closed model has none, and must not be opened for everybody.
        """
        hosted = self.get(name)
        if hosted.service is None:
            try:
                hosted.authenticator.check(headers, Scope.READ)
            except KeyRefused as refused:
                hosted.counts.refuse(refused.reason)
                raise
        async with hosted.using(self._begin_open) as app:
            yield app

    async def put(self, name: str) -> bool:
        """Serve a model of the folder, or read it again if it is served; return whether it is new."""
        hosted = self._models.get(name)
        if hosted is not None:
            await self._change(hosted, self._reload)
            return False
        if self.folder is None:
            raise Problem(409, "models can be added only to a server that was started with --library")
        path = models_of(self.folder).get(name)
        if path is None:
            raise Problem(404, f"there is no model {name!r} in the library; copy it there first")
        try:
            await self._change(self._add(name, path), self._open)
        except Exception:
            self._models.pop(name, None)
            raise
        return True

    async def remove(self, name: str) -> None:
        """Stop serving a model when its requests are answered; its files stay."""
        await self._change(self.get(name), self._remove)

    async def close(self) -> None:
        """Close all models."""
        for hosted in self:
            if hosted.change is not None:
                await asyncio.wait([hosted.change])
            await hosted.close()
        await asyncio.to_thread(self._threads.close)

    def drain(self) -> None:
        """Announce the end of each connection with its next answer."""
        self.draining = True
        for hosted in self:
            if hosted.service is not None:
                hosted.service.draining = True

    # -- changes -------------------------------------------------------------------------------------

    def _add(self, name: str, path: str) -> Hosted:
        hosted = Hosted(name, lambda: self._open_writer(path, self._threads), lambda: self._authenticator(path))
        self._models[name] = hosted
        return hosted

    async def _change(self, hosted: Hosted, act: Callable[[Hosted], Coroutine[Any, Any, None]]) -> None:
        while hosted.change is not None:
            await asyncio.wait([hosted.change])
        if hosted.is_removed:
            raise unknown_model(hosted.name)
        change = hosted.begin(asyncio.get_running_loop().create_task(act(hosted)))
        await asyncio.shield(change)

    def _begin_open(self, hosted: Hosted) -> "asyncio.Task[None]":
        return hosted.begin(asyncio.get_running_loop().create_task(self._open(hosted)))

    async def _open(self, hosted: Hosted) -> None:
        async with self._opening:
            await self._make_room(hosted)
            before = private_bytes()
            await hosted.open(self._prepare, self._origins)
            gc.freeze()  # a full collection would look at the objects of all models, and stop all requests meanwhile
            after = private_bytes()
            if before is not None and after is not None:
                hosted.cost = max(hosted.cost, after - before)
        LOG.debug("the model %s is open", hosted.name)

    def _prepare(self, app: App) -> None:
        app.busy, app.service.draining = self.busy, self.draining

    async def _reload(self, hosted: Hosted) -> None:
        await hosted.close()
        await self._open(hosted)

    async def _remove(self, hosted: Hosted) -> None:
        await hosted.close()
        hosted.is_removed = True
        del self._models[hosted.name]

    async def _make_room(self, wanted: Hosted) -> None:
        """Close models that nobody uses, the least recently used first, until another one fits."""
        if self.memory is None:
            return
        costs = [hosted.cost for hosted in self if hosted.cost]
        needed = wanted.cost or (max(costs) if costs else FIRST_COST)
        while (used := private_bytes()) is not None and used + needed > self.memory:
            idle = [hosted for hosted in self if hosted.is_idle]
            if not idle:
                LOG.warning("%d MiB are used, and no model can be closed", used >> 20)
                return
            await self._close_one(min(idle, key=lambda hosted: hosted.used))

    async def _close_one(self, hosted: Hosted) -> None:
        change = hosted.begin(asyncio.get_running_loop().create_task(hosted.close()))
        await asyncio.shield(change)
        await asyncio.to_thread(return_free_memory)


def models_of(folder: str) -> dict[str, str]:
    """Return the models of a directory by name; a model and its home are one model."""
    found: dict[str, str] = {}
    for path in sorted(Path(folder).iterdir()):
        name = path.name.removesuffix(SERVED_SUFFIX)
        if NAME.fullmatch(name) and (is_home(path) or ((path / MANIFEST).is_file() and not is_backup(path))):
            found[name] = found.get(name, str(path))  # the model comes before its home
    if len(found) > MAX_MODELS:
        raise ValueError(f"{folder} has {len(found):,} models; a server has at most {MAX_MODELS:,}")
    return found
