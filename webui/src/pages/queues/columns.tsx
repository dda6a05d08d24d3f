// SPDX-License-Identifier: Apache-2.0
import {
  IconAlertTriangle,
  IconChevronDown,
  IconChevronRight,
  IconMinus,
  IconPencil,
  IconPlus,
} from "@tabler/icons-react";
import { useRouter } from "@tanstack/react-router";
import type { MouseEvent, ReactNode } from "react";
import type { QueueSort } from "@/api/queries";
import type { LiveColumnId } from "@/table/liveColumns";
import { Tag } from "@/ui/blocks";
import { countText, plural, targetText } from "@/ui/format";
import { limitText } from "@/ui/rates";
import { isWider, type Face } from "@/ui/textWidth";
import { InlineLimits } from "./InlineLimits";
import classes from "./Queues.module.css";
import type { QueueRow } from "./rows";

export interface CellContext {
  editing: boolean;
  onToggle: (id: string) => void;
  /** With a step: goes on from this row to the next or the one before. null: nothing may be changed. */
  onEdit: ((id: string | null, step?: 1 | -1) => void) | null;
}

interface ColumnHead {
  id: string;
  title: string;
  width: string;
  /** Sort keys; a pair of limits has one for each direction. */
  sorts?: readonly { key: QueueSort; label: string; mark?: ReactNode; tone?: string }[];
  numeric?: boolean;
  tone?: string;
}

export interface StaticColumn extends ColumnHead {
  render: (row: QueueRow, context: CellContext) => ReactNode;
  /** What is copied. */
  text: (row: QueueRow) => string;
  /** Whether the row's text needs more than the cell has; then its end is cut off. */
  long?: (row: QueueRow, widthPx: number) => boolean;
}

/** Measurements; these columns are neighbours. */
interface MeasuredColumn extends ColumnHead {
  live: LiveColumnId;
}

export type QueueColumn = StaticColumn | MeasuredColumn;

const INDENT_PX = 14;
/** A child without a sign to unfold it stands where its parent's name stands, and a little further in. */
const TWIST_PX = 20;
const STAGED = {
  add: { word: "new", Icon: IconPlus },
  change: { word: "changed", Icon: IconPencil },
  remove: { word: "removed", Icon: IconMinus },
} as const;

/** A plain link: the router's own costs more than all other cells of a row that is scrolled in. */
function RowLink({ id, name, removed }: { id: string; name: string; removed: boolean }) {
  const router = useRouter();
  const open = (event: MouseEvent) => {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    void router.navigate({ to: "/queues/$id", params: { id } });
  };
  return (
    <a
      href={`/queues/${encodeURIComponent(id)}`}
      className={classes.link}
      data-removed={removed}
      tabIndex={-1}
      title={name}
      onClick={open}
    >
      {name}
    </a>
  );
}

/** A sign before the name, which keeps its place. */
function StagedSign({ action }: { action: keyof typeof STAGED }) {
  const { word, Icon } = STAGED[action];
  const words = `${word}, not committed yet`;
  return (
    <span className={classes.sign} title={words}>
      <Icon size={13} role="img" aria-label={words} />
    </span>
  );
}

/** The queue above, where the row stands by itself: in the list, and for what is new below a parent that is not unfolded. */
export const aboveOf = ({ queue, depth }: QueueRow): string | null =>
  depth > 0 ? null : (queue.path.at(-1)?.name ?? queue.parent);

