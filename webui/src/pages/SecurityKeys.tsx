// SPDX-License-Identifier: Apache-2.0
import { Button, Modal, PasswordInput, TextInput } from "@mantine/core";
import { queryOptions, useMutation, useQuery } from "@tanstack/react-query";
import { useState, type ReactNode, type SyntheticEvent } from "react";
import { api, need } from "@/api/client";
import { asProblem, messagesByField, type ApiProblem } from "@/api/problem";
import { queryClient } from "@/api/queries";
import { hasKeys, makeKey, type SecurityKey } from "@/api/webauthn";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Section, Skeleton } from "@/ui/blocks";
import { agoText } from "@/ui/format";
import { say } from "@/ui/toast";
import { RecoveryCodes } from "./SecondFactor";

const keysQuery = queryOptions({
  queryKey: ["accounts", "security-keys"],
  queryFn: () => need(api.GET("/api/v1/auth/security-keys")),
});

/** A key is part of the second factor, and may end sessions. */
const refresh = (): Promise<void> => queryClient.invalidateQueries({ queryKey: ["accounts"] });

/** The account's security keys and passkeys; where none can be added, why and what to do. */
export function SecurityKeys() {
  const query = useQuery(keysQuery);
  const [codes, setCodes] = useState<readonly string[] | null>(null);
  return (
    <Section title="Security keys and passkeys">
      {codes ? (
        <RecoveryCodes codes={codes} by="key" onDone={() => setCodes(null)} />
      ) : query.isError ? (
        <Note severity="error">{asProblem(query.error).message}</Note>
      ) : query.isPending ? (
        <Skeleton />
      ) : (
        <div className="stack">
          {query.data.items.length > 0 ? <Keys keys={query.data.items} /> : null}
          {query.data.not_offered !== null ? (
            <Note severity="notice">Here no key can be added: {query.data.not_offered}.</Note>
          ) : hasKeys() ? (
            <AddKey origin={query.data.origin ?? ""} onCodes={setCodes} />
          ) : (
            <Note severity="notice">This browser has no security keys.</Note>
          )}
        </div>
      )}
    </Section>
  );
}

function Keys({ keys }: { keys: readonly SecurityKey[] }) {
  const [renaming, setRenaming] = useState<SecurityKey | null>(null);
  const [removing, setRemoving] = useState<SecurityKey | null>(null);
  const columns: readonly Column<SecurityKey>[] = [
    { id: "name", title: "Name", render: (key) => key.name },
    { id: "at", title: "Answers at", render: (key) => <span className="mono">{key.origin}</span> },
    { id: "added", title: "Added", render: (key) => agoText(key.created_at) },
    {
      id: "used",
      title: "Last used",
      render: (key) => (key.last_used_at ? agoText(key.last_used_at) : <span className="dim">never</span>),
    },
    {
      id: "do",
      title: "Do",
      blank: true,
      render: (key) => (
        <span className="row">
          <Button size="compact-xs" aria-label={`Rename ${key.name}`} onClick={() => setRenaming(key)}>
            Rename
          </Button>
          <Button
            size="compact-xs"
            color="red"
            variant="subtle"
            aria-label={`Remove ${key.name}`}
            onClick={() => setRemoving(key)}
          >
            Remove
          </Button>
        </span>
      ),
    },
  ];
  return (
    <>
      <SimpleTable caption="Security keys" columns={columns} rows={keys} rowKey={(key) => key.id} />
      {renaming ? <Rename item={renaming} onClose={() => setRenaming(null)} /> : null}
      {removing ? <Remove item={removing} onClose={() => setRemoving(null)} /> : null}
    </>
  );
}

/** A form's own failure, where no field of it has the message. */
function Failure({ problem, fields }: { problem: ApiProblem | null; fields: readonly string[] }) {
  if (!problem) return null;
  const messages = messagesByField(problem);
  if (fields.some((field) => messages[field])) return null;
  return (
    <Note severity="error" live>
      {problem.message}
    </Note>
  );
}

interface AddKeyProps {
  origin: string;
  onCodes: (codes: readonly string[]) => void;
}

