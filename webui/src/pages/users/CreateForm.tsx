// SPDX-License-Identifier: Apache-2.0
import { Button, NativeSelect } from "@mantine/core";
import type { ReactNode } from "react";
import { queryClient } from "@/api/queries";
import type { Scope } from "@/api/types";
import { Section } from "@/ui/blocks";

export const SCOPES: readonly { value: Scope; label: string }[] = [
  { value: "read", label: "read: look at everything" },
  { value: "support", label: "support: change customers' limits" },
  { value: "write", label: "write: change the configuration" },
  { value: "admin", label: "admin: also users and tokens" },
];

/** Users and tokens belong together: an owner that goes takes tokens along. */
export const refreshAccounts = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ["accounts"] });

interface CreateFormProps {
  title: string;
  action: string;
  busy: boolean;
  scope: Scope;
  onScope: (scope: Scope) => void;
  onCreate: () => void;
  /** The field before the scope, and what comes after it. */
  name: ReactNode;
  more?: ReactNode;
}

/** One line that makes a user or a token. */
export function CreateForm({ title, action, busy, scope, onScope, onCreate, name, more }: CreateFormProps) {
  return (
    <Section title={title}>
      <form
        className="row"
        style={{ alignItems: "flex-end" }}
        onSubmit={(event) => {
          event.preventDefault();
          onCreate();
        }}
      >
        {name}
        <NativeSelect
          label="May"
          data={[...SCOPES]}
          value={scope}
          onChange={(event) => onScope(event.currentTarget.value as Scope)}
        />
        {more}
        <Button type="submit" variant="filled" loading={busy}>
          {action}
        </Button>
      </form>
    </Section>
  );
}
