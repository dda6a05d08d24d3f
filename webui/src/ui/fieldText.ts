// SPDX-License-Identifier: Apache-2.0
/** Fields of the model as an operator reads them: in the diff, in the history, in a queue's changes. */
import type { FieldChange } from "@/api/types";
import { DECLARED, declaredLabel, defaultsOf, type Field } from "@/kinds/kinds";
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

/** A field in a group or in the rows of another one, by its path. */
const declaredAt = (kind: string, path: string): Field | undefined => {
  const [first, ...inner] = path.split(".");
  return inner.reduce<Field | undefined>(
    (within, name) =>
      within !== undefined && "fields" in within
        ? within.fields.find((field) => field.name === name)
        : undefined,
    DECLARED.get(kind)?.fields.find((field) => field.name === first),
  );
};

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0);

/** Whether a field of an added or removed object says anything. */
export const isTelling = (kind: string, field: string, value: unknown, name: string): boolean =>
  !isEmpty(value) &&
  !same(value, defaultOf(kind, field)) &&
  !(["id", "name"].includes(field) && value === name);

const isSecret = (value: object): value is { set: boolean } =>
  "set" in value && typeof value.set === "boolean" && Object.keys(value).length === 1;

const isPair = (value: object): value is { upload: unknown; download: unknown } =>
  "upload" in value && "download" in value;

/** A number with its unit, which the field's name ends in, and what 0 means. */
function numberText(field: string, value: number): string {
  const unit = /_(bps|bytes|ms|us|ns|s)(\.|$)/.exec(field)?.[1];
  switch (unit) {
    case "bps":
      return value > 0 ? exactRate(value) : field.includes("max_limit") ? "unlimited" : "none";
    case "ms":
      return durationText(value);
    case "s":
      return durationText(value * 1000);
    case undefined:
      return field === "vrf_table" && value === 0 ? "by its name" : String(value);
    case "us":
      return `${value} µs`;
    default:
      return `${value} ${unit}`;
  }
}

/** A field's value in words. Of what a field holds, only what is not its default. */
export function valueText(kind: string, field: string, value: unknown): string {
  if (isEmpty(value)) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return numberText(field, value);
  if (Array.isArray(value)) return listText(kind, field, value);
  if (typeof value !== "object" || value === null) return String(value);
  if (isPair(value))
    return `upload ${valueText(kind, field, value.upload)}, download ${valueText(kind, field, value.download)}`;
  if (isSecret(value)) return value.set ? "set" : "has to be entered again";
  const told = Object.entries(value).filter(([name, inner]) => {
    const path = `${field}.${name}`;
    const declared = declaredAt(kind, path);
    return !same(inner, declared ? declared.default : defaultOf(kind, path));
  });
  const words = told.map(
    ([name, inner]) => `${innerWords(name)} ${valueText(kind, `${field}.${name}`, inner)}`,
  );
  return words.join(", ") || (declaredAt(kind, field)?.type === "group" ? "as by default" : "none");
}

function listText(kind: string, field: string, items: readonly unknown[]): string {
  const between = items.some((item) => typeof item === "object" && item !== null) ? "; " : ", ";
  return items.map((item) => valueText(kind, field, item)).join(between);
}

const withoutUnit = (name: string): string =>
  name.replace(/_(bps|bytes|ms|us|ns|s)$/, "").replaceAll("_", " ");

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
