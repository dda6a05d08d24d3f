-- SPDX-License-Identifier: Apache-2.0
-- Checksums, and a history that is bound in bytes (docs/adr/0026 and 0105).
-- weir.store.sums fills in the sums, contents and digests of what is there already.

ALTER TABLE object_version ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
-- The sum of the sums of all versions that hold at a revision, modulo 2^64; 0 where they are no longer kept.
ALTER TABLE revision ADD COLUMN content INTEGER NOT NULL DEFAULT 0;
-- Of the revision before, this row and its content: equal digests mean equal histories.
ALTER TABLE revision ADD COLUMN digest BLOB NOT NULL DEFAULT x'';
ALTER TABLE pending_confirmation ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE candidate_change ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;

-- What the versions that have ended take, indexes included, as weir.store.retention estimates it.
ALTER TABLE history ADD COLUMN ended_bytes INTEGER NOT NULL DEFAULT 0;
