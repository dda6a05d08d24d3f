// SPDX-License-Identifier: Apache-2.0
/** What a form has of an object while it is typed, and the object that is read from it. */
import { countText } from "@/ui/format";
import { parseDuration, parseRate, type Parsed } from "@/ui/rates";
import type { Declared, Field, Shape, Unit } from "../kinds";
import { holds, numberWords, textOf } from "../values";

export type Draft = Readonly<Record<string, unknown>>;
export type Messages = Record<string, string>;

/** A secret is never read: it is kept as it is, replaced by `text`, or cleared. */
export interface SecretDraft {
  isSet: boolean;
  wish: "keep" | "replace" | "clear";
  text: string;
}

export interface Entry {
  key: string;
  value: unknown;
  /** It was stored under a name that has a meaning for other objects only: nobody typed it, so it is kept. */
  isKept?: boolean;
}

type TableShape = Extract<Shape, { type: "table" }>;

/** The names in a table that have fields of their own, for an object as a form has it. */
export const knownIn = ({ known = [] }: TableShape, draft: Draft): readonly Field[] =>
  known.filter((field) => holds(field.when, draft));

/** The entries that no field is for. What was typed for an object of another sort waits until it is one again. */
export function othersIn(shape: TableShape, entries: readonly Entry[], draft: Draft): readonly Entry[] {
  const here = new Set(knownIn(shape, draft).map((field) => field.name));
  const anywhere = new Set(shape.known?.map((field) => field.name));
  return entries.filter(({ key, isKept }) => !here.has(key) && (isKept === true || !anywhere.has(key)));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A value as its field shows it. */
export function draftOf(shape: Shape, value: unknown): unknown {
  switch (shape.type) {
    case "flag":
      return value === true;
    case "whole":
      return isTyped(shape.unit) && typeof value === "number"
        ? numberWords(value, shape.unit)
        : textOf(value);
    case "rows":
      return Array.isArray(value)
        ? value.map((item: unknown) => draftOfFields(shape.fields, asObject(item)))
        : [];
    case "many":
      return Array.isArray(value) ? value.map((item) => draftOf(shape.item, item)) : [];
    case "table":
      return Object.entries(isObject(value) ? value : {}).map(([key, item]): Entry => ({
        key,
        value: draftOf(shape.item, item),
      }));
    case "group":
      return isObject(value) ? draftOfFields(shape.fields, value) : null;
    case "secret": {
      const isSet = isObject(value) && value["set"] === true;
      return { isSet, wish: isSet ? "keep" : "replace", text: "" } satisfies SecretDraft;
    }
    case "json":
      return value === null || value === undefined ? "" : JSON.stringify(value, null, 2);
  }
  return textOf(value);
}

const asObject = (value: unknown): Draft => (isObject(value) ? value : {});

/** Units that people type: `10M`, `1m30s`. */
export const isTyped = (unit: Unit | undefined): unit is "bps" | "s" | "ms" =>
  unit === "bps" || unit === "s" || unit === "ms";

/** A group or a row that is new: its defaults. */
export const blankOf = (fields: readonly Field[]): Draft =>
  Object.fromEntries(fields.map((field) => [field.name, draftOf(field, field.default)]));

const draftOfFields = (fields: readonly Field[], values: Draft): Draft =>
  Object.fromEntries(
    fields.map((field) => {
      const draft = draftOf(field, values[field.name]);
      return [field.name, field.type === "table" ? marked(field, draft as readonly Entry[], values) : draft];
    }),
  );

function marked(shape: TableShape, entries: readonly Entry[], values: Draft): readonly Entry[] {
  const here = new Set(knownIn(shape, values).map((field) => field.name));
  return shape.known
    ? entries.map((entry) => (here.has(entry.key) ? entry : { ...entry, isKept: true }))
    : entries;
}

/** Fields that people fill in: what an object is one of is a choice of its own, and its place is where it stands. */
export const typedFields = ({ fields, oneOf }: Pick<Declared, "fields" | "oneOf">): readonly Field[] =>
  fields.filter((field) => field.type !== "position" && field.name !== oneOf?.field);

/** The form of an object, or of a new one with its defaults; `begins`: what a new one is, of all that it can be. */
export function draftOfObject(declared: Declared, object: Draft | null, begins?: string): Draft {
  const values: Draft = object ?? declared.defaults;
  const { oneOf } = declared;
  const found = oneOf?.cases.find((item) => item.member !== "" && values[item.member] != null);
  const which = textOf(begins ?? values[oneOf?.field ?? ""] ?? found?.name ?? oneOf?.cases[0]?.name);
  const draft = { id: object?.["id"] ?? "", ...draftOfFields(typedFields(declared), values) };
  return { ...draft, ...chosen(declared, draft, which) };
}

/** What a form has after a choice of what the object is: a group that only this has is there, and a number that
 * only this has begins at its lowest. */
export function chosen({ oneOf, fields }: Declared, draft: Draft, name: string): Draft {
  if (!oneOf) return {};
  const member = oneOf.cases.find((item) => item.name === name)?.member;
  const field = fields.find((item) => item.name === member);
  const now = field && draft[field.name];
  if (field?.type === "group" && now === null)
    return { [oneOf.field]: name, [field.name]: blankOf(field.fields) };
  if (field?.type === "whole" && now === "")
    return { [oneOf.field]: name, [field.name]: draftOf(field, field.low) };
  return { [oneOf.field]: name };
}

/** Whether a form offers a field: its condition holds, and it belongs to what the object is. */
export function isOffered(declared: Declared, field: Field, draft: Draft): boolean {
  const owner = declared.oneOf?.cases.find((item) => item.member === field.name);
  return (!owner || draft[declared.oneOf?.field ?? ""] === owner.name) && holds(field.when, draft);
}

class Reading {
  readonly messages: Messages = {};

  wrong(path: string, message: string): void {
    this.messages[path] ??= message;
  }

  private whole({ low, high, unit }: Numbers, text: string, path: string): unknown {
    const parsed = parseNumber(text, unit);
    if (parsed.ok && parsed.value >= low && parsed.value <= high) return parsed.value;
    if (!isTyped(unit)) this.wrong(path, `A whole number from ${countText(low)} to ${countText(high)}.`);
    else if (!parsed.ok) this.wrong(path, parsed.message);
    else this.wrong(path, `From ${numberWords(low, unit)} to ${numberWords(high, unit)}.`);
    return undefined;
  }

  private json(text: string, path: string): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch {
      this.wrong(path, "This is not JSON.");
      return undefined;
    }
  }

  /** The value that was typed; undefined: none, or a wrong one. */
  value(shape: Shape, draft: unknown, path: string, within: Draft = {}): unknown {
    switch (shape.type) {
      case "flag":
        return draft === true;
      case "many":
        return this.list(shape, draft as readonly unknown[], path);
      case "table":
        return this.table(shape, draft as readonly Entry[], path, within);
      case "group":
        return isObject(draft) ? this.fields(shape.fields, draft, `${path}.`) : undefined;
      case "rows":
        return this.rows(shape, draft as readonly Draft[], path);
      case "secret":
        return secret(draft as SecretDraft, shape.made === true);
    }
    const text = textOf(draft).trim();
    if (text === "") return undefined;
    switch (shape.type) {
      case "whole":
      case "port":
        return this.whole(shape, text, path);
      case "json":
        return this.json(text, path);
      case "text":
        return this.text(shape, textOf(draft), path);
    }
    return text;
  }

  private text({ pattern, unit }: Extract<Shape, { type: "text" }>, text: string, path: string): string {
    const parsed = unit === undefined ? null : parseNumber(text.trim(), unit);
    if (parsed && !parsed.ok) this.wrong(path, parsed.message);
    if (pattern !== undefined && !new RegExp(`^(?:${pattern})$`).test(text.trim()))
      this.wrong(path, "This is not understood.");
    return text;
  }

  private list(shape: { item: Shape; most: number }, items: readonly unknown[], path: string): unknown[] {
    const filled = items
      .map((item, index) => [item, index] as const)
      .filter(([item]) => typeof item !== "string" || item.trim() !== "");
    if (filled.length > shape.most) this.wrong(path, `At most ${shape.most}.`);
    return filled.flatMap(([item, index]) => {
      const value = this.value(shape.item, item, `${path}.${index}`);
      return value === undefined ? [] : [value];
    });
  }

  private rows(
    shape: { fields: readonly Field[]; most: number },
    rows: readonly Draft[],
    path: string,
  ): unknown[] {
    if (rows.length > shape.most) this.wrong(path, `At most ${shape.most}.`);
    return rows.map((row, index) => this.fields(shape.fields, row, `${path}.${index}.`));
  }

  private table(
    shape: TableShape,
    entries: readonly Entry[],
    path: string,
    within: Draft,
  ): Record<string, unknown> {
    const filled = othersIn(shape, entries, within).filter((entry) => entry.key.trim() !== "");
    if (new Set(filled.map((entry) => entry.key.trim())).size < filled.length)
      this.wrong(path, "Each name may stand here once.");
    const known = knownIn(shape, within).flatMap((field): [string, unknown][] => {
      const text = entries.find((entry) => entry.key === field.name)?.value;
      const value = this.value(field, text, `${path}.${field.name}`);
      return value === undefined
        ? []
        : [[field.name, typeof value === "string" ? value.trim() : JSON.stringify(value)]];
    });
    return Object.fromEntries([
      ...known,
      ...filled.map((entry) => [
        entry.key.trim(),
        this.value(shape.item, entry.value, `${path}.${entry.key}`) ?? "",
      ]),
    ] as [string, unknown][]);
  }

  fields(fields: readonly Field[], draft: Draft, prefix = ""): Record<string, unknown> {
    const read: Record<string, unknown> = {};
    for (const field of fields) {
      if (!holds(field.when, draft)) continue;
      const path = `${prefix}${field.name}`;
      const value = this.value(field, draft[field.name], path, draft);
      if (value !== undefined) read[field.name] = value;
      else if (field.required && !(path in this.messages)) this.wrong(path, needed(field));
      else if (field.nullable) read[field.name] = null;
      else if (field.type === "text") read[field.name] = "";
    }
    return read;
  }
}

