-- SPDX-License-Identifier: Apache-2.0
-- Browsers that somebody has signed in with: they are let try the password while their address is throttled.
CREATE TABLE device (
    secret_hash BLOB PRIMARY KEY,
    user_id INTEGER NOT NULL REFERENCES user (id) ON DELETE CASCADE,
    last_used_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX device_user ON device (user_id);
