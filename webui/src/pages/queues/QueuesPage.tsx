// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import type { QueueFilter } from "@/api/queries";
import { useStagedChanges } from "@/api/writes";
import { useKeys } from "@/app/keyboard";
import type { QueuesSearch } from "@/app/search";
import { QueueDrawer } from "@/forms/QueueDrawer";
import { Empty, Note, Skeleton } from "@/ui/blocks";
import { countText, plural } from "@/ui/format";
import { useTitle } from "@/ui/title";
import { BulkDrawer } from "./BulkDrawer";
import { copyNow } from "./copy";
import classes from "./Queues.module.css";
import { usePlaced } from "./parents";
import { QueueTable } from "./QueueTable";
import { useFlatRows, useTreeRows, type Rows } from "./rows";
import { useSelection } from "./selection";
import { Toolbar } from "./Toolbar";
import { unfoldedIn, useFirstUnfolded, useUnfolding } from "./unfolded";

export default function QueuesPage() {
  const search = useSearch({ from: "/frame/queues" });
  const navigate = useNavigate({ from: "/queues" });
  const cards = useMediaQuery("(max-width: 52em)", false, { getInitialValueInEffect: false });
  const [hold, setHold] = useState(false);
  const staged = useStagedChanges("queue");
  const placed = usePlaced(staged);
  const may = useMay("support");
  const mayAdd = useMay("write");
  const tree = search.view === "tree" && !search.q;
  const filter = useMemo<QueueFilter>(
    () => ({
      q: search.q,
      sort: search.sort,
      parent: search.parent,
      disabled: search.disabled,
      warnings: search.warnings,
    }),
    [search.q, search.sort, search.parent, search.disabled, search.warnings],
  );
  const first = useFirstUnfolded(tree && search.open === undefined);
  const shown = search.open ?? first.open;
  const expanded = useMemo(() => unfoldedIn(shown), [shown]);
  const flatRows = useFlatRows(filter, placed, hold, !tree);
  const treeRows = useTreeRows(expanded, placed, tree && !first.asking);
  const rows = tree ? treeRows : flatRows;
  const selection = useSelection(filter, rows);
  const onSearch = useCallback(
    (change: Partial<QueuesSearch>) =>
      void navigate({ search: (before) => ({ ...before, ...change }), replace: !("edit" in change) }),
    [navigate],
  );
  const toggle = useUnfolding({ view: search.view, open: search.open, shown }, onSearch);
  const bulk = search.edit === "selected" && may;
  // Also where there is no table yet.
  useKeys(mayAdd ? [{ keys: "n", label: "New queue", run: () => onSearch({ edit: "new" }) }] : []);
  useTitle("Queues");
  return (
    <div className={classes.layout}>
      <div className={classes.list}>
        <Toolbar
          search={search}
          onSearch={onSearch}
          cards={cards}
          may={mayAdd}
          status={<Status rows={rows} search={search} hold={hold} tree={tree} />}
        />
        {selection.queues.length > 0 ? (
          <div className={classes.bulk} role="status">
            <strong>
              {plural(selection.queues.length, "queue")} selected
              {selection.matching === null ? null : ` of ${countText(selection.matching)} that match`}
            </strong>
            {selection.matching === null ? null : (
              <span>One edit takes no more. Narrow the search to reach the others.</span>
            )}
            {may ? <Button onClick={() => onSearch({ edit: "selected" })}>Edit all</Button> : null}
            <Button onClick={copyNow}>Copy</Button>
            <Button variant="subtle" onClick={selection.clear}>
              Clear
            </Button>
          </div>
        ) : null}
        <Body
          rows={rows}
          filtered={Boolean(search.q ?? search.parent ?? search.warnings ?? search.disabled)}
          onClear={() =>
            onSearch({ q: undefined, parent: undefined, warnings: undefined, disabled: undefined })
          }
        >
          <QueueTable
            rows={rows}
            search={search}
            onSearch={onSearch}
            selection={selection}
            onToggle={toggle}
            onHold={setHold}
            cards={cards}
            may={may}
          />
        </Body>
      </div>
      {search.edit !== undefined && !bulk ? (
        <QueueDrawer
          id={search.edit}
          staged={staged}
          parent={search.parent ?? null}
          target={search.target}
          onClose={() => onSearch({ edit: undefined, target: undefined })}
        />
      ) : null}
      {bulk ? (
        <BulkDrawer
          queues={selection.queues}
          onClose={() => onSearch({ edit: undefined })}
          onDone={() => {
            selection.clear();
            onSearch({ edit: undefined });
          }}
        />
      ) : null}
    </div>
  );
}

function Body({
  rows,
  filtered,
  onClear,
  children,
}: {
  rows: Rows;
  filtered: boolean;
  onClear: () => void;
  children: React.ReactNode;
}) {
  if (rows.error && rows.count === 0)
    return (
      <Note severity="error" live>
        {asProblem(rows.error).message}
      </Note>
    );
  if (rows.loading) return <Skeleton lines={12} />;
  if (rows.count > 0) return children;
  if (filtered) {
    return (
      <Empty title="No queue matches">
        <p className="dim">
          The search looks at name, comment and id; an address finds the queues whose target covers it, a
          prefix also those inside it.
        </p>
        <Button onClick={onClear}>Show all queues</Button>
      </Empty>
    );
  }
  return (
    <Empty title="No queues yet">
      <p>
        A queue says who (addresses), how fast up and down, and under which parent. Bring them from a RouterOS
        export or LibreQoS files, or make the first one by hand.
      </p>
      <div className="row">
        <Link to="/import">Import a file</Link>
        <Link to="/queues" search={{ edit: "new" }}>
          New queue
        </Link>
      </div>
    </Empty>
  );
}

function Status({
  rows,
  search,
  hold,
  tree,
}: {
  rows: Rows;
  search: QueuesSearch;
  hold: boolean;
  tree: boolean;
}) {
  const liveSort = /rate|drops/.test(search.sort ?? "");
  return (
    <span className={classes.status}>
      <span role="status">
        {tree ? plural(rows.count, "row") : rows.total === null ? "" : plural(rows.total, "queue")}
      </span>
      {liveSort ? <span>{hold ? "order held" : "order settles every 4 s"}</span> : null}
    </span>
  );
}
