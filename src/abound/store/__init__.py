"""Where models are kept: the model directory, and the journal of what they are taught."""

from abound.store.directory import Blocks, Model, read_model, state_hash, write_model
from abound.store.names import decode_names, encode_names

__all__ = ["Blocks", "Model", "decode_names", "encode_names", "read_model", "state_hash", "write_model"]
