// SPDX-License-Identifier: Apache-2.0
/** One component per type of field: those of several values here, those of one in PlainInputs. */
import { ActionIcon, Button, TextInput } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import type { Field } from "../kinds";
import { holds } from "../values";
import { blankOf, draftOf, isTyped, type Draft, type Entry, type Messages } from "./draft";
import classes from "./Form.module.css";
import {
  ChoiceField,
  FlagField,
  LongText,
  RefField,
  SecretField,
  TextField,
  UnitField,
  type InputProps,
  type Of,
} from "./PlainInputs";

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
  const blank = blankOf(shape.fields);
  if (shape.fields.length === 0 && !nullable) return null; // That it is there says all.
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
      {shape.fields
        .filter((field) => holds(field.when, draft ?? blank))
        .map((field) => (
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

/** A list of groups: one line for each, below the labels of its fields. */
function RowsField(props: Of<"rows">) {
  const { shape, value, onChange, messages, path, label, description } = props;
  const rows = Array.isArray(value) ? (value as Draft[]) : [];
  const set = (index: number, change: Draft) =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...change } : row)));
  const style = { gridTemplateColumns: `${shape.fields.map(columnWidth).join(" ")} auto` };
  return (
    <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
      <legend>{label}</legend>
      {description ? <p className={classes.help}>{description}</p> : null}
      {rows.length > 0 ? (
        <div className={classes.grid} style={style}>
          {shape.fields.map((field) => (
            <span key={field.name} className={classes.columnHead} title={field.help}>
              {field.label}
            </span>
          ))}
          <span />
          {rows.map((row, index) => (
            <GridRow
              key={index}
              fields={shape.fields}
              label={`${label} ${index + 1}`}
              path={`${path}.${index}`}
              row={row}
              onChange={(change) => set(index, change)}
              onRemove={() => onChange(rows.filter((_, at) => at !== index))}
              messages={messages}
            />
          ))}
        </div>
      ) : null}
      {messages[path] ? <p className={classes.wrong}>{messages[path]}</p> : null}
      <More name={label} onClick={() => onChange([...rows, blankOf(shape.fields)])} />
    </fieldset>
  );
}

const columnWidth = ({ type }: Field): string =>
  type === "flag"
    ? "max-content"
    : type === "choice" || type === "whole"
      ? "minmax(72px, 1fr)"
      : "minmax(90px, 3fr)";

interface GridRowProps {
  fields: readonly Field[];
  label: string;
  path: string;
  row: Draft;
  onChange: (change: Draft) => void;
  onRemove: () => void;
  messages: Messages;
}

function GridRow({ fields, label, path, row, onChange, onRemove, messages }: GridRowProps) {
  return (
    <>
      {fields.map((field) =>
        holds(field.when, row) ? (
          <Input
            key={field.name}
            shape={field}
            label=""
            name={`${label}, ${field.label}`}
            description={undefined}
            placeholder={field.example ? `such as ${field.example}` : undefined}
            required={field.required}
            nullable={field.nullable}
            path={`${path}.${field.name}`}
            value={row[field.name]}
            onChange={(next) => onChange({ [field.name]: next })}
            messages={messages}
          />
        ) : (
          <span key={field.name} className="dim">
            –
          </span>
        ),
      )}
      <Remove name={label} onClick={onRemove} />
    </>
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
    case "whole":
      return isTyped(shape.unit) ? <UnitField {...props} unit={shape.unit} /> : <TextField {...props} />;
    case "rows":
      return <RowsField {...props} shape={shape} />;
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
    case "position":
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