export function QueueName({ row, onToggle }: { row: QueueRow; onToggle: (id: string) => void }) {
  const { queue, depth, expanded, staged } = row;
  const above = aboveOf(row);
  return (
    <span
      className={classes.name}
      style={{ paddingLeft: depth * INDENT_PX + (expanded === null && depth > 0 ? TWIST_PX : 0) }}
    >
      {expanded === null ? null : (
        <button
          type="button"
          className={classes.twist}
          aria-expanded={expanded}
          aria-label={`${expanded ? "Fold" : "Unfold"} ${queue.name}`}
          tabIndex={-1}
          onClick={() => onToggle(queue.id)}
        >
          {expanded ? <IconChevronDown size={14} /> : <IconChevronRight size={14} />}
        </button>
      )}
      {staged ? <StagedSign action={staged} /> : null}
      {staged === "add" ? (
        <span className={classes.named} title={queue.name}>
          {queue.name}
        </span>
      ) : (
        <RowLink id={queue.id} name={queue.name} removed={staged === "remove"} />
      )}
      {queue.child_count > 0 ? (
        <span className="dim" title={`${plural(queue.child_count, "queue")} in it`}>
          {countText(queue.child_count)}
        </span>
      ) : null}
      {above === null ? null : (
        <span className={classes.above} title={`in ${above}`}>
          {above}
        </span>
      )}
      {queue.disabled ? <Tag>off</Tag> : null}
      {queue.warnings.length > 0 ? (
        <span className={classes.warn} title={queue.warnings.map((finding) => finding.message).join("\n")}>
          <IconAlertTriangle
            size={13}
            className="warn"
            role="img"
            aria-label={plural(queue.warnings.length, "warning")}
          />
        </span>
      ) : null}
    </span>
  );
}

/** A limit as it will be, behind the one that runs where they differ. */
export function Limit({ now, before }: { now: number; before: number | undefined }) {
  if (before === undefined || before === now) return <span>{limitText(now)}</span>;
  return (
    <span className={classes.changed} title={`${limitText(before)} → ${limitText(now)}, not committed yet`}>
      <del>{limitText(before)}</del>→<ins>{limitText(now)}</ins>
    </span>
  );
}

export function Limits({ row, context }: { row: QueueRow; context: CellContext }) {
  const { queue, before } = row;
  const { onEdit } = context;
  if (context.editing && onEdit)
    return (
      <InlineLimits
        key={queue.id}
        queue={queue}
        base={row.base}
        onClose={() => onEdit(null)}
        onStep={(by) => onEdit(queue.id, by)}
      />
    );
  return (
    <span
      className={classes.limits}
      onDoubleClick={() => onEdit?.(queue.id)}
      title={onEdit ? "Enter or double-click to edit" : undefined}
    >
      <Limit now={queue.max_limit_bps.upload} before={before?.max_limit_bps.upload} />
      <Limit now={queue.max_limit_bps.download} before={before?.max_limit_bps.download} />
    </span>
  );
}

const targetsOf = ({ queue }: QueueRow): string =>
  queue.target.map(targetText).join(" ") || (queue.dst ? `to ${queue.dst}` : "–");
const parentOf = ({ queue }: QueueRow): string => queue.path.at(-1)?.name ?? queue.parent ?? "–";
const typeOf = ({ queue }: QueueRow): string =>
  queue.queue_type.upload === queue.queue_type.download
    ? queue.queue_type.upload
    : `${queue.queue_type.upload} / ${queue.queue_type.download}`;
const limitsOf = ({ queue }: QueueRow): string =>
  `${limitText(queue.max_limit_bps.upload)}   ${limitText(queue.max_limit_bps.download)}`;
const guaranteeOf = ({ queue }: QueueRow): string =>
  `${limitText(queue.limit_at_bps.upload)} / ${limitText(queue.limit_at_bps.download)}`;
const priorityOf = ({ queue }: QueueRow): string => `${queue.priority.upload} / ${queue.priority.download}`;

const longer =
  (text: (row: QueueRow) => string, face: Face = "plain") =>
  (row: QueueRow, widthPx: number): boolean =>
    isWider(text(row), face, widthPx);

/** Whatever stands beside the name may not push it out of its cell. */
const nameIsLong = (row: QueueRow, widthPx: number): boolean =>
  row.depth > 0 ||
  row.expanded !== null ||
  row.staged !== null ||
  row.queue.child_count > 0 ||
  row.queue.disabled ||
  row.queue.warnings.length > 0 ||
  isWider(`${row.queue.name}  ${aboveOf(row) ?? ""}`, "strong", widthPx);

