"""Store models: the model directory, and the journal of corrections."""

from abound.store.directory import Blocks, is_home, read_model, state_hash, write_model
from abound.store.model import Model
from abound.store.names import decode_names, encode_names
from abound.store.stored import Stored

__all__ = [
    "Blocks",
    "Model",
    "Stored",
    "decode_names",
    "encode_names",
    "is_home",
    "read_model",
    "state_hash",
    "write_model",
]
