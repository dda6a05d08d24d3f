// SPDX-License-Identifier: Apache-2.0
import { NativeSelect, TextInput } from "@mantine/core";
import { Fold } from "@/forms/Fold";
import { Note } from "@/ui/blocks";
import type { Declared, Field } from "../kinds";
import { fieldsWords, textOf } from "../values";
import { chosen, isOffered, readDraft, typedFields, type Draft, type Messages } from "./draft";
import classes from "./Form.module.css";
import { Help } from "./Help";
import { FieldInput } from "./Inputs";

interface KindFieldsProps {
  declared: Declared;
  draft: Draft;
  set: (change: Draft) => void;
  messages: Messages;
  /** A name that a new one could have. */
  example?: string;
  isNew: boolean;
}

const SECTIONS = [
  ["folded", "More"],
  ["expert", "For experts"],
] as const;

/** Whether an error is at a field, or at something inside it. */
const isWrong = (field: Field, messages: Messages): boolean =>
  Object.keys(messages).some((path) => path === field.name || path.startsWith(`${field.name}.`));

/** All fields of a kind: those that matter at once, the others folded. */
export function KindFields({ declared, draft, set, messages, example, isNew }: KindFieldsProps) {
  const offered = typedFields(declared).filter((field) => isOffered(declared, field, draft));
  const owned = declared.oneOf?.cases.map((item) => item.member) ?? [];
  const input = (field: Field) => (
    <FieldInput
      key={field.name}
      field={owned.includes(field.name) ? { ...field, nullable: false } : field}
      within={draft}
      value={draft[field.name]}
      onChange={(value) => set({ [field.name]: value })}
      messages={messages}
    />
  );
  return (
    <>
      <Summary declared={declared} offered={offered} messages={messages} />
      {isNew && !declared.assignsIds && !declared.isSingle ? (
        <TextInput
          id="field-id"
          label="Name"
          required
          data-autofocus
          placeholder={example && `such as ${example}`}
          value={textOf(draft["id"])}
          error={messages["id"]}
          onChange={(event) => set({ id: event.currentTarget.value })}
        />
      ) : null}
      <OneOfChoice declared={declared} draft={draft} set={set} messages={messages} isNew={isNew} />
      {offered.filter((field) => field.importance === "shown").map(input)}
      {SECTIONS.map(([importance, title]) => {
        const fields = offered.filter((field) => field.importance === importance);
        if (fields.length === 0) return null;
        const isOpen = fields.some((field) => isWrong(field, messages));
        return (
          <Fold
            key={`${importance} ${isOpen}`}
            title={title}
            summary={heldBy(declared, fields, draft)}
            open={isOpen}
          >
            {fields.map(input)}
          </Fold>
        );
      })}
    </>
  );
}

/** What folded fields hold. */
function heldBy(declared: Declared, fields: readonly Field[], draft: Draft): string {
  return fieldsWords(fields, readDraft(declared, draft).input);
}

/** What the object is, of all that it can be. */
function OneOfChoice({ declared, draft, set }: KindFieldsProps) {
  const { oneOf } = declared;
  if (!oneOf) return null;
  const now = oneOf.cases.find((item) => item.name === draft[oneOf.field]);
  return (
    <NativeSelect
      id={`field-${oneOf.field}`}
      label={declared.fields.find((field) => field.name === oneOf.field)?.label ?? oneOf.field}
      description={now ? <Help text={now.help} /> : undefined}
      data={oneOf.cases.map((item) => item.name)}
      value={now?.name ?? ""}
      onChange={(event) => set(chosen(declared, draft, event.currentTarget.value))}
    />
  );
}

/** Every error in one place, each with the way to its field. */
function Summary({
  declared,
  offered,
  messages,
}: {
  declared: Declared;
  offered: readonly Field[];
  messages: Messages;
}) {
  const errors = Object.entries(messages).filter(([path]) => path !== "");
  if (errors.length === 0) return null;
  const labelOf = (path: string): string =>
    declared.fields.find((field) => field.name === path.split(".")[0])?.label ?? path;
  const isShown = (path: string): boolean =>
    path === "id" || offered.some((field) => field.name === path.split(".")[0]);
  return (
    <Note severity="error" live>
      {errors.length === 1 ? "One field needs another value:" : `${errors.length} fields need another value:`}
      <ul className={classes.summary}>
        {errors.map(([path, message]) => (
          <li key={path}>
            {isShown(path) ? (
              <button type="button" className={classes.jump} onClick={() => goTo(path)}>
                {labelOf(path)}
              </button>
            ) : (
              labelOf(path)
            )}
            : {message}
          </li>
        ))}
      </ul>
    </Note>
  );
}

function goTo(path: string): void {
  const field =
    document.getElementById(`field-${path}`) ?? document.getElementById(`field-${path.split(".")[0]}`);
  field?.closest("details")?.setAttribute("open", "");
  field?.scrollIntoView({ block: "center" });
  field?.focus();
}
