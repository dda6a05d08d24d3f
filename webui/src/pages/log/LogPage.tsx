// SPDX-License-Identifier: Apache-2.0
import { Button, NativeSelect } from "@mantine/core";
import { IconPlayerPause, IconPlayerPlay } from "@tabler/icons-react";
import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useState } from "react";
import { meQuery } from "@/api/queries";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { LOG_SEVERITIES, type LogSearch } from "@/app/search";
import { Empty, Note, Page, Skeleton } from "@/ui/blocks";
import { clause, clockText, countText, plural, stampText } from "@/ui/format";
import { Search } from "@/ui/Search";
import { AGAIN_MS, logQuery, type Followed } from "./followed";
import { LogLines } from "./LogLines";
import classes from "./Log.module.css";

const ANY = "";
const USUAL = "info";

/** What the router's processes log, as they do. */
export default function LogPage() {
  const search = useSearch({ from: "/frame/log" });
  const isKnown = useQuery(meQuery).data !== undefined;
  const may = useMay("support");
  if (isKnown && !may)
    return (
      <Page title="Log">
        <Empty title="Your account may not read the log">
          <p className="dim">It takes the scope support: a log may tell more than the rest of these pages.</p>
        </Empty>
      </Page>
    );
  return <Log search={search} />;
}

function Log({ search }: { search: LogSearch }) {
  const navigate = useNavigate({ from: "/log" });
  const asked = JSON.stringify(search);
  // Other filters are another log, which is followed from its newest line on.
  const [paused, setPaused] = useState<string | null>(null);
  const isPaused = paused === asked;
  const query = useQuery({
    ...logQuery(search, useQueryClient()),
    enabled: !isPaused,
    refetchInterval: AGAIN_MS,
    // For its sources only.
    placeholderData: keepPreviousData,
  });
  const found = query.isPlaceholderData ? undefined : query.data;
  const filter = (change: LogSearch) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace: true });
  return (
    <Page
      title="Log"
      fill
      actions={
        <div className={classes.filters}>
          <Filters search={search} sources={query.data?.sources ?? []} onFilter={filter} />
          <Button
            leftSection={isPaused ? <IconPlayerPlay size={15} /> : <IconPlayerPause size={15} />}
            onClick={() => setPaused(isPaused ? null : asked)}
          >
            {isPaused ? "Go on" : "Pause"}
          </Button>
        </div>
      }
    >
      <State
        found={found}
        problem={query.isError ? asProblem(query.error).message : null}
        at={query.dataUpdatedAt}
        isPaused={isPaused}
      />
      {found && found.lines.length > 0 ? (
        <LogLines
          key={asked}
          lines={found.lines}
          isStale={query.isError}
          isPaused={isPaused}
          onSource={(source) => filter({ source })}
        />
      ) : query.isError ? null : found ? (
        <Nothing found={found} search={search} />
      ) : (
        <Skeleton lines={12} />
      )}
    </Page>
  );
}

interface FiltersProps {
  search: LogSearch;
  sources: readonly string[];
  onFilter: (change: LogSearch) => void;
}

function Filters({ search, sources, onFilter }: FiltersProps) {
  const known = search.source && !sources.includes(search.source) ? [search.source, ...sources] : sources;
  return (
    <>
      <Search
        label="Search the log by text, process or source"
        placeholder="Text, process or source"
        words={search.q}
        onSearch={(q) => onFilter({ q })}
      />
      <NativeSelect
        aria-label="Source"
        data={[{ value: ANY, label: "All sources" }, ...known]}
        value={search.source ?? ANY}
        onChange={(event) => onFilter({ source: event.currentTarget.value || undefined })}
      />
      <NativeSelect
        aria-label="Severity"
        data={LOG_SEVERITIES.map((value) => ({
          value,
          label: value === "emergency" ? value : `${value} and worse`,
        }))}
        value={search.severity ?? USUAL}
        onChange={(event) => {
          const chosen = LOG_SEVERITIES.find((value) => value === event.currentTarget.value);
          onFilter({ severity: chosen === USUAL ? undefined : chosen });
        }}
      />
    </>
  );
}

interface StateProps {
  found: Followed | undefined;
  problem: string | null;
  /** When the router answered last, in milliseconds since 1970. */
  at: number;
  isPaused: boolean;
}

/** Whether what is shown is of now, and if not since when and why. */
function State({ found, problem, at, isPaused }: StateProps) {
  if (problem !== null)
    return (
      <Note severity="error" live>
        {found ? `No data since ${clockText(at / 1000)}: ` : "The log could not be read: "}
        {clause(problem)}
      </Note>
    );
  if (!found || found.lines.length === 0) return null;
  return (
    <p className={`dim ${classes.state ?? ""}`}>
      {isPaused ? `Paused at ${clockText(at / 1000)}. ` : ""}
      {plural(found.lines.length, "line")}
      {found.hasOlder ? ", the newest; older ones are not shown" : ""}
    </p>
  );
}

/** Said of what was looked through only. */
function Nothing({ found, search }: { found: Followed; search: LogSearch }) {
  const isFiltered = Object.values(search).some((value) => value !== undefined);
  if (found.hasOlder && found.lookedFrom !== null)
    return (
      <Empty title={`Nothing fits among the newest ${countText(found.lookedAt)} lines`}>
        <p className="dim">The search went back to {stampText(found.lookedFrom)}.</p>
      </Empty>
    );
  return (
    <Empty title={isFiltered ? "Nothing that fits was logged" : "Nothing was logged"}>
      <p className="dim">
        {isFiltered
          ? "The filters above leave no line of the log. New lines that fit are shown as they come."
          : "The router's journal has no line of the kernel or of a service. New lines are shown as they come."}
      </p>
    </Empty>
  );
}
