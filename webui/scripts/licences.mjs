// SPDX-License-Identifier: Apache-2.0
// Writes build/webui/licences.txt: whose work is in the interface besides ours, and under which terms it is handed on.
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");
const lock = JSON.parse(readFileSync(path.join(root, "package-lock.json"), "utf8"));

/** A package's licence files; one that brings none (react-remove-scroll-bar) says it in package.json only. */
const texts = (folder) => {
  const files = readdirSync(folder)
    .filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
    .sort();
  return files.map((file) => readFileSync(path.join(folder, file), "utf8").trim());
};

const parts = Object.entries(lock.packages).filter(
  ([place, part]) => place !== "" && !part.dev && !part.devOptional,
);
const chapters = parts.map(([place, part]) => {
  if (!part.license) throw new Error(`${place} names no licence`);
  const title = `${place.replace(/^.*node_modules\//, "")} ${part.version} (${part.license})`;
  return [`${title}\n${"=".repeat(title.length)}`, ...texts(path.join(root, place))].join("\n\n");
});
writeFileSync(path.resolve(root, "../build/webui/licences.txt"), `${chapters.join("\n\n\n")}\n`);
