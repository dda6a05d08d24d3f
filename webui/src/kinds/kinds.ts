// SPDX-License-Identifier: Apache-2.0
/** The kinds as they are declared (api/weir/kinds): what lists, forms, diffs and the navigation are made of. */
import file from "./kinds.json";

/** A condition on another field of the same object; without `is` any value fulfils it. */
export interface When {
  field: string;
  is: readonly (string | number | boolean)[] | null;
  unless: boolean;
}

/** What a number counts; its name ends in it. */
export type Unit = "bps" | "bytes" | "s" | "ms" | "us" | "ns";

export type Shape =
  | { type: "flag" }
  | { type: "whole" | "port"; low: number; high: number; unit?: Unit }
  | { type: "choice"; choices: readonly string[] }
  | { type: "text"; most: number; lines: boolean }
  | { type: "host" | "prefix" | "address" }
  | { type: "ref"; kind: string; role: string; offered?: When }
  | { type: "many"; item: Shape; most: number }
  | { type: "table"; item: Shape; most: number }
  | { type: "group"; fields: readonly Field[] }
  | { type: "rows"; fields: readonly Field[]; most: number }
  | { type: "secret" }
  | { type: "moment" }
  | { type: "position" }
  | { type: "json" };

export type Field = Shape & {
  name: string;
  label: string;
  importance: "shown" | "folded" | "expert";
  required: boolean;
  nullable: boolean;
  help?: string;
  example?: string;
  when?: When;
  /** Of a field in a group or a row. */
  default?: unknown;
};

/** What an object is exactly one of: the case's `member` is a field that it has, and that no other case has. */
export interface OneOf {
  field: string;
  cases: readonly { name: string; help: string; member: string }[];
}

export const AREAS = ["Shaping", "Network", "Routing", "Firewall", "VPN", "Services", "System"] as const;
export type Area = (typeof AREAS)[number];

/** A kind that has its list and its form from its declaration. */
export interface Declared {
  singular: string;
  plural: string;
  short: string;
  /** Where the API has it. */
  path: string;
  /** Where the browser has it. */
  page: string;
  area: Area;
  isSingle: boolean;
  assignsIds: boolean;
  namedBy: string;
  columns: readonly string[];
  purpose: string;
  oneOf?: OneOf;
  /** Of an ordered kind: the fields that make lists of their own. */
  order?: readonly string[];
  defaults: Readonly<Record<string, unknown>>;
  fields: readonly Field[];
  /** What the router learns about an object, and nobody writes. */
  state: readonly Field[];
}

interface Undeclared {
  singular: string;
  plural: string;
  labels: Readonly<Record<string, string>>;
  defaults: Readonly<Record<string, unknown>>;
}

const ALL = file.kinds as unknown as Readonly<Record<string, Declared | Undeclared>>;

export const isDeclared = (kind: Declared | Undeclared | undefined): kind is Declared =>
  kind !== undefined && "fields" in kind;

/** By kind, in the order of the navigation. */
export const DECLARED: ReadonlyMap<string, Declared> = new Map(
  Object.entries(ALL).flatMap(([kind, said]): [string, Declared][] =>
    isDeclared(said) ? [[kind, said]] : [],
  ),
);

export const kindAt = (page: string): [string, Declared] | undefined =>
  [...DECLARED].find(([, said]) => said.page === page);

/** One of a kind and several of it, as sentences say it. */
export const kindWords = (kind: string): readonly [one: string, several: string] => {
  const said = ALL[kind];
  return said ? [said.singular, said.plural] : [kind, kind];
};

export const defaultsOf = (kind: string): Readonly<Record<string, unknown>> => ALL[kind]?.defaults ?? {};

/** What a form and a diff call a field; undefined: nothing is declared of it. */
export function declaredLabel(kind: string, path: string): string | undefined {
  const said = ALL[kind];
  if (!said) return undefined;
  return isDeclared(said) ? said.fields.find((field) => field.name === path)?.label : said.labels[path];
}
