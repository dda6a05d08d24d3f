// SPDX-License-Identifier: Apache-2.0
/** One component per type of field: those of several values here, those of one in PlainInputs. */
import { ActionIcon, Button, TextInput } from "@mantine/core";
import { IconPlus, IconX } from "@tabler/icons-react";
import type { ReactNode } from "react";
import { Fold } from "@/forms/Fold";
import { HoursFields } from "@/forms/HoursFields";
import type { Hours } from "@/ui/format";
import type { Field } from "../kinds";
import { holds, textOf, valueWords } from "../values";
import { blankOf, draftOf, isTyped, knownIn, othersIn, type Draft, type Entry, type Messages } from "./draft";
import classes from "./Form.module.css";
import { Help, plainHelp } from "./Help";
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

/** Names that have a meaning are fields; any other is a line of two. */
function TableField(props: Of<"table">) {
  const { shape, value, onChange, messages, path, label, description, within = {} } = props;
  const entries = Array.isArray(value) ? (value as Entry[]) : [];
  const known = knownIn(shape, within);
  const row = { ...blankOf(known), ...Object.fromEntries(entries.map((entry) => [entry.key, entry.value])) };
  const input = (field: Field) => (
    <FieldInput
      key={field.name}
      field={field}
      prefix={`${path}.`}
      value={row[field.name]}
      onChange={(next) =>
        onChange([...entries.filter((entry) => entry.key !== field.name), { key: field.name, value: next }])
      }
      messages={messages}
    />
  );
  if (shape.known === undefined) return <TableRows {...props} />;
  const others = othersIn(shape, entries, within);
  return (
    <>
      {known.filter((field) => field.importance === "shown").map(input)}
      <FoldedFields
        title={`More ${label.toLowerCase()}`}
        fields={known.filter((field) => field.importance !== "shown")}
        row={row}
        path={path}
        messages={messages}
        input={input}
      />
      <Fold
        title={`Other ${label.toLowerCase()}`}
        summary={others.map((entry) => `${entry.key}=${textOf(entry.value)}`).join(" ") || "none"}
        open={messages[path] !== undefined}
      >
        <TableRows
          {...props}
          label={`Other ${label.toLowerCase()}`}
          description={description}
          value={others}
          onChange={(next) =>
            onChange([...entries.filter((entry) => !others.includes(entry)), ...(next as Entry[])])
          }
        />
      </Fold>
    </>
  );
}

function TableRows(props: Of<"table">) {
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
  const { shape, value, onChange, nullable, label, path, messages, description } = props;
  const draft = value as Draft | null;
  const blank = blankOf(shape.fields);
  const row = draft ?? blank;
  const typed = { value: row as unknown as Hours, path, messages };
  const offered = shape.fields.filter((field) => holds(field.when, row));
  const input = (field: Field) => (
    <FieldInput
      key={field.name}
      field={field}
      prefix={`${path}.`}
      value={row[field.name]}
      onChange={(next) => onChange({ ...row, [field.name]: next })}
      messages={messages}
    />
  );
  if (shape.fields.length === 0 && !nullable) return null; // That it is there says all.
  if (draft === null && nullable)
    return (
      <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
        <legend>{label}</legend>
        {description ? <p className={classes.help}>{description}</p> : null}
        {messages[path] ? <p className={classes.wrong}>{messages[path]}</p> : null}
        <More name={label} onClick={() => onChange(blank)} />
      </fieldset>
    );
  return (
    <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
      <legend>
        {label} {nullable ? <Remove name={label} onClick={() => onChange(null)} /> : null}
      </legend>
      {shape.control === "hours" ? (
        <HoursFields {...typed} onChange={(next) => onChange({ ...row, ...next })} />
      ) : (
        offered.filter((field) => field.importance === "shown").map(input)
      )}
      <FoldedFields
        title={`More of ${label}`}
        fields={offered.filter((field) => field.importance !== "shown")}
        row={row}
        path={path}
        messages={messages}
        input={input}
      />
    </fieldset>
  );
}