function AddKey({ origin, onCodes }: AddKeyProps) {
  const [name, setName] = useState("");
  const [password, setPassword] = useState("");
  const add = useMutation({
    mutationFn: async () => {
      const offer = await need(api.POST("/api/v1/auth/security-keys/offer", { body: { password } }));
      const made = await makeKey(offer);
      const body = { name: name.trim(), ...made };
      const added = await need(api.POST("/api/v1/auth/security-keys", { body }));
      setName("");
      setPassword("");
      if (added.recovery_codes.length > 0) onCodes(added.recovery_codes);
      else say("ok", `The security key ${added.key.name} was added.`);
      await refresh();
    },
    meta: { inline: true },
  });
  const problem = add.error ? asProblem(add.error) : null;
  const messages = problem ? messagesByField(problem) : {};
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (!add.isPending) add.mutate();
  };
  return (
    <form onSubmit={submit} className="stack" style={{ maxWidth: 480 }}>
      <p className="dim">
        After the password, a touch of one of your keys signs you in. A key added here answers at {origin} and
        nowhere else.
      </p>
      <TextInput
        size="sm"
        label="Name of the key"
        description="So that you know it again, such as blue USB key."
        required
        maxLength={64}
        value={name}
        error={messages["name"]}
        onChange={(event) => setName(event.currentTarget.value)}
      />
      <PasswordInput
        size="sm"
        label="Your password"
        autoComplete="current-password"
        required
        value={password}
        error={messages["password"]}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
      {add.isPending ? (
        <Note severity="notice" live>
          Touch the key when it blinks, or follow the browser.
        </Note>
      ) : null}
      <Failure problem={problem} fields={["name", "password"]} />
      <div>
        <Button type="submit" loading={add.isPending}>
          Add a security key
        </Button>
      </div>
    </form>
  );
}

interface AskProps {
  title: string;
  action: string;
  busy: boolean;
  danger?: boolean;
  onDo: () => void;
  onClose: () => void;
  children: ReactNode;
}

function Ask({ title, action, busy, danger, onDo, onClose, children }: AskProps) {
  return (
    <Modal opened onClose={onClose} title={title} size="sm">
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (!busy) onDo();
        }}
      >
        {children}
        <div className="row">
          <Button type="submit" variant="filled" color={danger ? "red" : undefined} loading={busy}>
            {action}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Modal>
  );
}

function Rename({ item, onClose }: { item: SecurityKey; onClose: () => void }) {
  const [name, setName] = useState(item.name);
  const rename = useMutation({
    mutationFn: async () => {
      const params = { path: { key_id: item.id } };
      await need(api.PATCH("/api/v1/auth/security-keys/{key_id}", { params, body: { name: name.trim() } }));
      await refresh();
      onClose();
    },
    meta: { inline: true },
  });
  const messages = rename.error ? messagesByField(asProblem(rename.error)) : {};
  return (
    <Ask
      title={`Rename ${item.name}`}
      action="Rename"
      busy={rename.isPending}
      onDo={() => rename.mutate()}
      onClose={onClose}
    >
      <TextInput
        size="sm"
        label="Name of the key"
        required
        maxLength={64}
        value={name}
        error={messages["name"] ?? messages[""]}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
    </Ask>
  );
}

function Remove({ item, onClose }: { item: SecurityKey; onClose: () => void }) {
  const [password, setPassword] = useState("");
  const remove = useMutation({
    mutationFn: async () => {
      const params = { path: { key_id: item.id } };
      const body = { password };
      await need(api.POST("/api/v1/auth/security-keys/{key_id}/remove", { params, body }));
      await refresh();
      say("ok", `The security key ${item.name} was removed.`);
      onClose();
    },
    meta: { inline: true },
  });
  const messages = remove.error ? messagesByField(asProblem(remove.error)) : {};
  return (
    <Ask
      title={`Remove ${item.name}?`}
      action="Remove it"
      busy={remove.isPending}
      danger
      onDo={() => remove.mutate()}
      onClose={onClose}
    >
      <p>It opens this account no more. Without another key and an app the password is enough to sign in.</p>
      <PasswordInput
        size="sm"
        label="Your password"
        autoComplete="current-password"
        required
        value={password}
        error={messages["password"] ?? messages[""]}
        onChange={(event) => setPassword(event.currentTarget.value)}
        data-autofocus
      />
    </Ask>
  );
}
