// SPDX-License-Identifier: Apache-2.0
/** Inputs of one value. */
import {
  Button,
  defaultOptionsFilter,
  NativeSelect,
  PasswordInput,
  Select,
  Switch,
  Textarea,
  TextInput,
  type SelectProps,
} from "@mantine/core";
import { useState, type ReactNode } from "react";
import { limitWords } from "@/ui/rates";
import { zones } from "@/ui/zones";
import type { Shape } from "../kinds";
import { numberWords, textOf } from "../values";
import { parseNumber, type Draft, type Messages, type SecretDraft } from "./draft";
import classes from "./Form.module.css";
import { offersOf } from "./useOffered";

export interface InputProps<S extends Shape = Shape> {
  shape: S;
  /** "" inside a list, whose label stands above. */
  label: string;
  /** Said to screen readers where there is no label. */
  name: string;
  description: ReactNode;
  placeholder: string | undefined;
  required: boolean;
  nullable: boolean;
  path: string;
  /** The object that it is a field of, as it is typed. */
  within?: Draft;
  value: unknown;
  onChange: (value: unknown) => void;
  messages: Messages;
}

export type Of<T extends Shape["type"]> = InputProps<Extract<Shape, { type: T }>>;

/** What every input of Mantine takes. */
const said = ({ label, name, description, required, path, messages }: InputProps) => ({
  id: `field-${path}`,
  ...(label === "" ? { "aria-label": name } : { label }),
  description,
  required,
  error: messages[path],
});

const MONO = { input: { fontFamily: "var(--mono)" } };

export function TextField(props: InputProps) {
  const { shape, value, onChange, placeholder } = props;
  if (shape.type === "zone") return <ZoneField {...props} />;
  const isNumber = shape.type === "whole" || shape.type === "port";
  return (
    <TextInput
      {...said(props)}
      placeholder={placeholder}
      inputMode={isNumber ? "numeric" : undefined}
      styles={["host", "prefix", "address"].includes(shape.type) ? MONO : undefined}
      value={textOf(value)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

export function LongText(props: InputProps) {
  const { shape, value, onChange } = props;
  return (
    <Textarea
      {...said(props)}
      autosize
      minRows={1}
      maxRows={10}
      styles={shape.type === "json" ? MONO : undefined}
      value={textOf(value)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** Says how a rate or a time was understood, as it is typed. */
export function UnitField({ unit, ...props }: InputProps & { unit: "bps" | "s" | "ms" }) {
  const text = textOf(props.value).trim();
  const parsed = parseNumber(text, unit);
  const words = !parsed.ok
    ? unit === "bps"
      ? "such as 10M or 1.5G"
      : "such as 8s, 1m30s or 500ms"
    : unit === "bps"
      ? limitWords(parsed.value)
      : numberWords(parsed.value, unit);
  return (
    <TextField
      {...props}
      description={
        <>
          {props.description} {text === "" || !parsed.ok ? words : `= ${words}`}
        </>
      }
    />
  );
}

export function FlagField(props: Of<"flag">) {
  return (
    <Switch
      {...said(props)}
      required={false}
      checked={props.value === true}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
    />
  );
}

export function ChoiceField(props: Of<"choice">) {
  const { shape, value, onChange, nullable } = props;
  return (
    <NativeSelect
      {...said(props)}
      data={[
        ...(nullable || value === "" ? [{ value: "", label: nullable ? "none" : "choose" }] : []),
        ...shape.choices,
        // What an import or the API had, in other words than ours.
        ...(value === "" || shape.choices.includes(textOf(value)) ? [] : [textOf(value)]),
      ]}
      value={textOf(value)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** Options that match, or one that cannot be chosen and says why there are none: a list box without an option has no
 * meaning for a screen reader. */
const orElse =
  (nothing: string): NonNullable<SelectProps["filter"]> =>
  (input) => {
    const found = defaultOptionsFilter(input) as typeof input.options;
    return found.length > 0 ? found : [{ value: "", label: nothing, disabled: true }];
  };

/** Another object, found by typing a part of its name. */
export function RefField(props: Of<"ref">) {
  const { shape, value, onChange } = props;
  const [words, setWords] = useState("");
  const useOffers = offersOf(shape.kind);
  const found = useOffers(shape.offered, words, shape.unconfigured === true);
  const offers = [...(shape.also ?? []).map((name) => ({ value: name, label: name })), ...found];
  const id = textOf(value);
  const isKnown = id === "" || offers.some((offer) => offer.value === id);
  return (
    <Select
      {...said(props)}
      searchable
      clearable
      placeholder={`Choose ${/^[aeiou]/i.test(shape.role) ? "an" : "a"} ${shape.role}`}
      filter={orElse(offers.length === 0 ? `There is no ${shape.role} to choose.` : "Nothing matches.")}
      limit={100}
      data={isKnown ? [...offers] : [{ value: id, label: id }, ...offers]}
      value={id === "" ? null : id}
      onChange={(next) => onChange(next ?? "")}
      onSearchChange={setWords}
    />
  );
}

/** A time zone, found by typing a part of its name. The router may know one that this browser does not. */
function ZoneField(props: InputProps) {
  const { value, onChange, placeholder } = props;
  const zone = textOf(value);
  const known = zones();
  return (
    <Select
      {...said(props)}
      searchable
      clearable
      placeholder={placeholder}
      filter={orElse("Nothing matches.")}
      limit={100}
      data={zone === "" || known.includes(zone) ? known : [zone, ...known]}
      value={zone === "" ? null : zone}
      onChange={(next) => onChange(next ?? "")}
    />
  );
}

/** Write-only: it can be replaced or cleared, and is never shown. */
export function SecretField(props: Of<"secret">) {
  const { shape, value, onChange, label, path } = props;
  const { isSet, wish, text } = value as SecretDraft;
  const set = (change: Partial<SecretDraft>) => onChange({ isSet, wish, text, ...change });
  if (isSet && wish !== "replace")
    return (
      <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
        <legend>{label}</legend>
        <p>
          {wish === "keep"
            ? "Set. It is never shown."
            : shape.made
              ? "The router will make a new one."
              : "It will be cleared."}
        </p>
        <div className="row">
          <Button size="compact-sm" onClick={() => set({ wish: "replace" })}>
            Replace
          </Button>
          {wish === "keep" ? (
            <Button size="compact-sm" color="red" variant="subtle" onClick={() => set({ wish: "clear" })}>
              {shape.made ? "Make a new one" : "Clear"}
            </Button>
          ) : (
            <Button size="compact-sm" onClick={() => set({ wish: "keep" })}>
              Keep it
            </Button>
          )}
        </div>
      </fieldset>
    );
  return (
    <div>
      {shape.lines === true ? (
        <Textarea
          {...said(props)}
          autoComplete="off"
          spellCheck={false}
          minRows={3}
          styles={MONO}
          value={text}
          onChange={(event) => set({ text: event.currentTarget.value })}
        />
      ) : (
        <PasswordInput
          {...said(props)}
          autoComplete="new-password"
          value={text}
          onChange={(event) => set({ text: event.currentTarget.value })}
        />
      )}
      {isSet ? (
        <Button mt={4} size="compact-sm" onClick={() => set({ wish: "keep", text: "" })}>
          Keep the old one
        </Button>
      ) : null}
    </div>
  );
}
