"""The tables of a journal in PostgreSQL, and the statements that read and write them."""

CHANNEL = "abound"  # of notifications
PAGE_RECORDS = 500
META = "SELECT content, checksum FROM meta"
END = "SELECT sequence, checksum FROM record ORDER BY sequence DESC LIMIT 1"
PAGE = (
    "SELECT sequence, time, key, origin, payload, salt, digest, checksum FROM record"
    " WHERE sequence >= %s ORDER BY sequence LIMIT %s"
)
KEYS = "SELECT key, sequence, time, digest, checksum FROM key"
# For each key a search in the index, even if the statement was prepared when the table was empty.
FIND_KEYS = (
    "SELECT known.* FROM unnest(%b::bytea[]) AS wanted (key) CROSS JOIN LATERAL"
    " (SELECT key, sequence, time, digest, checksum FROM key WHERE key.key = wanted.key LIMIT 1) AS known"
)
SKIPS = "SELECT sequence, time, record, reason, checksum FROM skip ORDER BY sequence"
BEGIN_TURN = "SELECT pg_advisory_lock(%s), set_config('idle_session_timeout', '5s', false)"
END_TURN = "SELECT pg_advisory_unlock(%s), set_config('idle_session_timeout', '0', false)"
# One statement for many rows, each column as an array.
INSERT_RECORDS = (
    "INSERT INTO record SELECT * FROM unnest(%b::bigint[], %b::bigint[], %b::bytea[], %b::bytea[], %b::bytea[],"
    " %b::bytea[], %b::bytea[], %b::bytea[])"
)
INSERT_KEYS = (
    "INSERT INTO key SELECT * FROM unnest(%b::bytea[], %b::bigint[], %b::bigint[], %b::bytea[], %b::bytea[])"
    " ON CONFLICT (key) DO UPDATE SET sequence = excluded.sequence, time = excluded.time, digest = excluded.digest,"
    " checksum = excluded.checksum"
)
SCHEMA = (
    "CREATE TABLE meta (one integer PRIMARY KEY CHECK (one = 1), content bytea NOT NULL, checksum bytea NOT NULL)",
    "CREATE TABLE record (sequence bigint PRIMARY KEY, time bigint NOT NULL, key bytea, origin bytea, payload bytea,"
    " salt bytea, digest bytea NOT NULL, checksum bytea NOT NULL)",
    "CREATE TABLE key (key bytea PRIMARY KEY, sequence bigint NOT NULL, time bigint NOT NULL, digest bytea NOT NULL,"
    " checksum bytea NOT NULL)",
    "CREATE INDEX key_sequence ON key (sequence)",
    "CREATE TABLE skip (sequence bigint PRIMARY KEY, time bigint NOT NULL, record bytea NOT NULL,"
    " reason bytea NOT NULL, checksum bytea NOT NULL)",
    "CREATE TABLE control (sequence bigint PRIMARY KEY, payload bytea NOT NULL, checksum bytea NOT NULL)",
    "CREATE TABLE lease (name text PRIMARY KEY, holder text NOT NULL, until timestamptz NOT NULL)",
    "CREATE TABLE base (name text PRIMARY KEY, state_hash text NOT NULL)",
)
