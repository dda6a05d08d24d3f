// SPDX-License-Identifier: Apache-2.0
import type { QueueType, QueueTypeInput } from "@/api/types";
import type { Messages } from "@/forms/queueValues";
import { parseDuration, parseRate } from "@/ui/rates";
import { isKind, OPTIONS, type OptionField } from "./options";

/** The form of a queue type as it is typed. Options keep their texts: RouterOS' own are more than ours. */
export interface TypeValues {
  id: string;
  type: string;
  options: Record<string, string>;
  /** Options that this kind of ours does not know, `name=value`, one per line. */
  others: string;
  comment: string;
}

export const BLANK_TYPE: TypeValues = {
  id: "",
  type: "pcq",
  options: { "pcq-classifier": "dst-address" },
  others: "",
  comment: "",
};

export const fieldsOf = (type: string): readonly OptionField[] => (isKind(type) ? OPTIONS[type] : []);

export function typeValuesOf(type: QueueType): TypeValues {
  const known = new Set(fieldsOf(type.type).map((field) => field.name));
  const entries = Object.entries(type.options);
  return {
    id: type.id,
    type: type.type,
    comment: type.comment,
    options: Object.fromEntries(entries.filter(([name]) => known.has(name))),
    others: entries
      .filter(([name]) => !known.has(name))
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
  };
}

const SIZE = /^\d{1,10}\s*(KiB|MiB|k|M|B)?$/;
const TIME = /^\d{1,9}\s*(us|ms|s)?$/;

/** What is wrong with the text of an option, or nothing. */
export function optionProblem(field: OptionField, text: string): string | undefined {
  const value = text.trim();
  if (value === "") return undefined;
  if (field.reads === "rate") {
    const rate = parseRate(value);
    return rate.ok ? undefined : rate.message;
  }
  if (field.reads === "size") return SIZE.test(value) ? undefined : "A size, such as 50KiB or 15000.";
  if (field.reads === "time")
    return TIME.test(value) || (field.name.startsWith("pcq-") && parseDuration(value).ok)
      ? undefined
      : "A time, such as 5ms or 10s.";
  if (field.reads === "count") {
    const most = field.name.endsWith("address-mask")
      ? 32
      : field.name.endsWith("address6-mask")
        ? 128
        : 1_000_000;
    return /^\d+$/.test(value) && Number(value) <= most ? undefined : `A whole number from 0 to ${most}.`;
  }
  return undefined;
}

function readOthers(text: string, into: Record<string, string>, messages: Messages): void {
  for (const line of text
    .split("\n")
    .map((item) => item.trim())
    .filter(Boolean)) {
    const at = line.indexOf("=");
    if (at < 1) messages["options"] = `"${line}": write name=value, one per line.`;
    else into[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
}

/** The type to send, or what is wrong with which field. What was typed for another kind is left out. */
export function readType(values: TypeValues): { id: string; input: QueueTypeInput; messages: Messages } {
  const messages: Messages = {};
  const id = values.id.trim();
  if (!/^[A-Za-z0-9]([A-Za-z0-9_. -]{0,61}[A-Za-z0-9_.-])?$/.test(id))
    messages["id"] =
      "Letters, digits, dot, dash, underscore and inner blanks; it begins with a letter or digit.";
  const options: Record<string, string> = {};
  for (const field of fieldsOf(values.type)) {
    const text = (values.options[field.name] ?? "").trim();
    const problem = optionProblem(field, text);
    if (problem) messages[`options.${field.name}`] = problem;
    if (text !== "") options[field.name] = text;
  }
  readOthers(values.others, options, messages);
  return {
    id,
    input: { type: values.type as QueueTypeInput["type"], options, comment: values.comment },
    messages,
  };
}