/** A list of groups: one line for each, below the labels of its fields. */
function RowsField(props: Of<"rows">) {
  const { shape, value, onChange, messages, path, label, description } = props;
  const rows = Array.isArray(value) ? (value as Draft[]) : [];
  const set = (index: number, change: Draft) =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...change } : row)));
  const columns = shape.fields.filter(isColumn);
  const folded = shape.fields.filter((field) => !isColumn(field));
  const style = { gridTemplateColumns: `${columns.map(columnWidth).join(" ")} auto` };
  return (
    <fieldset className={classes.rows} id={`field-${path}`} tabIndex={-1}>
      <legend>{label}</legend>
      {description ? <p className={classes.help}>{description}</p> : null}
      {rows.length > 0 ? (
        <div className={classes.grid} style={style}>
          {columns.map((field) => (
            <span key={field.name} className={classes.columnHead} title={plainHelp(field.help)}>
              {field.label}
            </span>
          ))}
          <span />
          {rows.map((row, index) => (
            <GridRow
              key={index}
              columns={columns}
              folded={folded}
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
  columns: readonly Field[];
  folded: readonly Field[];
  label: string;
  path: string;
  row: Draft;
  onChange: (change: Draft) => void;
  onRemove: () => void;
  messages: Messages;
}

function GridRow({ columns, folded, label, path, row, onChange, onRemove, messages }: GridRowProps) {
  return (
    <>
      {columns.map((field) =>
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
      {folded.length > 0 ? (
        <div className={classes.ofRow}>
          <FoldedFields
            title={`More of ${textOf(row[columns[0]?.name ?? ""]) || label}`}
            fields={folded.filter((field) => holds(field.when, row))}
            row={row}
            path={path}
            messages={messages}
            input={(field) => (
              <FieldInput
                key={field.name}
                field={field}
                prefix={`${path}.`}
                value={row[field.name]}
                onChange={(next) => onChange({ [field.name]: next })}
                messages={messages}
              />
            )}
          />
        </div>
      ) : null}
    </>
  );
}

/** One value that matters stands in the line; lists and what is seldom needed are folded below it. */
const isColumn = (field: Field): boolean => field.importance === "shown" && field.type !== "many";

interface FoldedProps {
  title: string;
  fields: readonly Field[];
  row: Draft;
  path: string;
  messages: Messages;
  input: (field: Field) => ReactNode;
}

/** Fields of a group or a row that are seldom needed; open where one is wrong. */
function FoldedFields({ title, fields, row, path, messages, input }: FoldedProps) {
  if (fields.length === 0) return null;
  const isWrong = Object.keys(messages).some((name) =>
    fields.some((field) => `${name}.`.startsWith(`${path}.${field.name}.`)),
  );
  return (
    <Fold key={String(isWrong)} title={title} summary={heldBy(fields, row)} open={isWrong}>
      {fields.map(input)}
    </Fold>
  );
}

/** What differs from the defaults. */
const heldBy = (fields: readonly Field[], row: Draft): string =>
  fields
    .filter((field) => JSON.stringify(row[field.name]) !== JSON.stringify(draftOf(field, field.default)))
    .map((field) => `${field.label} ${valueWords(field, row[field.name]) || "none"}`)
    .join(", ");

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
      if (shape.unit !== undefined) return <UnitField {...props} unit={shape.unit} />;
      return shape.lines ? <LongText {...props} /> : <TextField {...props} />;
    case "position":
      return null;
  }
  return <TextField {...props} />;
}

interface FieldInputProps {
  field: Field;
  prefix?: string;
  /** The object that it is a field of, as it is typed. */
  within?: Draft;
  value: unknown;
  onChange: (value: unknown) => void;
  messages: Messages;
}

/** A declared field with its label, its help and its error. */
export const FieldInput = ({ field, prefix = "", within, value, onChange, messages }: FieldInputProps) => (
  <Input
    shape={field}
    label={field.label}
    name={field.label}
    description={field.help ? <Help text={field.help} /> : undefined}
    placeholder={field.example ? `such as ${field.example}` : undefined}
    required={field.required}
    nullable={field.nullable}
    path={`${prefix}${field.name}`}
    within={within}
    value={value}
    onChange={onChange}
    messages={messages}
  />
);
