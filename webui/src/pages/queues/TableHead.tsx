// SPDX-License-Identifier: Apache-2.0
import { IconArrowNarrowDown, IconArrowNarrowUp } from "@tabler/icons-react";
import type { QueueSort } from "@/api/queries";
import type { QueuesSearch } from "@/app/search";
import { useColumnDrag } from "@/table/useColumnDrag";
import type { QueueColumn } from "./columns";
import classes from "./Queues.module.css";

interface TableHeadProps {
  columns: readonly QueueColumn[];
  sort: QueuesSearch["sort"];
  sortable: boolean;
  onSort: (sort: QueuesSearch["sort"]) => void;
  allSelected: boolean;
  onSelectAll: () => void;
  /** The columns in another order. */
  onColumns: (ids: readonly string[]) => void;
}

const FALLING_FIRST = /rate|drops|limit/;

/** First click: the useful direction; second: the other; third: the order of the list. */
export function nextSort(key: QueueSort, now: QueuesSearch["sort"]): QueuesSearch["sort"] {
  const first = FALLING_FIRST.test(key) ? (`-${key}` as const) : key;
  const second = FALLING_FIRST.test(key) ? key : (`-${key}` as const);
  return now === first ? second : now === second ? undefined : first;
}

export function TableHead(props: TableHeadProps) {
  const { columns, sort, sortable, onSort, allSelected, onSelectAll, onColumns } = props;
  const ids = columns.map((column) => column.id).filter((id) => id !== "name");
  const drag = useColumnDrag(ids, onColumns);
  return (
    <>
      <span role="columnheader">
        <input
          type="checkbox"
          className={classes.check}
          aria-label="Select all that match"
          checked={allSelected}
          onChange={onSelectAll}
        />
      </span>
      {columns.map((column) => {
        const active = column.sorts?.find((option) => sort === option.key || sort === `-${option.key}`);
        return (
          <span
            key={column.id}
            role="columnheader"
            aria-sort={active ? (sort?.startsWith("-") ? "descending" : "ascending") : undefined}
            {...drag(column.id)}
          >
            <span
              className={
                column.id === "limits"
                  ? `${classes.headCell ?? ""} ${classes.headPair ?? ""}`
                  : classes.headCell
              }
              data-numeric={column.numeric}
            >
              {column.sorts ? null : column.title}
              {sortable
                ? column.sorts?.map((option, index) => (
                    <button
                      key={option.key}
                      type="button"
                      className={classes.sort}
                      data-on={option === active}
                      aria-label={`${index === 0 ? `${column.title} ` : ""}${typeof option.mark === "string" ? option.mark : ""} sort by ${option.label}`}
                      onClick={() => onSort(nextSort(option.key, sort))}
                    >
                      {index === 0 ? `${column.title} ` : ""}
                      {option.mark ? <span className={option.tone}>{option.mark}</span> : null}
                      {option === active ? (
                        sort?.startsWith("-") ? (
                          <IconArrowNarrowDown size={13} />
                        ) : (
                          <IconArrowNarrowUp size={13} />
                        )
                      ) : null}
                    </button>
                  ))
                : column.sorts?.map((option, index) => (
                    <span key={option.key}>
                      {index === 0 ? `${column.title} ` : ""}
                      <span className={option.tone}>{option.mark}</span>
                    </span>
                  ))}
            </span>
          </span>
        );
      })}
    </>
  );
}
