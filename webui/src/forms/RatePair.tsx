// SPDX-License-Identifier: Apache-2.0
import { TextInput } from "@mantine/core";
import type { ReactNode } from "react";
import type { Pair } from "@/api/types";
import { limitWords } from "@/ui/rates";
import classes from "./forms.module.css";
import { optionalRate, type Messages } from "./queueValues";

const WORD = { upload: "Upload", download: "Download" } as const;

interface PairFieldProps {
  label: string;
  field: string;
  value: Pair<string>;
  messages: Messages;
  onChange: (value: Pair<string>) => void;
  /** What is understood of one side, said below the field. */
  understood?: (text: string) => string | undefined;
  placeholder?: string;
  children?: ReactNode;
}

/** Two fields, upload before download, each with its arrow. */
export function PairField({
  label,
  field,
  value,
  messages,
  onChange,
  understood,
  placeholder,
  children,
}: PairFieldProps) {
  return (
    <fieldset className={classes.pair}>
      <legend>{label}</legend>
      {(["upload", "download"] as const).map((direction) => {
        const message =
          messages[`${field}.${direction}`] ?? (direction === "upload" ? messages[field] : undefined);
        return (
          <TextInput
            key={direction}
            aria-label={`${label}, ${WORD[direction].toLowerCase()}`}
            leftSection={
              <span className={direction === "upload" ? "up" : "down"} aria-hidden="true">
                {direction === "upload" ? "↑" : "↓"}
              </span>
            }
            value={value[direction]}
            placeholder={placeholder}
            error={message}
            description={message ? undefined : (understood?.(value[direction]) ?? " ")}
            inputWrapperOrder={["label", "input", "description", "error"]}
            onChange={(event) => onChange({ ...value, [direction]: event.currentTarget.value })}
          />
        );
      })}
      {children ? <div className={classes.hint}>{children}</div> : null}
    </fieldset>
  );
}

export function understoodRate(text: string, none: string): string | undefined {
  const parsed = optionalRate(text);
  if (!parsed.ok) return undefined;
  return parsed.value === 0 ? none : limitWords(parsed.value);
}

export function RatePair(props: Omit<PairFieldProps, "understood"> & { none: string }) {
  const live: Messages = { ...props.messages };
  for (const direction of ["upload", "download"] as const) {
    const parsed = optionalRate(props.value[direction]);
    if (!parsed.ok) live[`${props.field}.${direction}`] = parsed.message;
  }
  return <PairField {...props} messages={live} understood={(text) => understoodRate(text, props.none)} />;
}
