// SPDX-License-Identifier: Apache-2.0
/** The kinds as they are declared (api/weir/kinds): what lists, forms and diffs are made of. The first load has names.ts only. */
import file from "./forms.json";
import { NAMED, type Named } from "./names";

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
  | { type: "text"; most: number; lines: boolean; pattern?: string; unit?: "bps" | "ms" }
  | { type: "host" | "prefix" | "address" }
  | { type: "ref"; kind: string; role: string; offered?: When; unconfigured?: boolean; also?: string[] }
  | { type: "many"; item: Shape; most: number }
  | {
      type: "table";
      item: Shape;
      most: number;
      /** Names that have a meaning, where their condition holds for the object. */
      known?: readonly Field[];
    }
  | {
      type: "group";
      fields: readonly Field[];
      /** It has an input of its own. */
      control?: "hours";
    }
  | { type: "rows"; fields: readonly Field[]; most: number }
  | { type: "secret"; made?: boolean; lines?: boolean }
  | { type: "moment" | "zone" }
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

/** What a kind's list and form are made of. */
export interface Declared extends Named {
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

type Form = Omit<Declared, keyof Named>;

const ALL = file as unknown as Readonly<Record<string, Form>>;

/** By kind, in the order of the navigation. */
export const DECLARED: ReadonlyMap<string, Declared> = new Map(
  [...NAMED].flatMap(([kind, named]): [string, Declared][] => {
    const form = ALL[kind];
    return form ? [[kind, { ...named, ...form }]] : [];
  }),
);

export const kindAt = (page: string): [string, Declared] | undefined =>
  [...DECLARED].find(([, said]) => said.page === page);

export const defaultsOf = (kind: string): Readonly<Record<string, unknown>> => ALL[kind]?.defaults ?? {};

/** What a form and a diff call a field; undefined: nothing is declared of it. */
export function declaredLabel(kind: string, path: string): string | undefined {
  return ALL[kind]?.fields.find((field) => field.name === path)?.label;
}
