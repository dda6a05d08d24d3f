-- SPDX-License-Identifier: Apache-2.0
-- Limits of queues that are raised for a while, and what they go back to (docs/adr/0138).

CREATE TABLE raised_limit (
    queue_id TEXT PRIMARY KEY,
    upload_bps INTEGER NOT NULL,
    download_bps INTEGER NOT NULL,
    before_upload_bps INTEGER NOT NULL,
    before_download_bps INTEGER NOT NULL,
    author TEXT NOT NULL,
    begun_at_ms INTEGER NOT NULL,
    window_s INTEGER NOT NULL CHECK (window_s > 0),
    deadline_wall_ms INTEGER NOT NULL,
    boot_id TEXT NOT NULL,
    deadline_boottime_ms INTEGER NOT NULL,
    sum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
