-- SPDX-License-Identifier: Apache-2.0
-- What an account signs in with beside its password (weir.service.second_factor). The secret must be readable to
-- check a code; codes of recovery are hashes.
CREATE TABLE second_factor (
    user_id INTEGER PRIMARY KEY REFERENCES user (id) ON DELETE CASCADE,
    secret TEXT NOT NULL,
    since_ms INTEGER NOT NULL,
    last_step INTEGER NOT NULL,
    sum INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE recovery_code (
    user_id INTEGER NOT NULL REFERENCES second_factor (user_id) ON DELETE CASCADE,
    code_hash BLOB NOT NULL,
    PRIMARY KEY (user_id, code_hash)
) STRICT, WITHOUT ROWID;
