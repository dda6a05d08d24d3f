// SPDX-License-Identifier: Apache-2.0
import { Button, SegmentedControl, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { asProblem } from "@/api/problem";
import { tuningQuery } from "@/api/queries";
import type { Setting, Tuning } from "@/api/types";
import { useStagedChanges } from "@/api/writes";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Empty, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { plural, sentence } from "@/ui/format";
import { Split } from "@/ui/Split";
import { chosen, SCOPE_WORDS, stateOf, valueWords } from "./settings";
import { SettingDrawer } from "./SettingDrawer";
import { StateTag } from "./StateTag";

const SHOWS = [
  { value: "all", label: "All" },
  { value: "differs", label: "Not as wanted" },
  { value: "overridden", label: "Overridden" },
] as const;

/** The overrides that are to hold: those that are pending, or else those in force. */
function useOverrides(tuning: Tuning | undefined): { overrides: Record<string, string>; pending: boolean } {
  const staged = useStagedChanges("tuning").get("tuning");
  const next = staged?.new?.["overrides"] as Record<string, string> | undefined;
  return { overrides: next ?? (staged ? {} : (tuning?.overrides ?? {})), pending: staged !== undefined };
}

/** The settings of kernel and network cards that the product chose, each with its reason and what is in force. */
export default function TuningPage() {
  const search = useSearch({ from: "/frame/tuning" });
  const navigate = useNavigate({ from: "/tuning" });
  const query = useQuery(tuningQuery);
  const { overrides } = useOverrides(query.data);
  const open = (edit: string | undefined) => void navigate({ search: (before) => ({ ...before, edit }) });
  const edited = query.data?.settings.find((setting) => setting.id === search.edit);
  return (
    <Split
      drawer={
        edited ? (
          <SettingDrawer
            key={`${edited.id} ${overrides[edited.id] ?? "-"}`}
            setting={edited}
            overrides={overrides}
            onClose={() => open(undefined)}
          />
        ) : null
      }
    >
      <Page
        title="Tuning"
        actions={
          <SegmentedControl
            aria-label="Which settings"
            data={[...SHOWS]}
            value={search.show ?? "all"}
            onChange={(show) =>
              void navigate({
                search: (before) => ({ ...before, show: show === "all" ? undefined : show }),
                replace: true,
              })
            }
          />
        }
      >
        {query.isError ? (
          <Note severity="error" live>
            {asProblem(query.error).message}
          </Note>
        ) : null}
        {query.data?.settings_reason ? (
          <Note severity="warning">No settings to show: {sentence(query.data.settings_reason)}</Note>
        ) : null}
        {query.data?.warnings.map((finding) => (
          <Note key={`${finding.code} ${finding.field ?? ""}`} severity={finding.severity}>
            {finding.message}
          </Note>
        ))}
        {query.data ? (
          <Settings tuning={query.data} show={search.show ?? "all"} open={open} edited={edited?.id} />
        ) : query.isPending ? (
          <Skeleton lines={10} />
        ) : null}
      </Page>
    </Split>
  );
}

function Settings({
  tuning,
  show,
  open,
  edited,
}: {
  tuning: Tuning;
  show: "all" | "differs" | "overridden";
  open: (id: string) => void;
  edited: string | undefined;
}) {
  const [words, setWords] = useState("");
  const { overrides, pending } = useOverrides(tuning);
  const rows = chosen(tuning.settings, overrides, show, words);
  const isPending = (id: string) => pending && overrides[id] !== tuning.overrides[id];
  const columns: readonly Column<Setting>[] = [
    {
      id: "id",
      title: "Setting",
      render: (setting) => (
        <span className="row">
          <Button size="compact-xs" variant="subtle" onClick={() => open(setting.id)}>
            {setting.id}
          </Button>
          {isPending(setting.id) ? <Tag tone="accent">change pending</Tag> : null}
        </span>
      ),
    },
    {
      id: "value",
      title: "Value",
      render: (setting) => (
        <span className="row">
          <span className="mono">{valueWords(setting, overrides[setting.id])}</span>
          {setting.id in overrides ? <Tag tone="accent">overridden</Tag> : null}
        </span>
      ),
    },
    { id: "state", title: "State", render: (setting) => <StateTag state={stateOf(setting)} /> },
    { id: "scope", title: "Of", render: (setting) => SCOPE_WORDS[setting.scope] },
    {
      id: "reason",
      title: "Why",
      wide: true,
      render: (setting) => <span className="dim">{setting.reason}</span>,
    },
    {
      id: "measured",
      title: "Measured",
      render: (setting) =>
        setting.measured === "figure" ? (
          "yes"
        ) : setting.measured === "function" ? (
          "acts"
        ) : (
          <span className="dim">no</span>
        ),
    },
  ];
  return (
    <Section
      title={plural(rows.length, "setting")}
      flush
      aside={
        <TextInput
          aria-label="Search settings"
          placeholder="Name, key or reason"
          value={words}
          onChange={(event) => setWords(event.currentTarget.value)}
        />
      }
    >
      {rows.length > 0 ? (
        <SimpleTable
          caption="Settings"
          columns={columns}
          rows={rows}
          rowKey={(setting) => setting.id}
          rowCurrent={(setting) => setting.id === edited}
        />
      ) : (
        <NoSettings
          show={tuning.settings.length === 0 && show === "differs" ? "all" : words ? "search" : show}
        />
      )}
    </Section>
  );
}

const NOTHING = {
  search: ["No setting matches", "The search looks at name, key and reason."],
  all: ["No settings are known", "The agent tells which there are, and it does not answer now."],
  differs: ["All is as wanted", "The kernel holds every setting that fits this router."],
  overridden: [
    "Nothing is overridden",
    "The product's own values hold. Choose a setting under All to replace one.",
  ],
} as const;

function NoSettings({ show }: { show: keyof typeof NOTHING }) {
  const [title, words] = NOTHING[show];
  return (
    <Empty title={title}>
      <p className="dim">{words}</p>
    </Empty>
  );
}
