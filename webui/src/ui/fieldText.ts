// SPDX-License-Identifier: Apache-2.0
/** Fields of the model as an operator reads them: in the diff, in the history, in a queue's changes. */
import type { FieldChange } from "@/api/types";
import { declaredLabel, defaultsOf } from "@/kinds/kinds";
import { durationText, exactRate } from "./rates";

/** What an object has when nobody says anything; an added object is shown without it. */
const defaultOf = (kind: string, field: string): unknown => {
  const [name = "", ...inner] = field.split(".");
  return inner.reduce<unknown>(
    (value, key) =>
      typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined,
    defaultsOf(kind)[name],
  );
};
const NO_TOTAL = defaultsOf("queue")["total"] as Readonly<Record<string, unknown>>;

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0);

/** Whether a field of an added or removed object says anything. */
export const isTelling = (kind: string, field: string, value: unknown, name: string): boolean =>
  !isEmpty(value) &&
  !same(value, defaultOf(kind, field)) &&
  !(["id", "name"].includes(field) && value === name);

const isPair = (value: object): value is { upload: unknown; download: unknown } =>
  "upload" in value && "download" in value;

/** A field's value in words; the field's name says the unit, and what 0 means. */
export function valueText(field: string, value: unknown): string {
  if (isEmpty(value)) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") {
    if (field.includes("_bps"))
      return value > 0 ? exactRate(value) : field.includes("max_limit") ? "unlimited" : "none";
    if (field.includes("_ms")) return durationText(value);
    if (field.endsWith("_bytes")) return `${value} bytes`;
    if (field === "vrf_table" && value === 0) return "by its name";
    return String(value);
  }
  if (Array.isArray(value)) return value.map((item) => valueText(field, item)).join(", ");
  if (typeof value !== "object" || value === null) return String(value);
  if (isPair(value))
    return `upload ${valueText(field, value.upload)}, download ${valueText(field, value.download)}`;
  const defaults: Record<string, unknown> = field === "total" ? NO_TOTAL : {};
  const told = Object.entries(value).filter(([name, inner]) => !same(inner, defaults[name]));
  return (
    told.map(([name, inner]) => `${innerWords(name)} ${valueText(`${field}.${name}`, inner)}`).join(", ") ||
    "none"
  );
}

const withoutUnit = (name: string): string => name.replace(/_(bps|ms|bytes|s)$/, "").replaceAll("_", " ");

/** A field inside another. */
const innerWords = (name: string): string =>
  withoutUnit(name).replace(/\b(mtu|vlan|vrf|id)\b/g, (word) => word.toUpperCase());

const titled = (words: string): string => words.charAt(0).toUpperCase() + words.slice(1);

/** A field as it is declared: `max_limit_bps.upload` of a queue is "Max limit, upload". */
export function fieldWords(kind: string, field: string): string {
  const [first = "", ...inner] = field.split(".");
  const label = declaredLabel(kind, first) ?? titled(innerWords(first));
  return [label, ...inner.map(innerWords)].join(", ");
}

/** The fields of a change that are worth a line; a place in the list says nothing of an object that comes or goes. */
export const tellingFields = (
  kind: string,
  fields: readonly FieldChange[],
  action: "add" | "change" | "remove",
  name: string,
): readonly FieldChange[] =>
  action === "change"
    ? fields
    : fields.filter(
        (field) =>
          field.field !== "position" &&
          isTelling(kind, field.field, action === "add" ? field.new : field.old, name),
      );
