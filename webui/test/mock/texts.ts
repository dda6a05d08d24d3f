// SPDX-License-Identifier: Apache-2.0
/** Every text of the interface that has more than one word: of its source, and of the declarations. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

export interface Text {
  where: string;
  text: string;
}

export const sourcesIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return sourcesIn(path);
    return /\.tsx?$/.test(entry.name) && !entry.name.endsWith("schema.d.ts") ? [path] : [];
  });

/** What stands in a node; `…` for what is put in later. */
function textOf(node: ts.Node): string | null {
  if (ts.isJsxText(node)) return node.text;
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (ts.isTemplateExpression(node))
    return [node.head.text, ...node.templateSpans.map((span) => `…${span.literal.text}`)].join("");
  return null;
}

export function textsOf(where: string, source: string): Text[] {
  const found: Text[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) return;
    const text = textOf(node)?.replace(/\s+/g, " ").trim();
    if (text && /[A-Za-z]{2}/.test(text) && text.includes(" ")) found.push({ where, text });
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile(where, source, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX));
  return found;
}

const SAID = new Set(["help", "label", "name", "singular", "plural", "text"]);

/** The texts of a document of declarations, by the names of their fields. */
function declaredIn(where: string, value: unknown, name = ""): Text[] {
  if (typeof value === "string") return SAID.has(name) && value.includes(" ") ? [{ where, text: value }] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) => declaredIn(where, inner, key));
}

export const allTexts = (): Text[] => [
  ...sourcesIn("src").flatMap((path) => textsOf(path, readFileSync(path, "utf8"))),
  ...["src/kinds/forms.json", "src/kinds/names.json"].flatMap((path) =>
    declaredIn(path, JSON.parse(readFileSync(path, "utf8"))),
  ),
];
