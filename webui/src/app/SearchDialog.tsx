// SPDX-License-Identifier: Apache-2.0
import { Modal, TextInput, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type KeyboardEvent } from "react";
import { useMay } from "@/api/may";
import { hostSearchQuery, interfacesQuery, queueSearchQuery, routesQuery } from "@/api/queries";
import { countText, targetText } from "@/ui/format";
import { limitText } from "@/ui/rates";
import type { PowerAction } from "./AskPower";
import { activeBindings } from "./keyboard";
import { ALL_NAV } from "./nav";
import { PENDING_KEYS } from "./PendingBar";
import { addressesWith, hostsAs, includes, interfacesWith, routesWith } from "./searchHits";
import classes from "./SearchDialog.module.css";

interface Hit {
  key: string;
  group: string;
  title: string;
  detail: string;
  /** The line of `weir` that shows or does the same. */
  line?: string;
  go: () => void;
}

/** Quoted as a shell wants it. */
const shellWord = (text: string): string =>
  /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** What the keys of pending changes are called on the command line. */
const PENDING_LINE: Record<string, string> = { c: "weir commit", d: "weir diff" };
const POWER_LINE: Record<PowerAction, string | undefined> = { restart: "weir restart", off: undefined };

const POWER_WORD: Record<PowerAction, string> = {
  restart: "Restart the router",
  off: "Switch the router off",
};

/** What can be done from anywhere: a page's form, the bar of pending changes, the machine. */
function useVerbs(onPower: (action: PowerAction) => void): Hit[] {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const mayWrite = useMay("write");
  const isAdmin = useMay("admin");
  const make: Omit<Hit, "key" | "group">[] = [
    { title: "New queue", detail: "", go: () => void navigate({ to: "/queues", search: { edit: "new" } }) },
    {
      title: "New VLAN",
      detail: "",
      go: () => void navigate({ to: "/interfaces", search: { edit: "new" } }),
    },
    {
      title: "New VRF",
      detail: "",
      go: () => void navigate({ to: "/interfaces", search: { edit: "new:vrf" } }),
    },
    { title: "New route", detail: "", go: () => void navigate({ to: "/routes", search: { edit: "new" } }) },
    {
      title: "New queue type",
      detail: "",
      go: () => void navigate({ to: "/queue-types", search: { edit: "new" } }),
    },
    { title: "Import a file", detail: "", go: () => void navigate({ to: "/import" }) },
  ];
  const pending: Omit<Hit, "key" | "group">[] = activeBindings().flatMap(({ keys, label, run }) =>
    run && PENDING_KEYS.includes(keys)
      ? [{ title: label, detail: keys.replace("ctrl+z", "Ctrl Z"), line: PENDING_LINE[keys], go: run }]
      : [],
  );
  const power: Omit<Hit, "key" | "group">[] = (["restart", "off"] as const).map((action) => ({
    title: POWER_WORD[action],
    detail: "",
    line: POWER_LINE[action],
    go: () => onPower(action),
  }));
  const look = [
    {
      title: "Queues with warnings",
      detail: "",
      go: () => void navigate({ to: "/queues", search: { warnings: true } }),
    },
    { title: "Queue tree", detail: "", go: () => void navigate({ to: "/queues", search: { view: "tree" } }) },
    { title: "Light colours", detail: "", go: () => setColorScheme("light") },
    { title: "Dark colours", detail: "", go: () => setColorScheme("dark") },
  ];
  return [...(mayWrite ? [...make, ...pending] : []), ...look, ...(isAdmin ? power : [])].map((verb) => ({
    ...verb,
    key: `do ${verb.title}`,
    group: "Actions",
  }));
}