export const COLUMNS: readonly QueueColumn[] = [
  {
    id: "name",
    title: "Name",
    width: "minmax(170px, 2.2fr)",
    sorts: [{ key: "name", label: "name" }],
    long: nameIsLong,
    text: ({ queue }) => queue.name,
    render: (row, context) => <QueueName row={row} onToggle={context.onToggle} />,
  },
  {
    id: "target",
    title: "Target",
    width: "minmax(140px, 2fr)",
    long: longer(targetsOf, "mono"),
    text: targetsOf,
    render: (row) => (
      <span className="mono" title={row.queue.target.join("\n")}>
        {targetsOf(row)}
      </span>
    ),
  },
  {
    id: "limits",
    title: "Limit",
    width: "136px",
    numeric: true,
    long: longer(limitsOf),
    text: (row) => limitsOf(row).replace(/ +/, "/"),
    sorts: [
      { key: "max_limit_upload", label: "upload limit", mark: "↑", tone: "up" },
      { key: "max_limit_download", label: "download limit", mark: "↓", tone: "down" },
    ],
    render: (row, context) => <Limits row={row} context={context} />,
  },
  {
    id: "rate_upload",
    title: "Rate",
    width: "minmax(92px, 130px)",
    numeric: true,
    sorts: [{ key: "rate_upload", label: "upload rate", mark: "↑", tone: "up" }],
    live: "rate_upload",
  },
  {
    id: "rate_download",
    title: "Rate",
    width: "minmax(92px, 130px)",
    numeric: true,
    sorts: [{ key: "rate_download", label: "download rate", mark: "↓", tone: "down" }],
    live: "rate_download",
  },
  { id: "delay", title: "Delay", width: "62px", numeric: true, live: "delay" },
  {
    id: "worst",
    title: "Longest",
    width: "66px",
    numeric: true,
    live: "worst",
  },
  {
    id: "drops",
    title: "Drops/s",
    width: "66px",
    numeric: true,
    sorts: [{ key: "drops", label: "drops per second" }],
    live: "drops",
  },
  {
    id: "fast",
    title: "Fast",
    width: "54px",
    numeric: true,
    live: "fast",
  },
  {
    id: "comment",
    title: "Comment",
    width: "minmax(80px, 1.2fr)",
    long: longer(({ queue }) => queue.comment),
    text: ({ queue }) => queue.comment,
    render: ({ queue }) => (
      <span className="dim" title={queue.comment || undefined}>
        {queue.comment}
      </span>
    ),
  },
  {
    id: "parent",
    title: "Parent",
    width: "minmax(90px, 1fr)",
    long: longer(parentOf),
    text: parentOf,
    render: parentOf,
  },
  {
    id: "guarantee",
    title: "Guarantee",
    width: "110px",
    numeric: true,
    text: guaranteeOf,
    render: guaranteeOf,
  },
  { id: "priority", title: "Priority", width: "70px", numeric: true, text: priorityOf, render: priorityOf },
  {
    id: "type",
    title: "Type",
    width: "minmax(110px, 1fr)",
    long: longer(typeOf),
    text: typeOf,
    render: typeOf,
  },
  {
    id: "position",
    title: "Position",
    width: "80px",
    numeric: true,
    sorts: [{ key: "position", label: "position" }],
    text: ({ queue }) => String(queue.position),
    render: ({ queue }) => queue.position,
  },
  {
    id: "id",
    title: "Id",
    width: "80px",
    sorts: [{ key: "id", label: "id" }],
    long: longer(({ queue }) => queue.id, "mono"),
    text: ({ queue }) => queue.id,
    render: ({ queue }) => <span className="mono">{queue.id}</span>,
  },
];

/** Titles where no arrow stands beside them. */
export const COLUMN_WORD: Partial<Record<string, string>> = {
  limits: "Limit ↑/↓",
  rate_upload: "Rate ↑",
  rate_download: "Rate ↓",
  worst: "Longest delay",
};

export const DEFAULT_COLUMNS = [
  "name",
  "target",
  "limits",
  "rate_upload",
  "rate_download",
  "delay",
  "drops",
  "fast",
  "comment",
];

/** In the order of the address; the name is always there, and the first. */
export const chosenColumns = (cols: string | undefined): readonly QueueColumn[] => {
  const wanted = new Set(["name", ...(cols ? cols.split(".") : DEFAULT_COLUMNS)]);
  return [...wanted].flatMap((id) => COLUMNS.filter((column) => column.id === id));
};

/** How the address has these columns; undefined: the standard ones need no word. */
export const colsOf = (ids: readonly string[]): string | undefined => {
  const cols = ids.join(".");
  return cols === DEFAULT_COLUMNS.join(".") ? undefined : cols;
};
