// SPDX-License-Identifier: Apache-2.0
import { NativeSelect, Textarea, TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import { Fold } from "@/forms/Fold";
import type { Messages } from "@/forms/queueValues";
import { limitWords, parseRate } from "@/ui/rates";
import { isKind, KIND_WORDS, KINDS, typeWords, type OptionField } from "./options";
import { fieldsOf, optionProblem, readType, type TypeValues } from "./typeValues";

interface FieldsProps {
  values: TypeValues;
  set: (change: Partial<TypeValues>) => void;
  messages: Messages;
  isNew: boolean;
}

function Option({
  field,
  value,
  error,
  onChange,
}: {
  field: OptionField;
  value: string;
  error?: string;
  onChange: (text: string) => void;
}) {
  if (field.choices) {
    const known = field.choices.some(([choice]) => choice === value) || value === "";
    const data = [
      { value: "", label: `not set: ${field.otherwise}` },
      ...field.choices.map(([choice, label]) => ({ value: choice, label })),
      ...(known ? [] : [{ value, label: value }]),
    ];
    return (
      <NativeSelect
        label={field.label}
        data={data}
        value={value}
        error={error}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  const rate = field.reads === "rate" && value.trim() !== "" ? parseRate(value) : null;
  const understood = rate?.ok
    ? rate.value === 0
      ? field.otherwise
      : limitWords(rate.value)
    : `Empty: ${field.otherwise}`;
  return (
    <TextInput
      label={field.label}
      description={understood}
      value={value}
      error={error ?? optionProblem(field, value)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

/** The folds of a kind's options, in the order in which the fields name them. */
const foldsOf = (fields: readonly OptionField[]): string[] => [
  ...new Set(fields.flatMap((field) => field.fold ?? [])),
];

export function TypeFields({ values, set, messages, isNew }: FieldsProps) {
  const fields = fieldsOf(values.type);
  const option = (field: OptionField): ReactNode => (
    <Option
      key={field.name}
      field={field}
      value={values.options[field.name] ?? ""}
      error={messages[`options.${field.name}`]}
      onChange={(text) => set({ options: { ...values.options, [field.name]: text } })}
    />
  );
  const kinds = isKind(values.type) ? KINDS : [...KINDS, values.type];
  return (
    <>
      <TextInput
        label="Name"
        description={isNew ? "What queues call it." : "Queues call it so: its name cannot be changed."}
        required
        disabled={!isNew}
        data-autofocus={isNew || undefined}
        value={values.id}
        error={messages["id"]}
        onChange={(event) => set({ id: event.currentTarget.value })}
      />
      <NativeSelect
        label="Kind"
        description={isKind(values.type) ? KIND_WORDS[values.type] : undefined}
        data={kinds}
        value={values.type}
        error={messages["type"]}
        onChange={(event) => set({ type: event.currentTarget.value })}
      />
      {fields.filter((field) => !field.fold).map(option)}
      {foldsOf(fields).map((fold) => {
        const inside = fields.filter((field) => field.fold === fold);
        const said = inside.filter((field) => (values.options[field.name] ?? "") !== "").length;
        return (
          <Fold
            key={fold}
            title={fold}
            summary={said > 0 ? `${said} set` : ""}
            open={inside.some((field) => messages[`options.${field.name}`] !== undefined)}
          >
            {inside.map(option)}
          </Fold>
        );
      })}
      {values.type === "pcq" ? (
        <p className="dim">{typeWords(readType(values).input as Parameters<typeof typeWords>[0])}.</p>
      ) : null}
      <Fold
        title="Other options"
        summary={values.others === "" ? "none" : values.others.replaceAll("\n", " ")}
        open={messages["options"] !== undefined}
      >
        <Textarea
          label="As in RouterOS"
          description="name=value, one per line. They are kept and exported; the list says what has no effect."
          rows={3}
          styles={{ input: { fontFamily: "var(--mono)" } }}
          spellCheck={false}
          value={values.others}
          error={messages["options"]}
          onChange={(event) => set({ others: event.currentTarget.value })}
        />
      </Fold>
      <TextInput
        label="Comment"
        value={values.comment}
        error={messages["comment"]}
        onChange={(event) => set({ comment: event.currentTarget.value })}
      />
    </>
  );
}
