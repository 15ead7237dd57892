"""Run three servers that share a journal, kill and cut them and their database, and check all that clients saw."""

import contextlib
import itertools
import random
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from abound.store.journal import Journal
from abound.store.journal.postgres import PostgresJournal
from tests.server.streams import base, trained
from tests.several.clients import Clients, label_of, text_of
from tests.several.linearizability import violations
from tests.several.machines import PROGRAM, Machine
from tests.several.proxy import Proxies
from tests.several.replication import Pair

N_MACHINES = 3
SNAPSHOT_EVERY = 500
LOST_SHARE = 0.15  # of kills, after which the machine begins with an empty directory
ALL_SHARE = 0.15  # of cuts that concern all servers
LONG_SHARE = 0.15  # of cuts and pauses that take longer than the database keeps a turn for a silent server
SHORT_SECONDS, LONG_SECONDS = (0.3, 5.0), (11.0, 14.0)
SHOWN = 20  # problems of each kind in the outcome
NO_PROGRAMS = MappingProxyType({})


@dataclass(frozen=True)
class Plan:
    """What happens, spread over some minutes.

    `workers` is the number of processes of each server that rank. `patience` is how many seconds after the end
    everything must be acknowledged, and all servers be equal.
    """

    minutes: float
    kills: int = 0
    cuts: int = 0
    failovers: int = 0
    pauses: int = 0
    seed: int = 0
    workers: int = 1
    patience: float = 180


class Site:
    """Three machines, their way to two databases, and the model."""

    def __init__(self, folder, pair, proxies, plan, programs=NO_PROGRAMS):
        self.pair = pair
        self.model = folder / "model"
        base().save(self.model)
        ports = [node.port for node in pair.nodes]
        self.machines = []
        for number in range(N_MACHINES):
            name = "abc"[number]
            proxy = proxies.new(ports, seed=f"{plan.seed} {number}")
            options = [self.model, "--journal", pair.url(proxy.ports), "--snapshots", folder / "snapshots"]
            options += ["--snapshot-every", SNAPSHOT_EVERY]
            self.machines.append(
                Machine(name, folder, options, proxy, workers=plan.workers, program=programs.get(name, PROGRAM))
            )

    def start(self):
        """Start all machines, the first one first: it creates the journal."""
        first, *others = self.machines
        first.start()
        first.wait()
        for machine in others:
            machine.start()
        for machine in others:
            machine.wait()

    def kill(self):
        """Kill all machines."""
        for machine in self.machines:
            machine.kill()

    def journal(self):
        """Return the journal in the database, at its primary."""
        return PostgresJournal(self.pair.primary.url)


class Failures:
    """Threads that do what a plan says to a site, all kinds at the same time.

    Attributes
    ----------
    done : Counter
    seconds : list of tuple
        Of each failover, without a primary and without commits.
    problems : list of str
    """

    def __init__(self, site, plan, report=print):
        self._site, self._plan, self._report = site, plan, report
        self.done, self.seconds, self.problems = Counter(), [], []
        kinds = {"kill": plan.kills, "cut": plan.cuts, "failover": plan.failovers, "pause": plan.pauses}
        self._threads = [threading.Thread(target=self._run, args=one, daemon=True) for one in kinds.items()]

    def run(self):
        """Do everything, and then heal everything."""
        ends = time.monotonic() + 60 * self._plan.minutes
        for thread in self._threads:
            thread.start()
        for thread in self._threads:
            thread.join()
        time.sleep(max(0, ends - time.monotonic()))

    def _run(self, kind, count):
        chance = random.Random(f"{self._plan.seed} {kind}")
        begun, seconds = time.monotonic(), 60 * self._plan.minutes
        try:
            for number in range(count):
                due = begun + seconds * (number + chance.random()) / count
                time.sleep(max(0, due - time.monotonic()))
                getattr(self, f"_{kind}")(chance)
                self.done[kind] += 1
                if self.done[kind] % 10 == 0:
                    self._report(f"{self.done[kind]} of {count}: {kind}")
        except Exception as error:
            self.problems.append(f"{kind}: {error!r}")

    def _kill(self, chance):
        machine = chance.choice(self._site.machines)
        with machine.failing():
            machine.kill()
            if chance.random() < LOST_SHARE:
                machine.lose()
                self.done["lost"] += 1
            time.sleep(chance.random())
            machine.start()
            machine.wait()

    def _pause(self, chance):
        machine = chance.choice(self._site.machines)
        with machine.failing():
            machine.pause(_duration(chance))
            machine.wait()

    def _cut(self, chance):
        all_machines = self._site.machines
        machines = all_machines if chance.random() < ALL_SHARE else [chance.choice(all_machines)]
        mode = chance.choice(["reset", "swallow"])
        self.done[mode] += 1
        for machine in machines:
            machine.proxy.cut(mode)
        time.sleep(_duration(chance))
        for machine in machines:
            machine.proxy.heal()

    def _failover(self, _):
        self.seconds.append(self._site.pair.fail_over())


