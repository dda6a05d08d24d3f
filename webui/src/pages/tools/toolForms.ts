// SPDX-License-Identifier: Apache-2.0
/** The tools as they are declared (api/weir/tools): what their forms are made of, and what their events say. */
import type { Declared, Field, Unit } from "@/kinds/kinds";
import file from "@/kinds/tools.json";
import { numberWords, textOf } from "@/kinds/values";
import { shortRate } from "@/ui/rates";
import type { Scope } from "@/api/types";

export interface Column {
  name: string;
  label: string;
  unit: Unit | "";
}

export interface Tool {
  title: string;
  about: string;
  scope: Scope;
  /** The media type of what a run says. */
  answers: string;
  /** An event with the same value here replaces the one before it; "" for tools without. */
  key: string;
  columns: Readonly<Record<string, readonly Column[]>>;
  defaults: Readonly<Record<string, unknown>>;
  fields: readonly Field[];
}

export const TOOLS: ReadonlyMap<string, Tool> = new Map(
  Object.entries(file as unknown as Readonly<Record<string, Tool>>),
);

export const isFile = (tool: Tool): boolean => tool.answers !== "text/event-stream";

/** A tool's arguments as its form takes them: the form of a kind that has one object. */
export const declaredOf = (name: string, tool: Tool): Declared => ({
  singular: tool.title,
  plural: tool.title,
  short: name,
  path: `tools/${name}`,
  page: "tools",
  area: "System",
  isSingle: true,
  assignsIds: false,
  namedBy: "",
  columns: [],
  purpose: tool.about,
  defaults: tool.defaults,
  fields: tool.fields,
  state: [],
});

/** What somebody comes with, such as an address from a menu. */
export interface Given {
  target?: string | undefined;
  interface?: string | undefined;
  queue?: string | undefined;
}

/** The target goes into the first field that must be filled in and is no interface, the others into their own. */
export const givenTo = (tool: Tool, { target, ...named }: Given): Readonly<Record<string, unknown>> => {
  const first = tool.fields.find((item) => item.required && item.type !== "ref");
  const taken = (["interface", "queue"] as const)
    .filter((name) => named[name] !== undefined && tool.fields.some((item) => item.name === name))
    .map((name) => [name, named[name]] as const);
  return {
    ...tool.defaults,
    ...(first && target ? { [first.name]: target } : {}),
    ...Object.fromEntries(taken),
  };
};

export function cellText({ unit }: Column, value: unknown): string {
  if (value === null || value === undefined) return "–";
  if (unit === "bps") return typeof value === "number" ? shortRate(value) : "–"; // measured, so no digit more than is read
  return unit !== "" && typeof value === "number" ? numberWords(value, unit) : textOf(value);
}
