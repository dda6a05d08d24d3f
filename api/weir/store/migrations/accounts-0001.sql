-- SPDX-License-Identifier: Apache-2.0
-- Who may do what, and who did. In a file of its own: signing in never waits for a commit that is
-- being applied, and the privileged agent never opens it. Secrets are stored as hashes only.

CREATE TABLE user (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    username TEXT NOT NULL UNIQUE COLLATE NOCASE,
    password_hash TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    must_change_password INTEGER NOT NULL CHECK (must_change_password IN (0, 1)),
    disabled INTEGER NOT NULL CHECK (disabled IN (0, 1)),
    created_at_ms INTEGER NOT NULL,
    password_changed_at_ms INTEGER NOT NULL,
    last_sign_in_at_ms INTEGER
) STRICT;

CREATE TABLE session (
    secret_hash BLOB PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    user_id INTEGER NOT NULL REFERENCES user (id) ON DELETE CASCADE,
    created_at_ms INTEGER NOT NULL,
    last_seen_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER NOT NULL,
    source TEXT NOT NULL,
    user_agent TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX session_user ON session (user_id);

CREATE TABLE token (
    secret_hash BLOB PRIMARY KEY,
    public_id TEXT NOT NULL UNIQUE,
    user_id INTEGER NOT NULL REFERENCES user (id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    scope TEXT NOT NULL CHECK (scope IN ('read', 'write', 'admin')),
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    last_used_at_ms INTEGER,
    last_used_from TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX token_user ON token (user_id);

CREATE TABLE throttle (
    subject TEXT PRIMARY KEY,
    failures INTEGER NOT NULL,
    blocked_until_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    via TEXT NOT NULL,
    source TEXT NOT NULL,
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    outcome TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
