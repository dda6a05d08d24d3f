// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useElementSize, useMediaQuery } from "@mantine/hooks";
import { Suspense, useMemo, useState, type ReactNode } from "react";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import type { KindSearch } from "@/app/search";
import { useKeys } from "@/app/keyboard";
import { Empty, Note, Skeleton } from "@/ui/blocks";
import { countText, plural } from "@/ui/format";
import { useTitle } from "@/ui/title";
import { ABOVE } from "../extras";
import { KindDrawer } from "../form/KindDrawer";
import type { Declared } from "../kinds";
import { LISTS, type NewObject } from "../lists";
import { objectTitle, pageTitle } from "../title";
import { useRows, type Row } from "../objects";
import { useStateColumns } from "../states";
import { chosenIds, columnsOf, fitting, isWithoutValues, keepColumns } from "./columns";
import { KindTable } from "./KindTable";
import { useMoves, type Moves } from "./moving";
import classes from "./List.module.css";
import { Toolbar } from "./Toolbar";
import { useEdits } from "./useEdits";
import { useChosen, useShown } from "./useShown";

interface KindListProps {
  kind: string;
  declared: Declared;
  search: KindSearch;
  onSearch: (change: Partial<KindSearch>) => void;
}

/** What stands left and right of the table, in pixels. */
const BESIDE_PX = 40;
/** By so much a row that can be moved begins further right. */
const HANDLE_PX = 16;
const NO_CHOICE: readonly NewObject[] = [];

/** The list of a kind, and the form of one of its objects in a drawer beside it. */
export function KindList({ kind, declared: told, search, onSearch }: KindListProps) {
  const own = LISTS[kind];
  const declared = useMemo(
    () => (own?.columns ? { ...told, columns: own.shown(told.columns) } : told),
    [own, told],
  );
  const begins = own?.begins ?? NO_CHOICE;
  const cards = useMediaQuery("(max-width: 52em)", false, { getInitialValueInEffect: false });
  const may = useMay("write");
  const { query, rows, isCut, isAsked } = useRows(kind, declared, search.q);
  // What the router was asked for matches already, also by addresses inside a prefix.
  const shown = useShown(declared, rows, isAsked ? undefined : search.q, search.sort);
  const chosen = useChosen(shown);
  const edits = useEdits(kind, declared);
  const [followed, setFollowed] = useState<string | null>(null);
  const moves = useMoves(declared, shown, setFollowed);
  /** Where rows are left out or in another order, nobody sees where one would go. */
  const isInOrder = declared.order !== undefined && !search.q && !search.sort;
  const ids = chosenIds(kind, declared, search.cols).join(".");
  const learnt = useStateColumns(kind, declared, ids.split("."));
  const all = useMemo(() => columnsOf(declared, learnt, own?.columns ?? []), [declared, learnt, own]);
  const asked = useMemo(
    () => ids.split(".").flatMap((id) => all.filter((column) => column.id === id)),
    [all, ids],
  );
  const onColumns = (next: readonly string[]) => {
    const isDeclared = next.join(".") === declared.columns.join(".");
    keepColumns(kind, isDeclared ? null : next);
    onSearch({ cols: isDeclared ? undefined : next.join(".") });
  };
  const onOpen = (edit: string | undefined) => onSearch({ edit });
  const openNew = may ? onOpen : null;
  useNewKeys(declared, begins, openNew);
  useTitle(pageTitle(declared));
  const edited = rows.find((row) => row.object.id === search.edit);
  const begin = edited ? undefined : begins.find((item) => item.word === search.edit);
  const isOpen = edited !== undefined || begin !== undefined || search.edit === "new";
  const { ref, width } = useElementSize();
  const isStandard = ids === declared.columns.join(".");
  /** What there is room for: nothing is cut off. Columns that somebody chose are all shown where no form is open. */
  const fits = width > 0 && !cards && (isOpen || isStandard);
  const empty = useMemo(
    () => (isStandard ? asked.filter((column) => isWithoutValues(column, rows)) : []),
    [asked, rows, isStandard],
  );
  const said = asked.filter((column) => !empty.includes(column));
  const columns = fits ? fitting(said, width - BESIDE_PX - (declared.order ? HANDLE_PX : 0)) : said;
  const Above = ABOVE[kind];
  const total = (query.data?.total ?? 0) + rows.filter((row) => row.staged === "add").length;
  return (
    <div className={classes.layout}>
      <div className={classes.list} ref={ref}>
        <Toolbar
          declared={declared}
          search={search}
          onSearch={onSearch}
          onColumns={onColumns}
          isCut={isCut}
          columns={all}
          shown={asked}
          empty={empty}
          cards={cards}
          status={
            query.data ? (
              <Status
                shown={shown}
                rows={rows}
                total={total}
                isAsked={isAsked}
                hidden={said.length - columns.length}
              />
            ) : null
          }
          begins={begins}
          figures={own?.figures}
          onNew={openNew}
        />
        {Above ? (
          <Suspense fallback={null}>
            <Above />
          </Suspense>
        ) : null}
        {query.isError ? (
          <Note severity="error" live>
            {asProblem(query.error).message}
          </Note>
        ) : null}
        {chosen.chosen.length > 0 ? (
          <Bulk
            declared={declared}
            edits={edits}
            chosen={chosen}
            may={may}
            moves={isInOrder ? moves : null}
          />
        ) : null}
        {query.isPending ? (
          <Skeleton lines={10} />
        ) : shown.length > 0 ? (
          <KindTable
            declared={declared}
            rows={shown}
            columns={columns}
            sort={search.sort}
            onSort={(sort) => onSearch({ sort })}
            chosen={chosen}
            onOpen={onOpen}
            moves={may && isInOrder ? moves : null}
            followed={followed}
            onFollow={setFollowed}
            edits={may ? edits : null}
            // Those without room or values are after the others, and stay.
            onColumns={(next) => {
              const hidden = asked.filter((column) => !columns.includes(column));
              onColumns([...next, ...hidden.map(({ id }) => id)]);
            }}
            cards={cards}
          />
        ) : query.isError ? null : (
          <Nothing declared={declared} search={search} onSearch={onSearch} onNew={openNew} />
        )}
      </div>
      {isOpen ? (
        <KindDrawer
          key={search.edit}
          kind={kind}
          declared={declared}
          row={edited ?? null}
          begin={begin}
          others={rows}
          onClose={() => onOpen(undefined)}
        />
      ) : null}
    </div>
  );
}

