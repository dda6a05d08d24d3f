// SPDX-License-Identifier: Apache-2.0
import { Modal, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useState, type KeyboardEvent } from "react";
import type { PowerAction } from "./AskPower";
import { ALL_NAV } from "./nav";
import { useFound, type Hit } from "./paletteHits";
import { useVerbs } from "./paletteVerbs";
import { includes } from "./searchHits";
import { lastUsedFirst, noteUse } from "./used";
import classes from "./SearchDialog.module.css";

const MOST_HITS = 60;

function useHits(text: string, onPower: (action: PowerAction) => void): { hits: Hit[]; loading: boolean } {
  const navigate = useNavigate();
  const [words] = useDebouncedValue(text.trim(), 120);
  const found = useFound(text, words);
  const pages: Hit[] = ALL_NAV.filter((item) => includes(item.label, text)).map((item) => ({
    key: `page ${item.label}`,
    group: "Pages",
    title: item.label,
    detail: item.keys,
    go: () => void navigate({ to: item.to, params: { page: item.page } }),
  }));
  const actions = useVerbs(text, onPower);
  // With nothing typed yet, what can be done comes first: the pages are in the menu as well.
  const isAsking = actions[0]?.key.startsWith("limit ");
  const rest = text.trim() === "" || isAsking ? [...actions, ...pages] : [...pages, ...actions];
  const all = isAsking ? [...rest, ...found.hits] : lastUsedFirst([...found.hits, ...rest]);
  return { hits: all.slice(0, MOST_HITS), loading: found.loading };
}

/** The chosen hit can be seen, also when the keys went past the end of the list. */
const intoView = (element: HTMLElement | null) => element?.scrollIntoView({ block: "nearest" });

interface SearchDialogProps {
  onClose: () => void;
  /** The router was asked to restart or to switch off. */
  onPower: (action: PowerAction) => void;
}

/** One search over the objects of all kinds, every address that the router knows, pages and actions. */
export function SearchDialog({ onClose, onPower }: SearchDialogProps) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const [waits, setWaits] = useState(false);
  const { hits, loading } = useHits(text, onPower);
  const chosen = Math.min(at, hits.length - 1);
  const take = (hit: Hit | undefined) => {
    if (!hit) return;
    noteUse(hit.key);
    onClose();
    hit.go();
  };
  // Enter takes the first hit for what is typed now, not for what was typed before.
  useEffect(() => {
    if (waits && !loading) take(hits[chosen]);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setAt((chosen + step + hits.length) % Math.max(1, hits.length));
    }
    if (event.key === "Enter") {
      event.preventDefault();
      if (loading && at === 0) setWaits(true);
      else take(hits[chosen]);
    }
  };
  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      size="lg"
      padding={0}
      yOffset="8vh"
      returnFocus
      attributes={{ content: { "aria-label": "Search everything" } }}
    >
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        className={classes.input}
        leftSection={<IconSearch size={17} />}
        placeholder="Name, address, page or action"
        aria-label="Search everything"
        role="combobox"
        aria-expanded="true"
        aria-controls="search-hits"
        aria-activedescendant={hits[chosen] ? `hit-${chosen}` : undefined}
        value={text}
        onChange={(event) => {
          setText(event.currentTarget.value);
          setAt(0);
          setWaits(false);
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="search-hits" role="listbox" aria-label="Found" className={classes.hits}>
        {hits.map((hit, index) => (
          <li
            key={hit.key}
            id={`hit-${index}`}
            role="option"
            aria-selected={index === chosen}
            className={classes.hit}
            data-first={hit.group !== hits[index - 1]?.group || undefined}
            onClick={() => take(hit)}
            onPointerMove={(event) => {
              // A list that scrolls under a hand at rest is not a choice.
              if (event.movementX !== 0 || event.movementY !== 0) setAt(index);
            }}
            ref={index === chosen ? intoView : undefined}
          >
            <span className={classes.group}>{hit.group}</span>
            <span className={classes.title}>{hit.title}</span>
            <span className={classes.detail}>{hit.detail}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 ? (
        <p className={classes.none}>
          {loading
            ? "Searching"
            : "Nothing matches. An address finds the queues, routes, rules and entries that cover it."}
        </p>
      ) : (
        <p className={classes.foot} data-testid="same-line">
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> <kbd>Enter</kbd>
          </span>
          {hits[chosen]?.line ? (
            <span>
              In a shell: <code className="mono">{hits[chosen].line}</code>
            </span>
          ) : null}
          {hits[chosen]?.request ? (
            <span>
              By REST: <code className="mono">{hits[chosen].request}</code>
            </span>
          ) : null}
        </p>
      )}
    </Modal>
  );
}
