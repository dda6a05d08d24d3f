// SPDX-License-Identifier: Apache-2.0
import { SegmentedControl } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { meQuery } from "@/api/queries";
import { Note, Page } from "@/ui/blocks";
import { AuditTab } from "./AuditTab";
import { TokensTab } from "./TokensTab";
import { UsersTab } from "./UsersTab";

export default function UsersPage() {
  const { tab } = useSearch({ from: "/frame/users" });
  const navigate = useNavigate({ from: "/users" });
  const admin = useQuery(meQuery).data?.scope === "admin";
  const shown = tab ?? (admin ? "users" : "tokens");
  return (
    <Page
      title="Users and tokens"
      actions={
        <SegmentedControl
          aria-label="What is shown"
          data={[
            { value: "users", label: "Users" },
            { value: "tokens", label: "Tokens" },
            { value: "audit", label: "Audit trail" },
          ]}
          value={shown}
          onChange={(value) =>
            void navigate({ search: { tab: value === "tokens" || value === "audit" ? value : undefined } })
          }
        />
      }
    >
      {!admin && shown !== "tokens" ? (
        <Note severity="notice">Only an administrator sees this.</Note>
      ) : shown === "users" ? (
        <UsersTab />
      ) : shown === "audit" ? (
        <AuditTab />
      ) : (
        <TokensTab />
      )}
    </Page>
  );
}
