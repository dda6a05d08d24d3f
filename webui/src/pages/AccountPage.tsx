// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import { meQuery, queryClient, sessionsQuery } from "@/api/queries";
import type { Session } from "@/api/types";
import { PasswordForm } from "@/app/PasswordForm";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Columns, Facts, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { agoText } from "@/ui/format";
import { browserWords } from "@/ui/words";
import { SecondFactor } from "./SecondFactor";
import { SecurityKeys } from "./SecurityKeys";
import { SCOPES } from "./users/CreateForm";

export default function AccountPage() {
  const me = useQuery(meQuery).data;
  return (
    <Page title="Account">
      <Columns>
        <Section title="You">
          {me ? (
            <Facts
              items={[
                ["User", me.username],
                ["May", SCOPES.find(({ value }) => value === me.scope)?.label ?? me.scope],
                ["Signed in by", me.via],
              ]}
            />
          ) : (
            <Skeleton />
          )}
        </Section>
        <Section title="Password">
          <PasswordForm />
        </Section>
        <SecondFactor />
      </Columns>
      <SecurityKeys />
      <Sessions />
    </Page>
  );
}

function Sessions() {
  const query = useQuery(sessionsQuery);
  const end = useMutation({
    mutationFn: async (id: string) => {
      await need(api.DELETE("/api/v1/auth/sessions/{session_id}", { params: { path: { session_id: id } } }));
      await queryClient.invalidateQueries({ queryKey: sessionsQuery.queryKey });
    },
  });
  const columns: readonly Column<Session>[] = [
    {
      id: "from",
      title: "From",
      render: (session) => (
        <span className="row">
          <span className="mono">{session.source}</span>
          {session.current ? <Tag tone="ok">✓ this one</Tag> : null}
        </span>
      ),
    },
    {
      id: "agent",
      title: "Browser",
      render: (session) => (
        <span title={session.user_agent ?? undefined}>{browserWords(session.user_agent)}</span>
      ),
    },
    { id: "begun", title: "Begun", render: (session) => agoText(session.created_at) },
    {
      id: "do",
      title: "Do",
      blank: true,
      render: (session) =>
        session.current ? null : (
          <Button size="compact-xs" onClick={() => end.mutate(session.id)}>
            End
          </Button>
        ),
    },
  ];
  return (
    <Section title="Sessions" flush>
      {query.isError ? (
        <Note severity="error">{asProblem(query.error).message}</Note>
      ) : query.isPending ? (
        <Skeleton />
      ) : (
        <SimpleTable
          caption="Sessions"
          columns={columns}
          rows={query.data.items}
          rowKey={(session) => session.id}
        />
      )}
    </Section>
  );
}
