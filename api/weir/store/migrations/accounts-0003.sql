-- SPDX-License-Identifier: Apache-2.0
-- Sums of what decides who may do what (weir.store.account_sums): a scope or a date that changed on the disk is not obeyed.
ALTER TABLE user ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE session ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
ALTER TABLE token ADD COLUMN sum INTEGER NOT NULL DEFAULT 0;
