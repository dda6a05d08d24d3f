// SPDX-License-Identifier: Apache-2.0
import { Modal, TextInput, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type KeyboardEvent } from "react";
import { useMay } from "@/api/may";
import { interfacesQuery, queueSearchQuery, routesQuery } from "@/api/queries";
import { countText, targetText } from "@/ui/format";
import { limitText } from "@/ui/rates";
import type { PowerAction } from "./AskPower";
import { activeBindings } from "./keyboard";
import { ALL_NAV } from "./nav";
import { PENDING_KEYS } from "./PendingBar";
import { addressesWith, includes, interfacesWith, routesWith } from "./searchHits";
import classes from "./SearchDialog.module.css";

interface Hit {
  key: string;
  group: string;
  title: string;
  detail: string;
  go: () => void;
}

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
  const pending = activeBindings().flatMap(({ keys, label, run }) =>
    run && PENDING_KEYS.includes(keys)
      ? [{ title: label, detail: keys.replace("ctrl+z", "Ctrl Z"), go: run }]
      : [],
  );
  const power = (["restart", "off"] as const).map((action) => ({
    title: POWER_WORD[action],
    detail: "",
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
  const routes = useQuery(routesQuery).data?.items ?? [];
  const pages: Hit[] = ALL_NAV.filter((item) => includes(item.label, text)).map((item) => ({
    key: `page ${item.to}`,
    group: "Pages",
    title: item.label,
    detail: item.keys,
    go: () => void navigate({ to: item.to }),
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
          go: () => void navigate({ to: "/queues/$id", params: { id: queue.id } }),
        }));
  const total = queues.data?.total ?? 0;
  if (words !== "" && total > found.length)
    found.push({
      key: "more",
      group: "Queues",
      title: `All ${countText(total)} queues that match`,
      detail: "",
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
            go: toPort(item.id),
          })),
          ...addressesWith(interfaces, text).map((item) => ({
            ...item,
            group: "Addresses",
            go: toPort(item.id),
          })),
          ...routesWith(routes, text).map((item) => ({
            ...item,
            group: "Routes",
            go: () => void navigate({ to: "/routes", search: { edit: item.id } }),
          })),
        ];
  return { hits: [...found, ...known, ...pages, ...actions].slice(0, 40), loading: queues.isFetching };
}

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
        placeholder="A name, an address, a route, a page, an action"
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
            onClick={() => take(hit)}
            onPointerMove={() => setAt(index)}
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
      ) : null}
    </Modal>
  );
}
