// SPDX-License-Identifier: Apache-2.0
/** What a form has of an object while it is typed, and the object that is read from it. */
import { countText } from "@/ui/format";
import { durationText, exactRate, parseDuration, parseRate } from "@/ui/rates";
import type { Declared, Field, Shape } from "../kinds";
import { holds, textOf } from "../values";

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
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A value as its field shows it. */
export function draftOf(shape: Shape, value: unknown): unknown {
  switch (shape.type) {
    case "flag":
      return value === true;
    case "rate":
      return typeof value === "number" ? exactRate(value) : "";
    case "duration":
      return typeof value === "number" ? durationText(value) : "";
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

const draftOfFields = (fields: readonly Field[], values: Draft): Draft =>
  Object.fromEntries(fields.map((field) => [field.name, draftOf(field, values[field.name])]));

/** Fields that people fill in. */
export const typedFields = (fields: readonly Field[]): readonly Field[] =>
  fields.filter((field) => field.type !== "state");

/** The form of an object, or of a new one with its defaults. */
export function draftOfObject(declared: Declared, object: Draft | null): Draft {
  const values: Draft = object ?? declared.defaults;
  const { oneOf } = declared;
  const found = oneOf?.cases.find((item) => item.member !== "" && values[item.member] != null);
  const which = oneOf ? (values[oneOf.field] ?? found?.name ?? oneOf.cases[0]?.name) : undefined;
  return {
    id: object?.["id"] ?? "",
    ...draftOfFields(typedFields(declared.fields), values),
    ...(oneOf ? { [oneOf.field]: which } : {}),
  };
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

  private whole({ low, high }: { low: number; high: number }, text: string, path: string): unknown {
    const value = Number(text);
    if (/^-?\d+$/.test(text) && value >= low && value <= high) return value;
    this.wrong(path, `A whole number from ${countText(low)} to ${countText(high)}.`);
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
  value(shape: Shape, draft: unknown, path: string): unknown {
    switch (shape.type) {
      case "flag":
        return draft === true;
      case "many":
        return this.list(shape, draft as readonly unknown[], path);
      case "table":
        return this.table(shape, draft as readonly Entry[], path);
      case "group":
        return isObject(draft) ? this.fields(shape.fields, draft, `${path}.`) : undefined;
      case "secret":
        return secret(draft as SecretDraft);
    }
    const text = textOf(draft).trim();
    if (text === "") return undefined;
    switch (shape.type) {
      case "whole":
      case "port":
        return this.whole(shape, text, path);
      case "rate":
      case "duration": {
        const parsed = shape.type === "rate" ? parseRate(text) : parseDuration(text);
        if (parsed.ok) return parsed.value;
        this.wrong(path, parsed.message);
        return undefined;
      }
      case "json":
        return this.json(text, path);
    }
    return shape.type === "text" ? textOf(draft) : text;
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

  private table(shape: { item: Shape }, entries: readonly Entry[], path: string): Record<string, unknown> {
    const filled = entries.filter((entry) => entry.key.trim() !== "");
    if (new Set(filled.map((entry) => entry.key.trim())).size < filled.length)
      this.wrong(path, "Each name may stand here once.");
    return Object.fromEntries(
      filled.map((entry) => [
        entry.key.trim(),
        this.value(shape.item, entry.value, `${path}.${entry.key}`) ?? "",
      ]),
    );
  }

  fields(fields: readonly Field[], draft: Draft, prefix = ""): Record<string, unknown> {
    const read: Record<string, unknown> = {};
    for (const field of typedFields(fields)) {
      if (!holds(field.when, draft)) continue;
      const path = `${prefix}${field.name}`;
      const value = this.value(field, draft[field.name], path);
      if (value !== undefined) read[field.name] = value;
      else if (field.required && !(path in this.messages)) this.wrong(path, needed(field));
      else if (field.nullable) read[field.name] = null;
      else if (field.type === "text") read[field.name] = "";
    }
    return read;
  }
}

function secret({ wish, text }: SecretDraft): unknown {
  if (wish === "keep") return { set: true };
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
  const offered = declared.fields.filter((field) => isOffered(declared, field, draft));
  const read = reading.fields(offered, draft);
  const left = declared.fields.filter((field) => !offered.includes(field) && field.nullable);
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
