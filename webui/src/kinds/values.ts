// SPDX-License-Identifier: Apache-2.0
/** Values of declared fields: as text, in order, and whether a condition on them holds. */
import { agoText, bytesText, delayText, hoursText, type Hours } from "@/ui/format";
import { durationText, exactRate } from "@/ui/rates";
import type { Field, Shape, Unit, When } from "./kinds";

const isEmpty = (value: unknown): boolean =>
  value === null || value === undefined || value === "" || (Array.isArray(value) && value.length === 0);

/** Whether a condition holds for an object, or for what a form has of it. */
export function holds(when: When | undefined, values: Readonly<Record<string, unknown>>): boolean {
  if (!when) return true;
  const value = values[when.field];
  const met = when.is ? when.is.some((wanted) => wanted === value) : !isEmpty(value);
  return met !== when.unless;
}

/** Anything as text; "" for nothing. */
export function textOf(value: unknown): string {
  if (value === null || value === undefined) return "";
  if (typeof value === "string") return value;
  return typeof value === "number" || typeof value === "boolean" ? String(value) : JSON.stringify(value);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A number in its unit: `12.4M`, `1m30s`, `-41 µs`. */
export function numberWords(value: number, unit: Unit): string {
  const [sign, size] = value < 0 ? ["-", -value] : ["", value];
  switch (unit) {
    case "bps":
      return exactRate(value);
    case "bytes":
      return bytesText(value);
    case "s":
      return sign + durationText(size * 1000);
    case "ms":
      return sign + durationText(size);
    case "us":
      return sign + delayText(size);
    case "ns":
      return sign + (size < 1000 ? `${size} ns` : delayText(size / 1000));
  }
}

/** A value as a cell and a search have it; "" for none. */
export function valueWords(shape: Shape, value: unknown): string {
  if (shape.type === "secret") return isObject(value) && value["set"] === true ? "set" : "";
  if (isEmpty(value)) return "";
  switch (shape.type) {
    case "flag":
      return value === true ? "yes" : "no";
    case "whole":
      return shape.unit === undefined ? textOf(value) : numberWords(Number(value), shape.unit);
    case "moment":
      return agoText(textOf(value));
    case "rows":
      return (value as Record<string, unknown>[]).map((row) => fieldsWords(shape.fields, row)).join("; ");
    case "many":
      return (value as unknown[]).map((item) => valueWords(shape.item, item)).join(", ");
    case "table":
      return Object.entries(value as object)
        .map(([key, item]) => `${key} ${valueWords(shape.item, item)}`)
        .join(", ");
    case "group":
      if (shape.control === "hours") return hoursText(value as Hours);
      return fieldsWords(shape.fields, value as Record<string, unknown>);
  }
  return textOf(value);
}

/** `Distance 1, VRF red`: of fields that hold nothing there is nothing to say. */
export const fieldsWords = (fields: readonly Field[], values: Readonly<Record<string, unknown>>): string =>
  fields
    .map((field) => [field.label, valueWords(field, values[field.name])] as const)
    .filter(([, words]) => words !== "")
    .map(([label, words]) => `${label} ${words}`)
    .join(", ");

const collator = new Intl.Collator("en", { numeric: true });

/** Which of two values of a field comes first; what has none comes last in either direction. */
export function compare(field: Shape, a: unknown, b: unknown, falling: boolean): number {
  const [isNone, isOtherNone] = [isEmpty(a), isEmpty(b)];
  if (isNone || isOtherNone) return Number(isNone) - Number(isOtherNone);
  const order =
    typeof a === "number" && typeof b === "number"
      ? a - b
      : typeof a === "boolean" && typeof b === "boolean"
        ? Number(b) - Number(a)
        : collator.compare(valueWords(field, a), valueWords(field, b));
  return falling ? -order : order;
}
