"""The client: a method for each thing that a server does."""

import os
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from abound.client.answers import (
    Changes,
    Explained,
    LabelMatch,
    Learned,
    Name,
    Ranked,
    Similar,
    Taught,
    match_of,
    ranked_of,
    similar_of,
    taught_of,
    words_of,
)
from abound.client.connection import Connection
from abound.errors import ServerError, UnreachablePrecision
from abound.texts import Text, n_characters

BATCH_LABELS = 100_000  # texts times k of one request
ASSIGNED = 20  # labels that the server ranks to assign some
BATCH_CHARACTERS = 1_000_000  # of its texts: a character has up to six bytes of JSON


class Client(Connection):
    """A client of a server of abound.

    Requests of a client reflect everything that it has taught before, whichever worker answers. A request that was not
    answered is sent again; the server recognizes a repeated correction by its key. If the server has another journal
    than before, for example after a restored backup, there is a warning (`JournalWarning`), and the client continues
    with that journal. Use a client in one thread only.

    Parameters
    ----------
    url : str
        The server's address, such as http://127.0.0.1:8000.
    key : str, optional
        An API key of the server.
    timeout : float
        Seconds to wait for an answer.
    retries : int
        How often a failed request is sent again.
    source : {"client", "command line"}
        From where corrections are sent, for the server's journal.

    Examples
    --------
    >>> from abound.client import Client
    >>> with Client("http://127.0.0.1:8000") as client:  # doctest: +SKIP
    ...     client.learn("Growing roses in cold climates", added=["roses"])
    ...     client.rank("roses", k=1)
    """

    # -- ranking -------------------------------------------------------------------------------------

    def rank(
        self,
        text: Text | Mapping[str, float],
        k: int = 10,
        *,
        threshold: float | None = None,
        bands: bool = False,
        explain: bool = False,
        only: Iterable[Name] | None = None,
        without: Iterable[Name] = (),
        keep_parents: bool | None = None,
        paths: bool = False,
    ) -> list[Ranked]:
        """Rank the labels of a text, or of features with weights. A mapping to strings is a text with fields.

        `only`, `without` and `keep_parents` choose labels as for `Tagger.rank`; with `paths`, each label has its path.
        """
        what: dict[str, Any] = {"text": text}
        if not isinstance(text, str) and not any(isinstance(value, str) for value in text.values()):
            what = {"features": dict(text)}
        chosen = _chosen(only, without, keep_parents, paths=paths)
        body = {**what, "k": k, "threshold": threshold, "bands": bands, "explain": explain, **chosen}
        return [ranked_of(entry) for entry in self.post("/v1/rank", body)["labels"]]

    def rank_many(
        self,
        texts: Sequence[Text],
        k: int = 10,
        *,
        threshold: float | None = None,
        bands: bool = False,
        only: Iterable[Name] | None = None,
        without: Iterable[Name] = (),
        keep_parents: bool | None = None,
        paths: bool = False,
    ) -> list[list[Ranked]]:
        """Rank the labels of each text as `rank` does; many texts are sent in several requests."""
        chosen = _chosen(only, without, keep_parents, paths=paths)
        results: list[list[Ranked]] = []
        for part in _parts(texts, max(1, BATCH_LABELS // max(1, k))):
            body = {"texts": part, "k": k, "threshold": threshold, "bands": bands, **chosen}
            rows = self.post("/v1/rank/batch", body)["results"]
            results += [[ranked_of(entry) for entry in row] for row in rows]
        return results

    def assign(
        self, text: Text, *, threshold: float | None = None, precision: float | None = None, **choosing: Any
    ) -> list[Ranked]:
        """Return the labels to apply to one text; see `assign_many`."""
        return self.assign_many([text], threshold=threshold, precision=precision, **choosing)[0]

    def assign_many(
        self,
        texts: Sequence[Text],
        *,
        threshold: float | None = None,
        precision: float | None = None,
        only: Iterable[Name] | None = None,
        without: Iterable[Name] = (),
        keep_parents: bool | None = None,
        paths: bool = False,
    ) -> list[list[Ranked]]:
        """Return the labels to apply to each text: those with the best expected F1, unless a parameter is given.

        Parameters
        ----------
        texts : sequence of str, or of mappings from field to str
        threshold : float, optional
            Return labels with at least this probability.
        precision : float, optional
            Return as many labels as possible so that this share of them is right. If that cannot be reached, there is a
            warning (`UnreachablePrecision`) and no label.
        only, without, keep_parents, paths
            As for `rank`.
        """
        chosen = _chosen(only, without, keep_parents, paths=paths)
        results: list[list[Ranked]] = []
        notes: list[str] = []
        for part in _parts(texts, BATCH_LABELS // ASSIGNED):
            body = {"texts": part, "threshold": threshold, "precision": precision, **chosen}
            answer = self.post("/v1/assign", body)
            results += [[ranked_of(entry) for entry in row] for row in answer["results"]]
            notes += [answer["note"]] if "note" in answer else []
        if notes:
            warnings.warn(notes[-1], UnreachablePrecision, stacklevel=2)
        return results

    def text_of(self, path: str | os.PathLike[str], *, media_type: str | None = None) -> str:
        """Return the text of a PDF, Word, HTML or text file, which the server extracts.

        A long text is cut to what the server can rank.

        Parameters
        ----------
        path : str or path
        media_type : str, optional
            Such as "application/pdf". By default, the suffix of the file decides.
        """
        if media_type is None:
            from abound.data.documents import KINDS, kind_of

            kind = kind_of(os.fspath(path))
            if kind is None:
                known = ", ".join(suffix for kind in KINDS for suffix in kind.suffixes)
                raise ValueError(f"{path} must have one of the suffixes {known}, or give its media_type")
            media_type = kind.media_types[0]
        with open(path, "rb") as stream:
            body = stream.read()
        return str(self.request("POST", "/v1/text", body, media_type=media_type)["text"])

    def explain(self, text: Text, label: Name) -> Explained:
        """Return the words of a text that vote for a label, and similar texts that have it."""
        answer = self.post("/v1/explain", {"text": text, "label": label})
        words, found = words_of(answer["words"]), similar_of(answer["similar"]) if "similar" in answer else None
        return Explained(answer["label"], answer["score"], words, answer.get("prior", 0.0), found)

    def similar(self, text: Text, k: int = 3) -> list[Similar]:
        """Return the learned texts that are most similar to a text; ServerError if the model shows none."""
        return similar_of(self.post("/v1/similar", {"text": text, "k": k})["texts"])

    # -- teaching ------------------------------------------------------------------------------------

    def learn(
        self,
        text: Text,
        *,
        accepted: Iterable[Name] = (),
        rejected: Iterable[Name] = (),
        added: Iterable[Name] = (),
        key: str | None = None,
        labels_are: str = "either",
    ) -> Learned:
        """Send a person's decisions on the labels of a text; they are on the server's disk when this returns.

        Parameters
        ----------
        text : str or mapping from field to str
        accepted, rejected : iterable of names
            Labels that were suggested and are right, or wrong.
        added : iterable of names
            Labels that are right and were not suggested.
        key : str, optional
            An idempotency key: the server applies the correction once, however often it is sent. By default, a new key.
        labels_are : {"either", "ids", "names"}
            How labels are given. With "either", a label may be given by its id, or by a name that belongs to no other
            label.
        """
        body: dict[str, Any] = {"text": text, "accepted": [*accepted], "rejected": [*rejected], "added": [*added]}
        if labels_are != "either":
            body["labels_are"] = labels_are
        answer = self.post("/v1/learn", body, key or uuid.uuid4().hex)
        made, resolved = answer.get("new_labels", ()), answer.get("resolved", {})
        return Learned(answer["sequence"], answer["repeated"], made, resolved)

    def refit(self, base: str, *, seconds: float = 3600.0) -> Learned:
        """Switch the server to a base model that `abound refit` wrote to its home, and wait until it is done.

        Parameters
        ----------
        base : str
            The name of the model in the home's directory `bases`.
        seconds : float
            How long to wait; all corrections are replayed on the model. The server ranks and learns meanwhile.
        """
        key, end = uuid.uuid4().hex, time.monotonic() + seconds
        while True:
            try:
                answer = self.post("/v1/refit", {"base": base}, key)
                return Learned(answer["sequence"], answer["repeated"])
            except ServerError as error:
                if error.status != 503 or time.monotonic() > end:
                    raise

    # -- labels --------------------------------------------------------------------------------------

    def labels(
        self, query: str = "", limit: int = 20, *, sort: str = "frequent", offset: int = 0, worst_first: bool = False
    ) -> list[LabelMatch]:
        """Find labels by the beginnings of words of their names.

        Parameters
        ----------
        query : str
            Words in any order. A label is also found by former names.
        limit, offset : int
            How many labels to return, after how many others.
        sort : {"frequent", "name", "worst", "best", "rejected", "recent"}
            "worst" and "best" need a server that was started with ``--quality``.
        worst_first : bool
            The former name of ``sort="worst"``.
        """
        order = "worst" if worst_first else sort
        parameters = urlencode({"query": query, "limit": limit, "sort": order, "offset": offset})
        return [match_of(entry) for entry in self.request("GET", f"/v1/labels?{parameters}")["labels"]]

    def complete(self, text: Text, query: str = "", limit: int = 20) -> list[LabelMatch]:
        """Find labels for a text as `labels` does: those with the best scores first, then the most frequent ones."""
        body = {"text": text, "query": query, "limit": limit}
        return [match_of(entry) for entry in self.post("/v1/labels", body)["labels"]]

    def add_label(self, label: Name, names: Iterable[str] = (), *, dry_run: bool = False) -> Changes:
        """Add a label and its names for people."""
        return self._change({"add": {"label": label, "names": [*names]}, "dry_run": dry_run})

    def name_label(
        self, label: Name, names: Iterable[str], *, former: Iterable[str] = (), dry_run: bool = False
    ) -> Changes:
        """Replace the names of a label for people, the preferred one first; its former names are still found."""
        return self._change({"name": {"label": label, "names": [*names], "former": [*former]}, "dry_run": dry_run})

    def rename_label(self, label: Name, to: Name, *, dry_run: bool = False) -> Changes:
        """Give a label another id; its names for people stay."""
        return self._change({"rename": {"label": label, "to": to}, "dry_run": dry_run})

    def merge_labels(self, label: Name, into: Name, *, dry_run: bool = False) -> Changes:
        """Merge a label into another one."""
        return self._change({"merge": {"label": label, "into": into}, "dry_run": dry_run})

    def retire_label(self, label: Name, *, dry_run: bool = False) -> Changes:
        """Retire a label, so that it is no longer ranked."""
        return self._change({"retire": {"label": label}, "dry_run": dry_run})

    def move_label(self, label: Name, broader: Iterable[Name], *, dry_run: bool = False) -> Changes:
        """Give a label other broader labels in the hierarchy."""
        return self._change({"move": {"label": label, "broader": [*broader]}, "dry_run": dry_run})

    def edit_labels(
        self, edits: Iterable[Mapping[str, Mapping[str, Any]]], *, key: str | None = None, dry_run: bool = False
    ) -> Changes:
        """Apply several label edits as one record: all of them, or none.

        Parameters
        ----------
        edits : iterable of mappings
            Each has one of the keys add, name, rename, merge, retire and move, such as
            {"merge": {"label": "cars", "into": "vehicles"}}.
        key : str, optional
            An idempotency key. By default, a new key.
        dry_run : bool
            Whether to validate the edits without applying them.
        """
        return self._change({"edits": [*edits], "dry_run": dry_run}, key)

    def _change(self, body: dict[str, Any], key: str | None = None) -> Changes:
        answer = self.request("PATCH", "/v1/labels", body, key or uuid.uuid4().hex)
        changes = answer["changes"]
        return Changes(changes["texts"], changes["words"], answer.get("sequence"), answer.get("names"))

    # -- the journal ---------------------------------------------------------------------------------

    def records(
        self,
        *,
        after: int = 0,
        before: int | None = None,
        oldest_first: bool = False,
        who: str | None = None,
        source: str | None = None,
        kind: str | None = None,
        label: Name | None = None,
        text: str | None = None,
        since: str | None = None,
        until: str | None = None,
        page: int = 200,
    ) -> Iterator[Taught]:
        """Yield the records of the server's journal, the newest first.

        A key of scope learn gets the records that were sent with it; those of others need the scope admin.

        Parameters
        ----------
        after, before : int
            Only records after or before these numbers.
        oldest_first : bool
        who, source : str, optional
            Who sent the records, and from where: "page", "client", "command line" or "api".
        kind : str, optional
            Such as "learn".
        label : name, optional
            A label that the records name, under any of its names.
        text : str, optional
            A part of the text; upper and lower case are the same.
        since, until : str, optional
            Dates or times in ISO 8601, such as "2026-03-01".
        page : int
            Records per request.
        """
        given = {"who": who, "source": source, "kind": kind, "label": label, "text": text, "limit": page}
        given |= {"since": since, "until": until}
        fixed = {name: value for name, value in given.items() if value is not None}
        bounds: dict[str, Any] = {"after": after} if before is None else {"after": after, "before": before}
        while True:
            query = urlencode({**fixed, **bounds, "oldest_first": str(oldest_first).lower()})
            answer = self.request("GET", f"/v1/records?{query}")
            yield from map(taught_of, answer["records"])
            if "next" not in answer:
                return
            bounds["after" if oldest_first else "before"] = answer["next"]

    def undo(self, records: Iterable[int], reason: str = "", *, key: str | None = None) -> Learned:
        """Undo records: afterwards, the model is as if they had not been taught.

        Parameters
        ----------
        records : iterable of int
            Their numbers. Undoing an undo makes its records count again. A key of scope learn may undo its own records.
        reason : str
        key : str, optional
            An idempotency key; by default, a new one.
        """
        return self._exclude("/v1/undo", records, reason, key)

    def forget(self, records: Iterable[int], reason: str = "", *, key: str | None = None) -> Learned:
        """Forget records: as `undo`, and their content is removed from the server's files for ever; scope admin."""
        return self._exclude("/v1/forget", records, reason, key)

    def forget_queued(self, *, who: str | None = None, text: str | None = None, dry_run: bool = False) -> int:
        """Remove the texts of shared queues that contain a text and that a person decided; return how many.

        None matches every text. With `dry_run`, they are only counted.
        """
        body: dict[str, Any] = {name: value for name, value in (("who", who), ("text", text)) if value is not None}
        matching: int = self.post("/v1/queues/forget", {**body, "dry_run": dry_run})["matching"]
        return matching

    def _exclude(self, path: str, records: Iterable[int], reason: str, key: str | None) -> Learned:
        answer = self.post(path, {"records": [*records], "reason": reason}, key or uuid.uuid4().hex)
        return Learned(answer["sequence"], answer["repeated"])

    # -- the server ----------------------------------------------------------------------------------

    def model(self, *, state_hash: bool = False) -> dict[str, Any]:
        """Describe the served model; the hash of its state takes long for a large model."""
        answer: dict[str, Any] = self.request("GET", "/v1/model?hash=1" if state_hash else "/v1/model")
        return answer

    def models(self) -> list[dict[str, Any]]:
        """Return the models of a server with several models: name, state, and more for open ones."""
        found: list[dict[str, Any]] = self.request("GET", "/v1/models")["models"]
        return found

    def memory(self) -> int | None:
        """Return the private bytes of a server with several models; None if its system does not tell."""
        found: int | None = self.request("GET", "/v1/models")["bytes"]
        return found

    def put_model(self, name: str) -> dict[str, Any]:
        """Serve a model that was copied to the server's library, or read it again if it is served."""
        answer: dict[str, Any] = self.request("PUT", f"/v1/models/{quote(name, safe='')}")
        return answer

    def remove_model(self, name: str) -> None:
        """Stop serving a model; its files stay in the library."""
        self.request("DELETE", f"/v1/models/{quote(name, safe='')}")


def _parts(texts: Sequence[Text], most: int) -> Iterator[list[Text]]:
    """Yield texts in parts of at most `most` texts and about `BATCH_CHARACTERS` characters."""
    part: list[Text] = []
    characters = 0
    for text in texts:
        if part and (len(part) == most or characters + n_characters(text) > BATCH_CHARACTERS):
            yield part
            part, characters = [], 0
        part.append(text)
        characters += n_characters(text)
    if part:
        yield part


def _chosen(
    only: Iterable[Name] | None, without: Iterable[Name], keep_parents: bool | None, *, paths: bool
) -> dict[str, Any]:
    """Return the parts of a request that were given, so that older servers understand the others."""
    given: dict[str, Any] = {} if only is None else {"only": _items(only)}
    given |= {"without": items} if (items := _items(without)) else {}
    return {
        **given,
        **({} if keep_parents is None else {"keep_parents": keep_parents}),
        **({"paths": True} if paths else {}),
    }


def _items(given: Iterable[Name] | Name) -> list[Name]:
    return [given] if isinstance(given, str | int | float) else list(given)
