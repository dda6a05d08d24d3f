// SPDX-License-Identifier: Apache-2.0
// Puts the licence line on top of the generated types.
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const file = path.resolve(import.meta.dirname, "../src/api/schema.d.ts");
writeFileSync(file, `// SPDX-License-Identifier: Apache-2.0\n${readFileSync(file, "utf8")}`);
