// SPDX-License-Identifier: Apache-2.0
/** Fields of the model as an operator reads them: in the diff, in the history, in a queue's changes. */
import type { FieldChange } from "@/api/types";
import { durationText, limitWords } from "./rates";

const both = (value: unknown) => ({ upload: value, download: value });
const NO_TOTAL: Record<string, unknown> = { max_limit_bps: 0, limit_at_bps: 0, burst_limit_bps: 0, burst_threshold_bps: 0, burst_time_ms: 0, priority: 8, queue_type: "default-small", bucket_size_ms: 100 };

/** What an object has when nobody says anything (docs/reference/model.md); an added object is shown without it. */
const DEFAULTS: Record<string, unknown> = {
  max_limit_bps: both(0), limit_at_bps: both(0), burst_limit_bps: both(0), burst_threshold_bps: both(0), burst_time_ms: both(0), priority: both(8), queue_type: both("default-small"), bucket_size_ms: both(100),
  total: NO_TOTAL, disabled: false, blackhole: false, distance: 1, overhead_bytes: 0, domain: 0, shaper: "auto", role: "none", addressing: "static", fast_path: "auto", unknown: "allow", reverse_path: "off",
};

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const isEmpty = (value: unknown): boolean => value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0);

/** Whether a field of an added or removed object says anything. */
export const isTelling = (field: string, value: unknown, name: string): boolean => !isEmpty(value) && !same(value, DEFAULTS[field]) && !(["id", "name"].includes(field) && value === name);

const isPair = (value: object): value is { upload: unknown; download: unknown } => "upload" in value && "download" in value;

/** A field's value in words; the field's name says the unit, and what 0 means. */
export function valueText(field: string, value: unknown): string {
  if (isEmpty(value)) return "none";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") {
    if (field.includes("_bps")) return value === 0 && !field.includes("max_limit") ? "none" : limitWords(value);
    if (field.includes("_ms")) return durationText(value);
    if (field === "vrf_table" && value === 0) return "by its name";
    return String(value);
  }
  if (Array.isArray(value)) return value.map((item) => valueText(field, item)).join(", ");
  if (typeof value !== "object" || value === null) return String(value);
  if (isPair(value)) return `upload ${valueText(field, value.upload)}, download ${valueText(field, value.download)}`;
  const defaults: Record<string, unknown> = field === "total" ? NO_TOTAL : {};
  const told = Object.entries(value).filter(([name, inner]) => !same(inner, defaults[name]));
  return told.map(([name, inner]) => `${fieldWords(name)} ${valueText(`${field}.${name}`, inner)}`).join(", ") || "none";
}

/** A field as the forms name it. */
export const fieldWords = (field: string): string => field.replace(/max_limit_bps/, "limit").replace(/limit_at_bps/, "guarantee").replace(/burst_limit_bps/, "burst").replace(/_bps|_ms/g, "").replaceAll("_", " ").replaceAll(".", " ").replace(/\b(mtu|vlan|vrf)\b/g, (word) => word.toUpperCase());

/** The fields of a change that are worth a line; a place in the list says nothing of an object that comes or goes. */
export const tellingFields = (fields: readonly FieldChange[], action: "add" | "change" | "remove", name: string): readonly FieldChange[] =>
  action === "change" ? fields : fields.filter((field) => field.field !== "position" && isTelling(field.field, action === "add" ? field.new : field.old, name));