def _duration(chance):
    return chance.uniform(*(LONG_SECONDS if chance.random() < LONG_SHARE else SHORT_SECONDS))


def run(plan, programs=NO_PROGRAMS, *, is_lossy=False, report=print):
    """Follow a plan and return the outcome.

    `programs` are what Python runs by the name of a machine. With `is_lossy`, the databases are not replicated
    synchronously.
    """
    with contextlib.ExitStack() as stack:
        # Not in a folder of the tests, which the user of PostgreSQL may not enter.
        databases = stack.enter_context(
            tempfile.TemporaryDirectory(prefix="abound-postgres-", dir="/tmp", ignore_cleanup_errors=True)
        )
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="abound-several-")))
        pair = stack.enter_context(Pair(databases, is_lossy=is_lossy))
        proxies = stack.enter_context(Proxies())
        site = Site(folder, pair, proxies, plan, programs)
        stack.callback(site.kill)
        site.start()
        clients, failures = Clients(site.machines, plan.seed), Failures(site, plan, report)
        begun = time.monotonic()
        clients.start()
        try:
            failures.run()
        finally:
            clients.end(plan.patience)
        report("the load has ended")
        return {
            "minutes": round((time.monotonic() - begun) / 60, 1),
            "done": dict(failures.done),
            **_figures(clients, failures),
            **checked(site, clients, failures.problems, plan.patience),
        }


def checked(site, clients, problems, patience):
    """Compare all servers and the database with what clients saw; return the differences, and how many there are."""
    problems = [*problems, *clients.problems, *clients.failed()]
    problems += [f"{one.name} ended by itself: {words}" for one in site.machines for words in one.crashes]
    problems += [f"{learn.key} was never acknowledged" for learn in clients.history.learns if learn.sequence is None]
    with site.journal() as journal:
        problems += settled(site.machines, journal.last, patience)
        records = list(journal.read(0))
        problems += [f"the database: {damage}" for damage in journal.damage()]
    states = {machine.name: machine.state() for machine in site.machines}
    expected = trained([stored.record for stored in records]).state_hash()
    for name, state in states.items():
        if state is None or state[1] != expected:
            problems.append(f"{name} has the state {state}, and the journal makes {(len(records), expected)}")
    for machine in site.machines:
        code = machine.stop() if machine.is_alive() else None
        if code != 0:
            problems.append(f"{machine.name} ended with {code}: {machine.last_words()}")
        with Journal(machine.home / "journal.sqlite") as copy:
            problems += [f"the copy of {machine.name}: {damage}" for damage in copy.damage()]
    for stored in records:
        if stored.record.text != text_of(stored.key) or list(stored.record.added) != [label_of(stored.key)]:
            problems.append(f"record {stored.sequence} has another content than what was sent with {stored.key}")
    found = violations(clients.history, [stored.key for stored in records])
    return {
        "records": len(records),
        "violations": found[:SHOWN],
        "n_violations": len(found),
        "kinds": dict(Counter(message.partition(":")[0] for message in found)),
        "problems": problems[:SHOWN],
        "n_problems": len(problems),
    }


def settled(machines, last, patience):
    """Wait until all machines have all records; return what is wrong if they do not get there."""
    ends, found = time.monotonic() + patience, {}
    while time.monotonic() < ends:
        found = {machine.name: machine.state() for machine in machines}
        if all(state is not None and state[0] == last for state in found.values()):
            return []
        time.sleep(0.5)
    return [f"{name} is at {state}, and the database at {last}" for name, state in found.items()]


def _figures(clients, failures):
    seconds, moments = sorted(clients.seconds), sorted(clients.acknowledged)
    gaps = [after - before for before, after in itertools.pairwise(moments)]
    without = list(zip(*failures.seconds, strict=True))
    return {
        "acknowledged": len(moments),
        "reads": len(clients.history.reads),
        "answers": dict(sorted(clients.counts.items())),
        "learn seconds, median and p99": [round(seconds[int(len(seconds) * part)], 3) for part in (0.5, 0.99)],
        "longest seconds without an acknowledged learn": round(max(gaps, default=0), 1),
        "longest seconds of a failover, without a primary and without commits": [round(max(one), 1) for one in without],
        "ended without a home, because the database was away": sum(len(one.exits) for one in clients.machines),
    }