interface Numbers {
  low: number;
  high: number;
  unit?: Unit;
}

/** A number as it is typed, in the unit of its field. */
export function parseNumber(text: string, unit: Unit | undefined): Parsed<number> {
  if (unit === "bps") return parseRate(text);
  if (isTyped(unit)) {
    const parsed = parseDuration(text);
    if (!parsed.ok || unit === "ms") return parsed;
    if (parsed.value % 1000 === 0) return { ok: true, value: parsed.value / 1000 };
    return { ok: false, message: "Whole seconds, such as 90s." };
  }
  if (/^-?\d+$/.test(text)) return { ok: true, value: Number(text) };
  return { ok: false, message: "A whole number." };
}

function secret({ wish, text }: SecretDraft, made: boolean): unknown {
  if (wish === "keep") return { set: true };
  if (wish === "clear" && made) return { new: true };
  return wish === "replace" && text !== "" ? text : undefined;
}

const needed = (field: Field): string =>
  field.example ? `This is needed, for example ${field.example}.` : "This is needed.";

/** The object that a form describes, with what is wrong with it by field. */
export function readDraft(
  declared: Declared,
  draft: Draft,
): { id?: string; input: Record<string, unknown>; messages: Messages } {
  const reading = new Reading();
  const typed = typedFields(declared);
  const offered = typed.filter((field) => isOffered(declared, field, draft));
  const read = reading.fields(offered, draft);
  const left = typed.filter((field) => !offered.includes(field) && field.nullable);
  const { oneOf } = declared;
  const input = {
    ...Object.fromEntries(left.map((field) => [field.name, null])),
    ...read,
    ...(oneOf ? { [oneOf.field]: draft[oneOf.field] } : {}),
  };
  const member = oneOf?.cases.find((item) => item.name === draft[oneOf.field])?.member;
  if (member && input[member] == null) reading.wrong(member, "This is needed.");
  const id = textOf(draft["id"]).trim();
  return { ...(id === "" ? {} : { id }), input, messages: reading.messages };
}
