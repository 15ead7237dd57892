"""The bodies of answers about the models of a library."""

import msgspec
from msgspec import UNSET, UnsetType


class HostedModel(msgspec.Struct, frozen=True):
    """A model; `state` is open or closed, and `bytes` are the private ones that it took when it was opened last."""

    name: str
    state: str
    bytes: int
    sequence: int | UnsetType = UNSET
    labels: int | UnsetType = UNSET


class HostedModels(msgspec.Struct, frozen=True):
    """The models that a request may read, and the private bytes of the process if the system tells them."""

    models: list[HostedModel]
    bytes: int | None
