// SPDX-License-Identifier: Apache-2.0
/** One component per type of field. */
import {
  ActionIcon,
  Button,
  NativeSelect,
  PasswordInput,
  Select,
  Switch,
  Textarea,
  TextInput,
} from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import { useState, type ReactNode } from "react";
import { durationText, limitWords, parseDuration, parseRate } from "@/ui/rates";
import type { Field, Shape } from "../kinds";
import { draftOf, type Draft, type Entry, type Messages, type SecretDraft } from "./draft";
import classes from "./Form.module.css";
import { textOf } from "../values";
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
  value: unknown;
  onChange: (value: unknown) => void;
  messages: Messages;
}

type Of<T extends Shape["type"]> = InputProps<Extract<Shape, { type: T }>>;

/** What every input of Mantine takes. */
const said = ({ label, name, description, required, path, messages }: InputProps) => ({
  id: `field-${path}`,
  ...(label === "" ? { "aria-label": name } : { label }),
  description,
  required,
  error: messages[path],
});

const MONO = { input: { fontFamily: "var(--mono)" } };

function TextField(props: InputProps) {
  const { shape, value, onChange, placeholder } = props;
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

function LongText(props: InputProps) {
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
function UnitField(props: Of<"rate" | "duration">) {
  const text = textOf(props.value).trim();
  const parsed = props.shape.type === "rate" ? parseRate(text) : parseDuration(text);
  const words = !parsed.ok
    ? props.shape.type === "rate"
      ? "such as 10M or 1.5G"
      : "such as 8s, 1m30s or 500ms"
    : props.shape.type === "rate"
      ? limitWords(parsed.value)
      : durationText(parsed.value);
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

function FlagField(props: Of<"flag">) {
  return (
    <Switch
      {...said(props)}
      required={false}
      checked={props.value === true}
      onChange={(event) => props.onChange(event.currentTarget.checked)}
    />
  );
}

function ChoiceField(props: Of<"choice">) {
  const { shape, value, onChange, nullable } = props;
  return (
    <NativeSelect
      {...said(props)}
      data={[...(nullable || value === "" ? [{ value: "", label: "none" }] : []), ...shape.choices]}
      value={textOf(value)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** Another object, found by typing a part of its name. */
function RefField(props: Of<"ref">) {
  const { shape, value, onChange } = props;
  const [words, setWords] = useState("");
  const useOffers = offersOf(shape.kind);
  const offers = useOffers(shape.offered, words);
  const id = textOf(value);
  const isKnown = id === "" || offers.some((offer) => offer.value === id);
  return (
    <Select
      {...said(props)}
      searchable
      clearable
      placeholder={`Choose ${/^[aeiou]/i.test(shape.role) ? "an" : "a"} ${shape.role}`}
      nothingFoundMessage={offers.length === 0 ? `There is no ${shape.role} to choose.` : "Nothing matches."}
      limit={100}
      data={isKnown ? [...offers] : [{ value: id, label: id }, ...offers]}
      value={id === "" ? null : id}
      onChange={(next) => onChange(next ?? "")}
      onSearchChange={setWords}
    />
  );
}

/** Rows that come and go; a pasted list with blanks or commas becomes rows. */
function ManyField(props: Of<"many">) {
  const { shape, value, onChange, messages, path, label, description, placeholder } = props;
  const items = Array.isArray(value) ? (value as unknown[]) : [];
  const blank = draftOf(shape.item, undefined);
  const set = (index: number, item: unknown) => {
    const parts = typeof item === "string" && shape.item.type !== "text" ? item.split(/[\s,;]+/) : [item];
    const filled = parts.length > 1 ? parts.filter((part) => part !== "") : parts;
    onChange([...items.slice(0, index), ...filled, ...items.slice(index + 1)]);
  };
  return (
    <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
      <legend>{label}</legend>
      {description ? <p className={classes.help}>{description}</p> : null}
      {items.map((item, index) => (
        <div key={index} className={classes.row}>
          <Input
            {...props}
            shape={shape.item}
            label=""
            name={`${label} ${index + 1}`}
            description={undefined}
            placeholder={placeholder}
            required={false}
            nullable={false}
            path={`${path}.${index}`}
            value={item}
            onChange={(next) => set(index, next)}
          />
          <Remove
            name={`${label} ${index + 1}`}
            onClick={() => onChange(items.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      {messages[path] ? <p className={classes.wrong}>{messages[path]}</p> : null}
      <More name={label} onClick={() => onChange([...items, blank])} />
    </fieldset>
  );
}

function TableField(props: Of<"table">) {
  const { shape, value, onChange, messages, path, label, description } = props;
  const entries = Array.isArray(value) ? (value as Entry[]) : [];
  const set = (index: number, change: Partial<Entry>) =>
    onChange(entries.map((entry, at) => (at === index ? { ...entry, ...change } : entry)));
  return (
    <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
      <legend>{label}</legend>
      {description ? <p className={classes.help}>{description}</p> : null}
      {entries.map((entry, index) => (
        <div key={index} className={classes.row}>
          <TextInput
            aria-label={`${label} ${index + 1}, name`}
            placeholder="name"
            value={entry.key}
            onChange={(event) => set(index, { key: event.currentTarget.value })}
          />
          <Input
            {...props}
            shape={shape.item}
            label=""
            name={`${label} ${index + 1}, value`}
            description={undefined}
            placeholder="value"
            required={false}
            nullable={false}
            path={`${path}.${entry.key}`}
            value={entry.value}
            onChange={(next) => set(index, { value: next })}
          />
          <Remove
            name={`${label} ${index + 1}`}
            onClick={() => onChange(entries.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      {messages[path] ? <p className={classes.wrong}>{messages[path]}</p> : null}
      <More name={label} onClick={() => onChange([...entries, { key: "", value: "" }])} />
    </fieldset>
  );
}

const Remove = ({ name, onClick }: { name: string; onClick: () => void }) => (
  <ActionIcon variant="subtle" color="gray" aria-label={`Remove ${name}`} onClick={onClick}>
    <IconX size={15} />
  </ActionIcon>
);

const More = ({ name, onClick }: { name: string; onClick: () => void }) => (
  <Button
    size="compact-sm"
    leftSection={<IconPlus size={13} />}
    aria-label={`Add to ${name}`}
    onClick={onClick}
  >
    Add
  </Button>
);

function GroupField(props: Of<"group">) {
  const { shape, value, onChange, nullable, label, path, messages } = props;
  const draft = value as Draft | null;
  const blank = Object.fromEntries(shape.fields.map((field) => [field.name, draftOf(field, undefined)]));
  if (draft === null && nullable)
    return (
      <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
        <legend>{label}</legend>
        {messages[path] ? <p className={classes.wrong}>{messages[path]}</p> : null}
        <More name={label} onClick={() => onChange(blank)} />
      </fieldset>
    );
  return (
    <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
      <legend>
        {label} {nullable ? <Remove name={label} onClick={() => onChange(null)} /> : null}
      </legend>
      {shape.fields.map((field) => (
        <FieldInput
          key={field.name}
          field={field}
          prefix={`${path}.`}
          value={(draft ?? blank)[field.name]}
          onChange={(next) => onChange({ ...(draft ?? blank), [field.name]: next })}
          messages={messages}
        />
      ))}
    </fieldset>
  );
}

/** Write-only: it can be replaced or cleared, and is never shown. */
function SecretField(props: Of<"secret">) {
  const { value, onChange, label, path } = props;
  const { isSet, wish, text } = value as SecretDraft;
  const set = (change: Partial<SecretDraft>) => onChange({ isSet, wish, text, ...change });
  if (isSet && wish !== "replace")
    return (
      <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
        <legend>{label}</legend>
        <p>{wish === "keep" ? "Set. It is never shown." : "It will be cleared."}</p>
        <div className="row">
          <Button size="compact-sm" onClick={() => set({ wish: "replace" })}>
            Replace
          </Button>
          {wish === "keep" ? (
            <Button size="compact-sm" color="red" variant="subtle" onClick={() => set({ wish: "clear" })}>
              Clear
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
      <PasswordInput
        {...said(props)}
        autoComplete="new-password"
        value={text}
        onChange={(event) => set({ text: event.currentTarget.value })}
      />
      {isSet ? (
        <Button mt={4} size="compact-sm" onClick={() => set({ wish: "keep", text: "" })}>
          Keep the old one
        </Button>
      ) : null}
    </div>
  );
}

/** The input of a value, by its type. */
function Input(props: InputProps): ReactNode {
  const { shape } = props;
  switch (shape.type) {
    case "flag":
      return <FlagField {...props} shape={shape} />;
    case "choice":
      return <ChoiceField {...props} shape={shape} />;
    case "ref":
      return <RefField {...props} shape={shape} />;
    case "rate":
    case "duration":
      return <UnitField {...props} shape={shape} />;
    case "many":
      return <ManyField {...props} shape={shape} />;
    case "table":
      return <TableField {...props} shape={shape} />;
    case "group":
      return <GroupField {...props} shape={shape} />;
    case "secret":
      return <SecretField {...props} shape={shape} />;
    case "json":
      return <LongText {...props} />;
    case "text":
      return shape.lines ? <LongText {...props} /> : <TextField {...props} />;
    case "state":
      return null;
  }
  return <TextField {...props} />;
}

interface FieldInputProps {
  field: Field;
  prefix?: string;
  value: unknown;
  onChange: (value: unknown) => void;
  messages: Messages;
}

/** A declared field with its label, its help and its error. */
export const FieldInput = ({ field, prefix = "", value, onChange, messages }: FieldInputProps) => (
  <Input
    shape={field}
    label={field.label}
    name={field.label}
    description={field.help}
    placeholder={field.example ? `such as ${field.example}` : undefined}
    required={field.required}
    nullable={field.nullable}
    path={`${prefix}${field.name}`}
    value={value}
    onChange={onChange}
    messages={messages}
  />
);
