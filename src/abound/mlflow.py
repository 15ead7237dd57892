"""Save, log and load a tagger as an MLflow model.

The artifact is a model directory as `Tagger.save` writes it: arrays and JSON, no pickle. The file MLmodel names this
module as the loader of the generic interface (pyfunc), so that `mlflow models serve` and `mlflow.pyfunc` work.
"""

import contextlib
import importlib
import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from abound.data.extras import require
from abound.loading import load_tagger
from abound.tagger import Tagger
from abound.texts import Text

__all__ = ["load_model", "log_model", "save_model"]

FLAVOR_NAME = "abound"
TEXT = "text"  # the column of the texts, if a frame has several
EXAMPLE = "Growing roses in a cold climate"  # not a text of the training data, which may be private
K = 10


def save_model(
    tagger: Tagger | str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    mlflow_model: Any = None,
    signature: Any = None,
    input_example: Any = None,
    metadata: Mapping[str, Any] | None = None,
    pip_requirements: Sequence[str] | str | None = None,
    **options: Any,
) -> None:
    """Save a tagger as an MLflow model in a new directory.

    Parameters
    ----------
    tagger : Tagger or path
        A tagger, its model directory, or the home of a served model, whose newest state is saved.
    path : path
        The new directory.
    mlflow_model : mlflow.models.Model, optional
        The model to which the flavour is added.
    signature : mlflow.models.ModelSignature, optional
        By default: texts as strings, or a column per field; the parameters `k` and `assign`; ranked labels.
    input_example : optional
        By default, a text that is not from the training data.
    metadata : mapping, optional
        Added to the number of rows and labels, the language and the state hash.
    pip_requirements : list of str or path, optional
        By default, this version of abound, and pandas, which MLflow needs for serving.
    **options
        Other parameters of `mlflow.pyfunc.save_model`, such as `code_paths`.

    Examples
    --------
    `mlflow.pyfunc.load_model(path).predict(["a text"], params={"k": 3})` returns a list of labels for each text.
    """
    pyfunc, models = _mlflow("pyfunc"), _mlflow("models")
    if not isinstance(tagger, Tagger):
        tagger = load_tagger(tagger)
    model = models.Model() if mlflow_model is None else mlflow_model
    with tempfile.TemporaryDirectory() as folder:
        directory = Path(folder) / FLAVOR_NAME
        tagger.save(directory)
        model.add_flavor(FLAVOR_NAME, abound_version=_version(), data=f"data/{FLAVOR_NAME}")
        pyfunc.save_model(
            path=os.fspath(path),
            loader_module=__name__,
            data_path=str(directory),
            mlflow_model=model,
            signature=_signature(tagger) if signature is None else signature,
            input_example=_example(tagger) if input_example is None else input_example,
            metadata={**_facts(tagger), **(metadata or {})},
            pip_requirements=_requirements() if pip_requirements is None else pip_requirements,
            **options,
        )


def log_model(
    tagger: Tagger | str | os.PathLike[str],
    name: str,
    *,
    registered_model_name: str | None = None,
    **options: Any,
) -> Any:
    """Log a tagger as a model of the active MLflow run, and return MLflow's description of it.

    Parameters
    ----------
    tagger : Tagger or path
        See `save_model`.
    name : str
        The name of the logged model.
    registered_model_name : str, optional
        Also add it to the model registry, as a new version of this model.
    **options
        Parameters of `save_model` and of `mlflow.models.Model.log`, such as `tags`.

    Returns
    -------
    mlflow.models.model.ModelInfo
    """
    flavour = importlib.import_module(__name__)
    model = _mlflow("models").Model
    return model.log(None, flavour, name=name, registered_model_name=registered_model_name, tagger=tagger, **options)


def load_model(model_uri: str, dst_path: str | None = None) -> Tagger:
    """Load a tagger that `save_model` or `log_model` saved.

    Parameters
    ----------
    model_uri : str
        A directory, or an address such as models:/subjects/1 or runs:/RUN/subjects.
    dst_path : str, optional
        An existing directory for the downloaded files. Arrays are memory maps of these files.
    """
    directory = _mlflow("artifacts").download_artifacts(artifact_uri=model_uri, dst_path=dst_path)
    flavours = _mlflow("models").Model.load(directory).flavors
    if FLAVOR_NAME not in flavours:
        raise ValueError(f"{model_uri} has no flavour {FLAVOR_NAME!r}; its flavours are {', '.join(flavours)}")
    return load_tagger(Path(directory) / flavours[FLAVOR_NAME]["data"])


def _load_pyfunc(path: str) -> "RankingModel":
    """Load the model directory of an artifact. MLflow calls this function by its name."""
    return RankingModel(load_tagger(path))


