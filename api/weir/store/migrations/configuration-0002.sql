-- SPDX-License-Identifier: Apache-2.0
-- Since which revision the history is complete: versions that ended before are given up (docs/adr/0026).

CREATE TABLE history (
    only_one INTEGER PRIMARY KEY CHECK (only_one = 1),
    complete_from INTEGER NOT NULL
) STRICT;
INSERT INTO history VALUES (1, 0);
