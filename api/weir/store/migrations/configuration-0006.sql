-- SPDX-License-Identifier: Apache-2.0
-- Queues alone are listed by parent and by limit: 100,000 objects of another kind need not be in these indexes
-- (docs/adr/0140).

DROP INDEX object_now_parent;
DROP INDEX object_now_upload;
DROP INDEX object_now_download;
CREATE INDEX object_now_parent ON object_version (kind, parent, position, id)
WHERE to_revision IS NULL AND kind = 'queue';
CREATE INDEX object_now_upload ON object_version (kind, max_limit_upload_bps, id)
WHERE to_revision IS NULL AND kind = 'queue';
CREATE INDEX object_now_download ON object_version (kind, max_limit_download_bps, id)
WHERE to_revision IS NULL AND kind = 'queue';
