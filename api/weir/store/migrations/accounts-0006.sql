-- SPDX-License-Identifier: Apache-2.0
-- Security keys and passkeys (docs/adr/0252). A second factor without an authenticator app has no secret; what a table allows is
-- text in the schema, as in the migration before.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'secret TEXT NOT NULL', 'secret TEXT')
WHERE type = 'table' AND name = 'second_factor';
PRAGMA writable_schema = RESET;

-- The public half only. sign_count is the highest counter that the key has told.
CREATE TABLE security_key (
    public_id TEXT PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES second_factor (user_id) ON DELETE CASCADE,
    name TEXT NOT NULL COLLATE NOCASE,
    credential_id BLOB NOT NULL UNIQUE,
    public_key BLOB NOT NULL,
    algorithm INTEGER NOT NULL,
    origin TEXT NOT NULL,
    rp_id TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    sign_count INTEGER NOT NULL,
    last_used_at_ms INTEGER,
    sum INTEGER NOT NULL DEFAULT 0,
    UNIQUE (user_id, name)
) STRICT, WITHOUT ROWID;
