// SPDX-License-Identifier: Apache-2.0
// Fails when the JavaScript of the first load (entry and everything it imports statically) exceeds the budget.
import { readFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";

const LIMIT_BYTES = 230_000;
const dist = path.resolve(import.meta.dirname, "../../build/webui");
const manifest = JSON.parse(readFileSync(path.join(dist, ".vite/manifest.json"), "utf8"));
const seen = new Set();
const visit = (key) => {
  if (seen.has(key)) return;
  seen.add(key);
  for (const next of manifest[key].imports ?? []) visit(next);
};
visit("index.html");
const size = (file) => gzipSync(readFileSync(path.join(dist, file))).length;
const files = [...seen].map((key) => manifest[key].file);
const firstLoad = files.reduce((sum, file) => sum + size(file), 0);
const styles = new Set([...seen].flatMap((key) => manifest[key].css ?? []));
const styleBytes = [...styles].reduce((sum, file) => sum + size(file), 0);
console.log(
  `first load: ${(firstLoad / 1000).toFixed(1)} kB JavaScript (gzip) in ${files.length} files, ${(styleBytes / 1000).toFixed(1)} kB CSS; limit ${LIMIT_BYTES / 1000} kB`,
);
if (firstLoad > LIMIT_BYTES) {
  console.error("The first load is over its budget: make a route lazy or drop a dependency.");
  process.exit(1);
}
