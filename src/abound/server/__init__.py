"""Serve a model: a journal of its corrections, snapshots, and replicas that follow the journal."""

from abound.server.follower import Follower
from abound.server.home import Home
from abound.server.replica import Replica
from abound.server.writer import Writer

__all__ = ["Follower", "Home", "Replica", "Writer"]
