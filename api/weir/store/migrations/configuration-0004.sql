-- SPDX-License-Identifier: Apache-2.0
-- When each change was staged: another window of the same account is told (docs/adr/0026).

ALTER TABLE candidate_change ADD COLUMN staged_at_ms INTEGER NOT NULL DEFAULT 0;
