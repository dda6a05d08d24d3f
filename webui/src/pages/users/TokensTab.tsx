// SPDX-License-Identifier: Apache-2.0
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, need } from "@/api/client";
import { asProblem, messagesByField } from "@/api/problem";
import { tokensQuery } from "@/api/queries";
import type { Scope, Token } from "@/api/types";
import { AskOnce } from "@/app/AskOnce";
import { useDraft } from "@/forms/draft";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Empty, Note, Section, Skeleton } from "@/ui/blocks";
import { agoText, stampText } from "@/ui/format";
import { CreateForm, refreshAccounts } from "./CreateForm";
import { Secret } from "./Secret";

const DAY_S = 86_400;
const LIFETIMES = [
  { value: String(30 * DAY_S), label: "30 days" },
  { value: String(365 * DAY_S), label: "1 year" },
  { value: "0", label: "no end" },
];

export function TokensTab() {
  const query = useQuery(tokensQuery);
  const [secret, setSecret] = useState<{ name: string; value: string } | null>(null);
  const [removing, setRemoving] = useState<Token | null>(null);
  const revoke = useMutation({
    mutationFn: async (id: string) => {
      await need(api.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id: id } } }));
      await refreshAccounts();
    },
  });
  const columns: readonly Column<Token>[] = [
    { id: "name", title: "Token", render: (token) => token.name },
    { id: "scope", title: "May", render: (token) => token.scope },
    { id: "owner", title: "Of", render: (token) => token.owner },
    { id: "made", title: "Made", render: (token) => agoText(token.created_at) },
    {
      id: "used",
      title: "Last used",
      render: (token) =>
        token.last_used_at ? agoText(token.last_used_at) : <span className="dim">never</span>,
    },
    {
      id: "ends",
      title: "Ends",
      render: (token) => (token.expires_at ? stampText(token.expires_at).slice(0, 16) : "no end"),
    },
    {
      id: "do",
      title: "Do",
      render: (token) => (
        <Button size="compact-xs" color="red" variant="subtle" onClick={() => setRemoving(token)}>
          Revoke<span className="hidden-text"> {token.name}</span>
        </Button>
      ),
    },
  ];
  const tokens = query.data?.items ?? [];
  return (
    <>
      {secret ? (
        <Secret what={`Token ${secret.name}`} value={secret.value} onDone={() => setSecret(null)} />
      ) : null}
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      <Section title="API tokens" flush>
        {query.isPending ? (
          <Skeleton />
        ) : tokens.length > 0 ? (
          <SimpleTable caption="API tokens" columns={columns} rows={tokens} rowKey={(token) => token.id} />
        ) : (
          <Empty title="No tokens">
            <p className="dim">
              A program sends its token as "Authorization: Bearer …". Give each program its own, with no more
              than it needs.
            </p>
          </Empty>
        )}
      </Section>
      <NewToken onCreated={(name, value) => setSecret({ name, value })} />
      {removing ? (
        <AskOnce
          title={`Revoke ${removing.name}?`}
          action="Revoke"
          busy={revoke.isPending}
          onClose={() => setRemoving(null)}
          onDo={() => revoke.mutate(removing.id, { onSettled: () => setRemoving(null) })}
        >
          Whatever uses it is refused from then on.
        </AskOnce>
      ) : null}
    </>
  );
}

function NewToken({ onCreated }: { onCreated: (name: string, secret: string) => void }) {
  const [values, setValues, forget] = useDraft<{ name: string; scope: Scope; lifetime: string }>(
    "token.new",
    { name: "", scope: "read", lifetime: String(365 * DAY_S) },
  );
  const create = useMutation({
    mutationFn: () =>
      need(
        api.POST("/api/v1/tokens", {
          body: {
            name: values.name.trim(),
            scope: values.scope,
            expires_within_s: values.lifetime === "0" ? null : Number(values.lifetime),
          },
        }),
      ),
    onSuccess: (token) => {
      forget();
      onCreated(token.name, token.secret);
      void refreshAccounts();
    },
    meta: { inline: true },
  });
  const messages = create.error ? messagesByField(asProblem(create.error)) : {};
  return (
    <CreateForm
      title="New token"
      action="Create"
      busy={create.isPending}
      scope={values.scope}
      onScope={(scope) => setValues({ ...values, scope })}
      onCreate={() => create.mutate()}
      name={
        <TextInput
          label="What for"
          required
          value={values.name}
          error={messages["name"] ?? messages["scope"] ?? messages[""]}
          onChange={(event) => setValues({ ...values, name: event.currentTarget.value })}
        />
      }
      more={
        <NativeSelect
          label="Valid for"
          data={LIFETIMES}
          value={values.lifetime}
          onChange={(event) => setValues({ ...values, lifetime: event.currentTarget.value })}
        />
      }
    />
  );
}