function useHits(text: string, onPower: (action: PowerAction) => void): { hits: Hit[]; loading: boolean } {
  const navigate = useNavigate();
  const [words] = useDebouncedValue(text.trim(), 120);
  const queues = useQuery({ ...queueSearchQuery(words, 8), enabled: words.length > 0 });
  const interfaces = useQuery(interfacesQuery).data?.items ?? [];
  const hosts = useQuery({ ...hostSearchQuery(words), enabled: words.length > 0 }).data?.items ?? [];
  const routes = useQuery(routesQuery).data?.items ?? [];
  const pages: Hit[] = ALL_NAV.filter((item) => includes(item.label, text)).map((item) => ({
    key: `page ${item.label}`,
    group: "Pages",
    title: item.label,
    detail: item.keys,
    go: () => void navigate({ to: item.to, params: { page: item.page } }),
  }));
  const actions = useVerbs(onPower).filter((action) => includes(action.title, text));
  const found: Hit[] =
    words === ""
      ? []
      : (queues.data?.items ?? []).map((queue) => ({
          key: `queue ${queue.id}`,
          group: "Queues",
          title: queue.name,
          detail: `${targetText(queue.target[0] ?? "")}  ↑ ${limitText(queue.max_limit_bps.upload)} ↓ ${limitText(queue.max_limit_bps.download)}`,
          line: `weir queue show ${queue.id}`,
          go: () => void navigate({ to: "/queues/$id", params: { id: queue.id } }),
        }));
  const total = queues.data?.total ?? 0;
  if (words !== "" && total > found.length)
    found.push({
      key: "more",
      group: "Queues",
      title: `All ${countText(total)} queues that match`,
      detail: "",
      line: `weir queue list --search ${shellWord(words)}`,
      go: () => void navigate({ to: "/queues", search: { q: words } }),
    });
  const toPort = (id: string) => () => void navigate({ to: "/interfaces", search: { edit: id } });
  const known: Hit[] =
    text.trim() === ""
      ? []
      : [
          ...interfacesWith(interfaces, text).map((item) => ({
            ...item,
            group: "Interfaces",
            line: `weir interface show ${item.id}`,
            go: toPort(item.id),
          })),
          ...addressesWith(interfaces, text).map((item) => ({
            ...item,
            group: "Addresses",
            line: `weir interface show ${item.id}`,
            go: toPort(item.id),
          })),
          ...hostsAs(hosts, words).map((item) => ({
            ...item,
            group: "Hosts",
            line: `weir host list --search ${shellWord(words)}`,
            go: () => void navigate({ to: "/hosts", search: { q: item.id } }),
          })),
          ...routesWith(routes, text).map((item) => ({
            ...item,
            group: "Routes",
            line: `weir route show ${item.id}`,
            go: () => void navigate({ to: "/routes", search: { edit: item.id } }),
          })),
        ];
  // With nothing typed yet, what can be done comes first: the pages are in the menu as well.
  const rest = text.trim() === "" ? [...actions, ...pages] : [...pages, ...actions];
  return { hits: [...found, ...known, ...rest].slice(0, 40), loading: queues.isFetching };
}

/** The chosen hit can be seen, also when the keys went past the end of the list. */
const intoView = (element: HTMLElement | null) => element?.scrollIntoView({ block: "nearest" });

interface SearchDialogProps {
  onClose: () => void;
  /** The router was asked to restart or to switch off. */
  onPower: (action: PowerAction) => void;
}

/** One search over queues (by name, comment or an address inside a target), interfaces, every address the router knows, routes, pages and actions. */
export function SearchDialog({ onClose, onPower }: SearchDialogProps) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { hits, loading } = useHits(text, onPower);
  const chosen = Math.min(at, hits.length - 1);
  const take = (hit: Hit | undefined) => {
    if (!hit) return;
    onClose();
    hit.go();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      setAt((chosen + step + hits.length) % Math.max(1, hits.length));
    }
    if (event.key === "Enter") {
      event.preventDefault();
      take(hits[chosen]);
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
      aria-label="Search everything"
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
            : "Nothing matches. An address finds the queues whose target covers it, a prefix also those inside it."}
        </p>
      ) : (
        <p className={classes.foot} data-testid="same-line">
          <span>
            <kbd>↑</kbd> <kbd>↓</kbd> <kbd>Enter</kbd>
          </span>
          {hits[chosen]?.line ? (
            <span>
              The same in a shell: <code className="mono">{hits[chosen].line}</code>
            </span>
          ) : null}
        </p>
      )}
    </Modal>
  );
}