class RankingModel:
    """A tagger with the interface that MLflow expects of a model.

    Parameters
    ----------
    tagger : Tagger
    """

    def __init__(self, tagger: Tagger) -> None:
        self.tagger = tagger

    def predict(self, model_input: Any, params: Mapping[str, Any] | None = None) -> list[list[dict[str, Any]]]:
        """Rank the labels of each text.

        Parameters
        ----------
        model_input : list of str, Series or DataFrame
            Texts. A frame with several columns has a column "text", or a column for each field of the model.
        params : mapping, optional
            k: maximum number of labels, 10 by default. assign: whether to return only the labels to apply, at most k.

        Returns
        -------
        list of lists of dicts
            For each text, its labels with `label`, `score`, `rank` and `probability`, best first.
        """
        given = dict(params or {})
        k, assign = int(given.pop("k", K)), bool(given.pop("assign", False))
        if given:
            raise ValueError(f"unknown parameters {', '.join(given)}; the parameters are k and assign")
        texts = texts_of(model_input, self.tagger.encoder.fields)
        if assign:
            rankings = [entries[:k] for entries in self.tagger.assign_many(texts)]
        else:
            rankings = self.tagger.rank_many(texts, k)
        return [[asdict(entry) for entry in entries] for entries in rankings]


def texts_of(model_input: Any, fields: Sequence[str] | None = None) -> list[Text]:
    """Return the texts of an input of MLflow: a frame, a series, an array, a list, one text or one mapping.

    Parameters
    ----------
    model_input : input
    fields : sequence of str, optional
        The fields of the model's texts.
    """
    if hasattr(model_input, "to_dict") and hasattr(model_input, "columns"):  # a DataFrame, without importing pandas
        if not len(model_input.columns):  # MLflow has dropped all columns that the signature does not have
            raise ValueError(f"the frame must have the column {_expected(fields)}, but it has no column")
        model_input = model_input.to_dict("records")
    elif hasattr(model_input, "tolist"):
        model_input = model_input.tolist()
    rows = [model_input] if isinstance(model_input, str | Mapping) else list(model_input)
    return [_text_of(row, fields) for row in rows]


def _text_of(row: Any, fields: Sequence[str] | None) -> Text:
    if isinstance(row, list | tuple) and len(row) == 1:  # a row of an array with one column
        row = row[0]
    if isinstance(row, str):
        return row
    if not isinstance(row, Mapping):
        raise ValueError(f"a text must be a string or have named columns, got {type(row).__name__}")
    if fields is not None and any(name in row for name in fields):
        return {name: row[name] for name in fields if isinstance(row.get(name), str)}
    text = row.get(TEXT) if TEXT in row else next(iter(row.values())) if len(row) == 1 else None
    if not isinstance(text, str):
        columns = ", ".join(map(str, row))
        raise ValueError(f"a row must have a string in the column {_expected(fields)}; its columns are {columns}")
    return text


def _expected(fields: Sequence[str] | None) -> str:
    return repr(TEXT) if fields is None else " or ".join(map(repr, fields))


def _mlflow(part: str) -> Any:
    """Import a module of MLflow."""
    return require(f"mlflow.{part}", "mlflow", "MLflow models")


def _version() -> str | None:
    with contextlib.suppress(PackageNotFoundError):  # the source is on the path, but is not installed
        return version("abound")
    return None


def _requirements() -> list[str]:
    known = _version()
    return ["abound" if known is None else f"abound=={known}", "pandas"]


def _facts(tagger: Tagger) -> dict[str, Any]:
    counts = {"rows": tagger.n_rows, "labels": tagger.n_shown}
    return {**counts, "language": tagger.language, "state_hash": tagger.state_hash()}


def _example(tagger: Tagger) -> Any:
    fields = tagger.encoder.fields
    return [EXAMPLE] if fields is None else [dict.fromkeys(fields, EXAMPLE)]


def _signature(tagger: Tagger) -> Any:
    """Return what the model takes and returns."""
    types, fields = _mlflow("types.schema"), tagger.encoder.fields
    text = types.DataType.string
    columns = (
        [types.ColSpec(text)] if fields is None else [types.ColSpec(text, name, required=False) for name in fields]
    )
    entry = types.Object(
        [
            types.Property("label", text),
            types.Property("score", types.DataType.double),
            types.Property("rank", types.DataType.long),
            types.Property("probability", types.DataType.double, required=False),
        ]
    )
    params = [types.ParamSpec("k", types.DataType.long, K), types.ParamSpec("assign", types.DataType.boolean, False)]
    return _mlflow("models").ModelSignature(
        inputs=types.Schema(columns),
        outputs=types.Schema([types.ColSpec(types.Array(entry))]),
        params=types.ParamSchema(params),
    )
