// SPDX-License-Identifier: Apache-2.0
// Fails when src/api/schema.d.ts is not what docs/api/openapi.json generates.
import openapiTS, { astToString } from "openapi-typescript";
import { readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";

const root = path.resolve(import.meta.dirname, "..");
const document = pathToFileURL(path.resolve(root, "../docs/api/openapi.json"));
const fresh = astToString(await openapiTS(document));
const committed = readFileSync(path.join(root, "src/api/schema.d.ts"), "utf8");
if (!committed.endsWith(fresh)) {
  console.error(
    "src/api/schema.d.ts is out of date with docs/api/openapi.json: run `npm run generate` and commit it.",
  );
  process.exit(1);
}
console.log("src/api/schema.d.ts is current.");
