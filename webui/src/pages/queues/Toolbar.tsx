// SPDX-License-Identifier: Apache-2.0
import { Button, Checkbox, NativeSelect, Popover, SegmentedControl, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconColumns3, IconPlus, IconSearch, IconX } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { queueQuery } from "@/api/queries";
import type { QueuesSearch } from "@/app/search";
import { Heading } from "@/ui/blocks";
import { ReasonedButton } from "@/ui/ReasonedButton";
import { SavedViews } from "@/table/SavedViews";
import { Throughput } from "@/table/Throughput";
import { chosenColumns, colsOf, COLUMN_WORD, COLUMNS } from "./columns";
import classes from "./Queues.module.css";

interface ToolbarProps {
  search: QueuesSearch;
  onSearch: (change: Partial<QueuesSearch>) => void;
  /** Shown instead of sortable column heads on a phone. */
  cards: boolean;
  may: boolean;
  /** How many there are, and what happens to their order. */
  status: ReactNode;
}

function QueryField({ search, onSearch }: Omit<ToolbarProps, "cards" | "may" | "status">) {
  const [text, setText] = useState(search.q ?? "");
  const sent = useRef(search.q ?? "");
  const send = useDebouncedCallback((q: string) => {
    sent.current = q.trim();
    onSearch({ q: q.trim() || undefined });
  }, 200);
  useEffect(() => {
    if ((search.q ?? "") !== sent.current) {
      sent.current = search.q ?? "";
      setText(sent.current);
    }
  }, [search.q]);
  return (
    <TextInput
      className={classes.query}
      type="search"
      aria-label="Search queues by name, comment, id or address"
      placeholder="Name, comment or address"
      leftSection={<IconSearch size={15} />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        send(event.currentTarget.value);
      }}
    />
  );
}

function ColumnMenu({ search, onSearch }: Omit<ToolbarProps, "cards" | "may" | "status">) {
  const shown = chosenColumns(search.cols).map((column) => column.id);
  const toggle = (id: string, on: boolean) => {
    const next = on ? [...shown, id] : shown.filter((column) => column !== id);
    // In the order of the list where nobody dragged them into another.
    const usual = COLUMNS.map((column) => column.id).filter((column) => next.includes(column));
    const isUsual = shown.every(
      (column, at) => usual.filter((other) => shown.includes(other))[at] === column,
    );
    onSearch({ cols: colsOf(isUsual ? usual : next) });
  };
  return (
    <Popover position="bottom-end" width={200}>
      <Popover.Target>
        <Button leftSection={<IconColumns3 size={15} />}>Columns</Button>
      </Popover.Target>
      <Popover.Dropdown>
        <fieldset className={classes.columns}>
          <legend className="hidden-text">Columns shown</legend>
          {COLUMNS.filter((column) => column.id !== "name").map((column) => (
            <Checkbox
              key={column.id}
              label={COLUMN_WORD[column.id] ?? column.title}
              checked={shown.includes(column.id)}
              onChange={(event) => toggle(column.id, event.currentTarget.checked)}
            />
          ))}
        </fieldset>
        <ReasonedButton
          mt="sm"
          size="compact-xs"
          why={search.cols === undefined ? "these are the standard columns" : null}
          onClick={() => onSearch({ cols: undefined })}
        >
          Standard columns
        </ReasonedButton>
      </Popover.Dropdown>
    </Popover>
  );
}

/** The queue whose children are shown, by its name. */
function ParentFilter({ id, onClear }: { id: string; onClear: () => void }) {
  const name = useQuery({ ...queueQuery(id), enabled: id !== "none" }).data?.name ?? id;
  return (
    <Button
      rightSection={<IconX size={13} />}
      aria-label={`Show the children of every queue, not only of ${name}`}
      onClick={onClear}
    >
      in {name}
    </Button>
  );
}

const SORTS = [
  { value: "position", label: "list order" },
  { value: "name", label: "name" },
  { value: "-rate_download", label: "busiest download" },
  { value: "-rate_upload", label: "busiest upload" },
  { value: "-drops", label: "most drops" },
  { value: "-max_limit_download", label: "largest limit" },
];

const stateOf = (search: QueuesSearch): string =>
  search.warnings
    ? "warnings"
    : search.disabled === true
      ? "disabled"
      : search.disabled === false
        ? "enabled"
        : "all";

export function Toolbar({ search, onSearch, cards, may, status }: ToolbarProps) {
  return (
    <div className={classes.toolbar}>
      <Heading>Queues</Heading>
      <span className={classes.figures}>
        <Throughput />
      </span>
      <QueryField search={search} onSearch={onSearch} />
      <NativeSelect
        aria-label="Which queues"
        data={[
          { value: "all", label: "all queues" },
          { value: "warnings", label: "with warnings" },
          { value: "enabled", label: "enabled" },
          { value: "disabled", label: "disabled" },
        ]}
        value={stateOf(search)}
        onChange={(event) => {
          const state = event.currentTarget.value;
          onSearch({
            warnings: state === "warnings" ? true : undefined,
            disabled: state === "disabled" ? true : state === "enabled" ? false : undefined,
          });
        }}
      />
      {search.parent ? (
        <ParentFilter id={search.parent} onClear={() => onSearch({ parent: undefined })} />
      ) : null}
      <SegmentedControl
        aria-label="View"
        data={[
          { value: "flat", label: "List" },
          { value: "tree", label: "Tree" },
        ]}
        value={search.view ?? "flat"}
        onChange={(view) => onSearch({ view: view === "tree" ? "tree" : undefined })}
      />
      {cards && search.view === "tree" ? null : cards ? (
        <NativeSelect
          aria-label="Sort by"
          data={SORTS}
          value={search.sort ?? "position"}
          onChange={(event) => onSearch({ sort: event.currentTarget.value as QueuesSearch["sort"] })}
        />
      ) : (
        <ColumnMenu search={search} onSearch={onSearch} />
      )}
      <SavedViews />
      {status}
      {may ? (
        <Button
          className={classes.make}
          variant="filled"
          leftSection={<IconPlus size={15} />}
          onClick={() => onSearch({ edit: "new" })}
        >
          New queue
        </Button>
      ) : null}
    </div>
  );
}
