// SPDX-License-Identifier: Apache-2.0
import { Button, Checkbox, Menu, NativeSelect, Popover, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { IconChevronDown, IconColumns3, IconPlus, IconSearch } from "@tabler/icons-react";
import { useEffect, useRef, useState, type ComponentType, type ReactNode } from "react";
import type { KindSearch } from "@/app/search";
import { SavedViews } from "@/table/SavedViews";
import { Heading } from "@/ui/blocks";
import type { Declared } from "../kinds";
import type { NewObject } from "../lists";
import { objectTitle, pageTitle } from "../title";
import type { Column } from "./columns";
import classes from "./List.module.css";

interface ToolbarProps {
  declared: Declared;
  search: KindSearch;
  onSearch: (change: Partial<KindSearch>) => void;
  columns: readonly Column[];
  shown: readonly Column[];
  /** Of those: what is left out, as it has no value in any row. */
  empty: readonly Column[];
  onColumns: (ids: readonly string[]) => void;
  /** Not all objects are in the browser: the router is asked for those that match. */
  isCut: boolean;
  /** Shown instead of the heads that sort. */
  cards: boolean;
  status: ReactNode;
  /** What a new one can begin as, where there is more than one way. */
  begins: readonly NewObject[];
  figures: ComponentType | undefined;
  /** Null: nothing may be changed. */
  onNew: ((word: string) => void) | null;
}

export function Toolbar(props: ToolbarProps) {
  const { declared, cards, status, figures: HeadFigures } = props;
  return (
    <div className={classes.toolbar}>
      <Heading>{pageTitle(declared)}</Heading>
      {HeadFigures ? (
        <span className={classes.figures}>
          <HeadFigures />
        </span>
      ) : null}
      <QueryField {...props} />
      {cards ? <SortChoice {...props} /> : <ColumnChooser {...props} />}
      <SavedViews />
      <span className={classes.status} role="status">
        {status}
      </span>
      <Make {...props} />
    </div>
  );
}

function Make({ declared, begins, onNew }: ToolbarProps) {
  if (!onNew) return null;
  const looks = { className: classes.make, variant: "filled", leftSection: <IconPlus size={15} /> } as const;
  const title = `New ${objectTitle(declared)}`;
  if (begins.length === 0)
    return (
      <Button {...looks} onClick={() => onNew("new")}>
        {title}
      </Button>
    );
  return (
    <Menu position="bottom-end" width={220}>
      <Menu.Target>
        <Button {...looks} rightSection={<IconChevronDown size={15} />}>
          {title}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {begins.map(({ word, item, key }) => (
          <Menu.Item key={word} rightSection={<span className="dim">{key}</span>} onClick={() => onNew(word)}>
            {item}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function QueryField({ declared, search, onSearch, isCut }: ToolbarProps) {
  const [text, setText] = useState(search.q ?? "");
  const sent = useRef(search.q ?? "");
  const send = useDebouncedCallback((q: string) => {
    sent.current = q.trim();
    onSearch({ q: q.trim() || undefined });
  }, 150);
  useEffect(() => {
    if ((search.q ?? "") === sent.current) return;
    sent.current = search.q ?? "";
    setText(sent.current);
  }, [search.q]);
  return (
    <TextInput
      className={classes.query}
      type="search"
      aria-label={`Search ${declared.plural}`}
      placeholder={isCut ? "Name, comment or address" : "Search in all fields"}
      leftSection={<IconSearch size={15} />}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        send(event.currentTarget.value);
      }}
    />
  );
}

function SortChoice({ declared, search, onSearch, columns }: ToolbarProps) {
  const options = [
    { value: "", label: "list order" },
    { value: declared.namedBy, label: declared.namedBy },
    ...columns
      .filter((column) => column.field)
      .map((column) => ({ value: column.id, label: column.title.toLowerCase() })),
  ];
  return (
    <NativeSelect
      aria-label="Sort by"
      data={options}
      value={search.sort?.replace(/^-/, "") ?? ""}
      onChange={(event) => onSearch({ sort: event.currentTarget.value || undefined })}
    />
  );
}

function ColumnChooser({ declared, onColumns: keep, columns, shown, empty }: ToolbarProps) {
  const ids = shown.map((column) => column.id);
  return (
    <Popover position="bottom-end" width={220}>
      <Popover.Target>
        <Button leftSection={<IconColumns3 size={15} />}>Columns</Button>
      </Popover.Target>
      <Popover.Dropdown>
        <fieldset className={classes.chooser}>
          <legend className="hidden-text">Columns shown</legend>
          {columns.map((column) => (
            <Checkbox
              key={column.id}
              label={column.title}
              checked={ids.includes(column.id)}
              onChange={(event) =>
                keep(event.currentTarget.checked ? [...ids, column.id] : ids.filter((id) => id !== column.id))
              }
            />
          ))}
        </fieldset>
        {empty.length > 0 ? (
          <p className={`dim ${classes.leftOut}`}>
            Hidden until a row has a value: {empty.map((column) => column.title.toLowerCase()).join(", ")}.
          </p>
        ) : null}
        <Button mt="sm" size="compact-xs" onClick={() => keep(declared.columns)}>
          Standard columns
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
}