/** A key for each that a new one can begin as, or one for all. */
function useNewKeys(
  declared: Declared,
  begins: readonly NewObject[],
  onNew: ((word: string) => void) | null,
): void {
  const ways =
    begins.length > 0 ? begins : [{ key: "n", word: "new", title: `New ${objectTitle(declared)}` }];
  useKeys(
    onNew ? ways.map(({ key, title, word }) => ({ keys: key, label: title, run: () => onNew(word) })) : [],
  );
}

interface StatusProps {
  shown: readonly Row[];
  rows: readonly Row[];
  total: number;
  /** The rows are what the router found. */
  isAsked: boolean;
  /** Columns without room. */
  hidden: number;
}

function Status({ shown, rows, total, isAsked, hidden }: StatusProps) {
  const pending = rows.filter((row) => row.staged !== null).length;
  const isLess = rows.length < total;
  const count =
    shown.length === total || isLess ? countText(total) : `${countText(shown.length)} of ${countText(total)}`;
  return (
    <>
      {count}
      {isAsked ? " match" : ""}
      {pending > 0 ? `, ${countText(pending)} pending` : ""}
      {isLess ? `; the first ${countText(rows.length)} are listed, a search finds the others` : ""}
      {hidden > 0 && shown.length > 0 ? `, ${plural(hidden, "column has", "columns have")} no room` : ""}
    </>
  );
}

/** What can be done to all rows that are chosen. */
function Bulk({
  declared,
  edits,
  chosen,
  may,
  moves,
}: {
  declared: Declared;
  edits: ReturnType<typeof useEdits>;
  chosen: ReturnType<typeof useChosen>;
  may: boolean;
  moves: Moves | null;
}): ReactNode {
  const rows = chosen.chosen;
  const [one] = rows.length === 1 ? rows : [];
  const canDisable = declared.fields.some((field) => field.name === "disabled");
  return (
    <div className={classes.bulk}>
      <strong role="status">{plural(rows.length, declared.singular, declared.plural)} selected</strong>
      {may && canDisable ? (
        <>
          <Button size="compact-sm" onClick={() => edits.setDisabled(rows, false)}>
            Enable
          </Button>
          <Button size="compact-sm" onClick={() => edits.setDisabled(rows, true)}>
            Disable
          </Button>
        </>
      ) : null}
      {may && declared.order && one ? (
        moves ? (
          <>
            <Button size="compact-sm" onClick={() => moves.step(one, -1)}>
              Move up
            </Button>
            <Button size="compact-sm" onClick={() => moves.step(one, 1)}>
              Move down
            </Button>
          </>
        ) : (
          <span className="dim">To move it, clear the search and the sorting.</span>
        )
      ) : null}
      {may ? (
        <Button size="compact-sm" color="red" onClick={() => edits.remove(rows, chosen.clear)}>
          Delete
        </Button>
      ) : null}
      <Button size="compact-sm" variant="subtle" onClick={chosen.clear}>
        Clear the selection
      </Button>
    </div>
  );
}

function Nothing({
  declared,
  search,
  onSearch,
  onNew,
}: Pick<KindListProps, "declared" | "search" | "onSearch"> & { onNew: ((word: string) => void) | null }) {
  if (search.q)
    return (
      <Empty title={`No ${declared.singular} matches "${search.q}"`}>
        <Button onClick={() => onSearch({ q: undefined })}>Clear the search</Button>
      </Empty>
    );
  return (
    <Empty title={`No ${declared.plural}`}>
      {declared.purpose ? <p className="dim">{declared.purpose}</p> : null}
      {onNew ? <Button onClick={() => onNew("new")}>New {objectTitle(declared)}</Button> : null}
    </Empty>
  );
}
