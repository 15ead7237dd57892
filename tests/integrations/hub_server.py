"""A small Hugging Face Hub: the parts of its HTTP API that huggingface_hub calls to push and to pull a model.

It speaks the API over real HTTP: repositories, branches, commits as lines of JSON, large files (Git LFS) with their
checksums, and downloads with redirects. It does not speak Xet: set HF_HUB_DISABLE_XET=1.
"""

import base64
import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

TOKEN = "hf_test"  # noqa: S105  of the stand-in
LARGE = 10_000_000  # bytes; such files, and arrays, are stored as large files


def blob_id(content: bytes) -> str:
    """Return the name of a file's content in Git."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324  Git's hash


@dataclass
class Stored:
    """A file of a commit."""

    content: bytes
    large: bool

    @property
    def etag(self) -> str:
        return hashlib.sha256(self.content).hexdigest() if self.large else blob_id(self.content)

    def described(self, path: str) -> dict:
        about = {"path": path, "type": "file", "size": len(self.content), "oid": blob_id(self.content)}
        lfs = {"oid": self.etag, "sha256": self.etag, "size": len(self.content), "pointerSize": 134}
        return {**about, "lfs": lfs} if self.large else about


@dataclass
class Repository:
    """Commits by name, and the newest commit of each branch."""

    private: bool
    commits: dict[str, dict[str, Stored]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)

    def commit(self, files: dict[str, Stored], branch: str) -> str:
        name = hashlib.sha1(f"{len(self.commits)} {sorted(files)}".encode()).hexdigest()  # noqa: S324
        self.commits[name], self.branches[branch] = files, name
        return name

    def find(self, revision: str) -> str | None:
        """Return the commit of a branch, or of the first digits of a commit."""
        if revision in self.branches:
            return self.branches[revision]
        return next((name for name in self.commits if name.startswith(revision) and len(revision) >= 7), None)

    def files(self, revision: str = "main") -> dict[str, bytes]:
        return {path: file.content for path, file in self.commits[self.find(revision)].items()}


class Refused(Exception):  # noqa: N818
    """An answer with an error."""

    def __init__(self, status: int, message: str, code: str = "", **more: str) -> None:
        self.status, self.message, self.code, self.more = status, message, code, more


class Hub:
    """The server on a free port, and its state."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.large: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.flip = b""  # if set, the last byte of downloads that begin with this is changed
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": self}))
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)

    def __enter__(self) -> "Hub":
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    # -- repositories --------------------------------------------------------------------------------

    def create(self, given: dict, **_: str) -> dict:
        name = f"{given.get('organization') or 'me'}/{given['name']}"
        if name in self.repositories:
            raise Refused(409, "You already created this model repo", url=f"{self.url}/{name}")
        repository = Repository(given.get("private") is True or given.get("visibility") == "private")
        repository.commit({".gitattributes": Stored(b"*.npy filter=lfs diff=lfs merge=lfs -text\n", False)}, "main")
        self.repositories[name] = repository
        return {"url": f"{self.url}/{name}", "name": name, "id": name}

    def _find(self, repo: str, revision: str) -> tuple[Repository, str]:
        repository = self.repositories[repo]
        commit = repository.find(unquote(revision))
        if commit is None:
            raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return repository, commit

    def info(self, repo: str, revision: str | None = None, **_: object) -> dict:
        repository, commit = self._find(repo, revision or "main")
        files = repository.commits[commit]
        siblings = []
        for path, file in files.items():
            about = file.described(path)
            lfs = {"lfs": about["lfs"]} if file.large else {}
            siblings.append({"rfilename": path, "size": about["size"], "blobId": about["oid"], **lfs})
        return {"_id": "0", "id": repo, "sha": commit, "private": repository.private, "siblings": siblings}

    def tree(self, repo: str, revision: str, **_: object) -> list:
        repository, commit = self._find(repo, revision)
        return [file.described(path) for path, file in repository.commits[commit].items()]

    def branch(self, repo: str, revision: str, **_: object) -> dict:
        repository = self.repositories[repo]
        if unquote(revision) in repository.branches:
            raise Refused(409, "Reference already exists")
        repository.branches[unquote(revision)] = repository.branches["main"]
        return {}

    # -- commits -------------------------------------------------------------------------------------

    def validate(self, given: dict, **_: object) -> dict:
        metadata = given["content"].removeprefix("---\n").partition("\n---\n")[0].splitlines()
        known = dict(line.partition(": ")[::2] for line in metadata)
        for value in known.values():
            json.loads(value)
        if known.get("license") == '"no such licence"':
            raise Refused(400, "Invalid metadata")
        return {"errors": [], "warnings": []}

    def preupload(self, repo: str, revision: str, given: dict) -> dict:
        repository, commit = self._find(repo, revision)
        files, answers = repository.commits[commit], []
        for one in given["files"]:
            large = one["path"].endswith(".npy") or one["size"] > LARGE
            oid = files[one["path"]].etag if one["path"] in files else None
            mode = "lfs" if large else "regular"
            answers.append({"path": one["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return {"files": answers}

    def batch(self, given: dict, **_: object) -> dict:
        objects = []
        for one in given["objects"]:
            upload = {"upload": {"href": f"{self.url}/storage/{one['oid']}"}}
            upload["verify"] = {"href": f"{self.url}/verify/{one['oid']}"}
            objects.append({**one, **({} if one["oid"] in self.large else {"actions": upload})})
        return {"transfer": "basic", "objects": objects}

    def commit(self, repo: str, revision: str, given: list[dict]) -> dict:
        repository, parent = self._find(repo, revision)
        files = dict(repository.commits[parent])
        for line in given:
            value = line["value"]
            if line["key"] == "header" and value.get("parentCommit", parent) != parent:
                raise Refused(412, "A commit has happened since. Please refresh and try again.")
            if line["key"] == "file":
                files[value["path"]] = Stored(base64.b64decode(value["content"]), False)
            elif line["key"] == "lfsFile":
                if len(self.large.get(value["oid"], b"")) != value["size"]:
                    raise Refused(400, f"{value['path']} was not uploaded")
                files[value["path"]] = Stored(self.large[value["oid"]], True)
            elif line["key"] == "deletedFile":
                del files[value["path"]]
        name = repository.commit(files, unquote(revision))
        return {"commitUrl": f"{self.url}/{repo}/commit/{name}", "commitOid": name, "success": True}


class Handler(BaseHTTPRequestHandler):
    """One request: routed by its method and path."""

    protocol_version = "HTTP/1.1"
    hub: Hub
    ROUTES = (
        ("POST", r"/api/repos/create", "create"),
        ("POST", r"/api/validate-yaml", "validate"),
        ("POST", r"/api/models/(?P<repo>[^/]+/[^/]+)/preupload/(?P<revision>.+)", "preupload"),
        ("POST", r"/api/models/(?P<repo>[^/]+/[^/]+)/commit/(?P<revision>.+)", "commit"),
        ("POST", r"/api/models/(?P<repo>[^/]+/[^/]+)/branch/(?P<revision>.+)", "branch"),
        ("POST", r"/(?P<repo>[^/]+/[^/]+)\.git/info/lfs/objects/batch", "batch"),
        ("GET", r"/api/models/(?P<repo>[^/]+/[^/]+)/tree/(?P<revision>[^/]+)", "tree"),
        ("GET", r"/api/models/(?P<repo>[^/]+/[^/]+)(/revision/(?P<revision>[^/]+))?", "info"),
    )

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, status: int, content: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def _check(self, repo: str | None) -> None:
        """Refuse changes without a token, and everything about a repository that the client may not know."""
        known = self.headers.get("Authorization") == f"Bearer {TOKEN}"
        if not known and self.command == "POST":
            raise Refused(401, "Invalid credentials in Authorization header")
        if repo is not None and (repo not in self.hub.repositories or not (known or self._is_public(repo))):
            raise Refused(401 if not known else 404, "Repository not found", "RepoNotFound")

    def _is_public(self, repo: str) -> bool:
        return not self.hub.repositories[repo].private

    def _call(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = urlsplit(self.path).path
        self.hub.requests.append(f"{self.command} {path}")
        try:
            for method, pattern, name in self.ROUTES:
                found = re.fullmatch(pattern, path)
                if found and method == self.command:
                    arguments = found.groupdict()
                    self._check(arguments.get("repo"))
                    if method == "POST":
                        lines = [json.loads(line) for line in body.splitlines()] if name == "commit" else None
                        arguments["given"] = json.loads(body or b"{}") if lines is None else lines
                    answer = json.dumps(getattr(self.hub, name)(**arguments)).encode()
                    return self._answer(200, answer, Content_Type="application/json")
            return self._file(path, body)
        except Refused as error:
            headers = {"X_Error_Message": error.message, "Content_Type": "application/json"}
            headers |= {"X_Error_Code": error.code} if error.code else {}
            content = json.dumps({"error": error.message, **error.more}).encode()
            return self._answer(error.status, content, **headers)

    def _file(self, path: str, body: bytes) -> None:
        """Store or send a large file by its checksum, or find a file by its name."""
        storage = re.fullmatch(r"/(storage|verify)/([0-9a-f]{64})", path)
        named = re.fullmatch(r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path)
        if storage and self.command == "PUT":
            if hashlib.sha256(body).hexdigest() != storage[2]:
                raise Refused(400, "the checksum does not match")
            self.hub.large[storage[2]] = body
            return self._answer(200)
        if storage and self.command == "POST":
            if len(self.hub.large.get(storage[2], b"")) != json.loads(body)["size"]:
                raise Refused(400, "the size does not match")
            return self._answer(200)
        if storage and storage[2] in self.hub.large:
            return self._send(self.hub.large[storage[2]], ETag=f'"{storage[2]}"')
        if named is None:
            raise Refused(404, f"{self.command} {path} is not part of the stand-in")
        self._check(named[1])
        files = self.hub.repositories[named[1]].commits
        commit = self.hub.repositories[named[1]].find(named[2])
        if commit is None or named[3] not in files[commit]:
            raise Refused(404, "Entry not found", "EntryNotFound" if commit else "RevisionNotFound")
        file = files[commit][named[3]]
        if not file.large:
            return self._send(file.content, ETag=f'"{file.etag}"', X_Repo_Commit=commit)
        linked = {"X_Linked_ETag": f'"{file.etag}"', "X_Linked_Size": str(len(file.content))}
        elsewhere = self.hub.url.replace("127.0.0.1", "localhost")  # large files come from another host
        return self._answer(302, Location=f"{elsewhere}/storage/{file.etag}", X_Repo_Commit=commit, **linked)

    def _send(self, content: bytes, **headers: str) -> None:
        if self.hub.flip and content.startswith(self.hub.flip) and len(content) > 256:  # not only a header
            content = content[:-1] + bytes([content[-1] ^ 1])
        self._answer(200, content, Content_Length=str(len(content)), **headers)

    do_GET = do_HEAD = do_POST = do_PUT = _call  # noqa: N815  names of the library
