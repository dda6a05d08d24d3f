-- SPDX-License-Identifier: Apache-2.0
-- The configuration: revisions, object versions with the span of revisions in which each holds,
-- what is staged, and the one change that may be waiting for its confirmation.

CREATE TABLE revision (
    number INTEGER PRIMARY KEY CHECK (number >= 0),
    kind TEXT NOT NULL CHECK (kind IN ('initial', 'commit', 'restore', 'rollback')),
    author TEXT NOT NULL,
    source TEXT NOT NULL,
    message TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    restores INTEGER REFERENCES revision (number),
    changes INTEGER NOT NULL CHECK (changes >= 0)
) STRICT;

INSERT INTO revision VALUES (
    0, 'initial', 'weir', '', 'empty configuration', CAST(strftime('%s', 'now') AS INTEGER) * 1000, NULL, 0
);

-- A version holds from `from_revision` (inclusive) to `to_revision` (exclusive; NULL: until now).
-- The columns beside `body` are copies of its fields for filters and sorting.
CREATE TABLE object_version (
    serial INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    from_revision INTEGER NOT NULL REFERENCES revision (number),
    to_revision INTEGER REFERENCES revision (number),
    name TEXT NOT NULL,
    parent TEXT,
    position INTEGER NOT NULL,
    disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    max_limit_upload_bps INTEGER NOT NULL,
    max_limit_download_bps INTEGER NOT NULL,
    search TEXT NOT NULL,
    body TEXT NOT NULL,
    CHECK (to_revision > from_revision)
) STRICT;

CREATE UNIQUE INDEX object_version_start ON object_version (kind, id, from_revision);
CREATE UNIQUE INDEX object_now ON object_version (kind, id) WHERE to_revision IS NULL;
CREATE INDEX object_version_from ON object_version (from_revision);
CREATE INDEX object_version_to ON object_version (to_revision) WHERE to_revision IS NOT NULL;
CREATE INDEX object_now_position ON object_version (kind, position, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_parent ON object_version (kind, parent, position, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_name ON object_version (kind, name, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_upload ON object_version (kind, max_limit_upload_bps, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_download ON object_version (kind, max_limit_download_bps, id) WHERE to_revision IS NULL;
CREATE INDEX object_now_search ON object_version (kind, search) WHERE to_revision IS NULL;
CREATE INDEX object_now_disabled ON object_version (kind, position, id)
WHERE to_revision IS NULL AND disabled = 1;

-- The prefixes in the targets of the queues that hold now: family, length, address bytes.
CREATE TABLE target_now (
    prefix BLOB NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (prefix, id)
) STRICT, WITHOUT ROWID;

-- One candidate per user. `seen_revision` names the version that the user changed (NULL: there was none).
CREATE TABLE candidate (
    owner TEXT PRIMARY KEY,
    base_revision INTEGER NOT NULL REFERENCES revision (number),
    created_at_ms INTEGER NOT NULL,
    last_serial INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE candidate_change (
    owner TEXT NOT NULL REFERENCES candidate (owner) ON DELETE CASCADE,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    serial INTEGER NOT NULL,
    seen_revision INTEGER,
    body TEXT,
    PRIMARY KEY (owner, kind, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE pending_confirmation (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    revision INTEGER NOT NULL REFERENCES revision (number),
    base_revision INTEGER NOT NULL REFERENCES revision (number),
    window_s INTEGER NOT NULL CHECK (window_s > 0),
    deadline_wall_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    deadline_boottime_ms INTEGER NOT NULL,
    token_hash BLOB NOT NULL,
    author TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL
) STRICT;
