// SPDX-License-Identifier: Apache-2.0
import { Button, NativeSelect, TextInput } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api, need } from "@/api/client";
import { asProblem, messagesByField } from "@/api/problem";
import { meQuery, usersQuery } from "@/api/queries";
import type { Scope, User } from "@/api/types";
import { AskOnce } from "@/app/AskOnce";
import { useDraft } from "@/forms/draft";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Section, Skeleton, Tag } from "@/ui/blocks";
import { agoText } from "@/ui/format";
import { CreateForm, refreshAccounts, SCOPES } from "./CreateForm";
import { Secret } from "./Secret";

function useUserAction() {
  return useMutation({
    mutationFn: async (
      action:
        | { username: string; do: "delete" | "toggle"; disabled: boolean }
        | { username: string; do: "unguard" }
        | { username: string; do: "scope"; scope: Scope },
    ) => {
      const params = { path: { username: action.username } };
      if (action.do === "delete") await need(api.DELETE("/api/v1/users/{username}", { params }));
      else if (action.do === "unguard")
        await need(api.DELETE("/api/v1/users/{username}/second-factor", { params }));
      else
        await need(
          api.PATCH("/api/v1/users/{username}", {
            params,
            body: action.do === "scope" ? { scope: action.scope } : { disabled: action.disabled },
          }),
        );
      await refreshAccounts();
    },
  });
}

export function UsersTab() {
  const query = useQuery(usersQuery);
  const me = useQuery(meQuery).data;
  const act = useUserAction();
  const [removing, setRemoving] = useState<User | null>(null);
  const [unguarding, setUnguarding] = useState<User | null>(null);
  const [secret, setSecret] = useState<{ what: string; value: string } | null>(null);
  const reset = useMutation({
    mutationFn: async (username: string) =>
      need(api.POST("/api/v1/users/{username}/password-reset", { params: { path: { username } } })),
    onSuccess: (answer) => {
      setSecret({
        what: `One-time password of ${answer.user.username}`,
        value: answer.one_time_password ?? "",
      });
      void refreshAccounts();
    },
  });
  const columns: readonly Column<User>[] = [
    {
      id: "name",
      title: "User",
      render: (user) => (
        <span className="row">
          {user.username}
          {user.username === me?.username ? <Tag>you</Tag> : null}
          {user.disabled ? <Tag>off</Tag> : null}
          {user.must_change_password ? <Tag tone="warn">one-time password</Tag> : null}
          {user.second_factor_since !== null ? <Tag tone="ok">second factor</Tag> : null}
        </span>
      ),
    },
    {
      id: "scope",
      title: "May",
      render: (user) => (
        <NativeSelect
          aria-label={`What ${user.username} may do`}
          data={SCOPES.map((scope) => scope.value)}
          value={user.scope}
          disabled={user.username === me?.username}
          title={
            user.username === me?.username ? "Another administrator changes what you may do." : undefined
          }
          onChange={(event) =>
            act.mutate({ username: user.username, do: "scope", scope: event.currentTarget.value as Scope })
          }
        />
      ),
    },
    {
      id: "seen",
      title: "Last sign-in",
      render: (user) =>
        user.last_sign_in_at ? agoText(user.last_sign_in_at) : <span className="dim">never</span>,
    },
    {
      id: "do",
      title: "Do",
      blank: true,
      render: (user) =>
        user.username === me?.username ? null : (
          <span className="row">
            <Button size="compact-xs" onClick={() => reset.mutate(user.username)}>
              New password
            </Button>
            {user.second_factor_since !== null ? (
              <Button size="compact-xs" onClick={() => setUnguarding(user)}>
                Remove second factor
              </Button>
            ) : null}
            <Button
              size="compact-xs"
              onClick={() => act.mutate({ username: user.username, do: "toggle", disabled: !user.disabled })}
            >
              {user.disabled ? "Enable" : "Disable"}
            </Button>
            <Button size="compact-xs" color="red" variant="subtle" onClick={() => setRemoving(user)}>
              Delete
            </Button>
          </span>
        ),
    },
  ];
  return (
    <>
      {secret ? <Secret what={secret.what} value={secret.value} onDone={() => setSecret(null)} /> : null}
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      <Section title="Users" flush>
        {query.isPending ? (
          <Skeleton />
        ) : (
          <SimpleTable
            caption="Users"
            columns={columns}
            rows={query.data?.items ?? []}
            rowKey={(user) => user.username}
            rowMuted={(user) => user.disabled}
          />
        )}
      </Section>
      <NewUser
        onCreated={(username, password) =>
          setSecret({ what: `One-time password of ${username}`, value: password })
        }
      />
      {unguarding ? (
        <AskOnce
          title={`Remove the second factor of ${unguarding.username}?`}
          action="Remove it"
          busy={act.isPending}
          onClose={() => setUnguarding(null)}
          onDo={() =>
            act.mutate(
              { username: unguarding.username, do: "unguard" },
              { onSettled: () => setUnguarding(null) },
            )
          }
        >
          For somebody who has lost app, security keys and recovery codes: all of them go. The password is
          enough to sign in then, and the sessions of {unguarding.username} end at once.
        </AskOnce>
      ) : null}
      {removing ? (
        <AskOnce
          title={`Delete ${removing.username}?`}
          action="Delete"
          busy={act.isPending}
          onClose={() => setRemoving(null)}
          onDo={() =>
            act.mutate(
              { username: removing.username, do: "delete", disabled: true },
              { onSettled: () => setRemoving(null) },
            )
          }
        >
          Sessions and tokens of {removing.username} end at once. What was committed keeps its name in the
          history.
        </AskOnce>
      ) : null}
    </>
  );
}

function NewUser({ onCreated }: { onCreated: (username: string, password: string) => void }) {
  const [values, setValues, forget] = useDraft<{ username: string; scope: Scope }>("user.new", {
    username: "",
    scope: "read",
  });
  const create = useMutation({
    mutationFn: () =>
      need(
        api.POST("/api/v1/users", {
          body: { username: values.username.trim(), scope: values.scope, password: null },
        }),
      ),
    onSuccess: (answer) => {
      forget();
      onCreated(answer.user.username, answer.one_time_password ?? "");
      void refreshAccounts();
    },
    meta: { inline: true },
  });
  const messages = create.error ? messagesByField(asProblem(create.error)) : {};
  return (
    <CreateForm
      title="New user"
      action="Create with a one-time password"
      busy={create.isPending}
      scope={values.scope}
      onScope={(scope) => setValues({ ...values, scope })}
      onCreate={() => create.mutate()}
      name={
        <TextInput
          label="User name"
          required
          autoCapitalize="none"
          spellCheck={false}
          value={values.username}
          error={messages["username"] ?? messages[""]}
          onChange={(event) => setValues({ ...values, username: event.currentTarget.value })}
        />
      }
    />
  );
}
