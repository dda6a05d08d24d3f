-- SPDX-License-Identifier: Apache-2.0
-- A scope for who looks after customers. What a table allows is text in the schema, and no row changes with it
-- (https://sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes").
PRAGMA writable_schema = ON;
UPDATE sqlite_schema
SET sql = replace(sql, '(''read'', ''write'', ''admin'')', '(''read'', ''support'', ''write'', ''admin'')')
WHERE type = 'table' AND name IN ('user', 'token');
PRAGMA writable_schema = RESET;
