// SPDX-License-Identifier: Apache-2.0
import { Modal, TextInput, useMantineColorScheme } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { IconSearch } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type KeyboardEvent } from "react";
import { interfacesQuery, queueSearchQuery } from "@/api/queries";
import { countText, targetText } from "@/ui/format";
import { limitText } from "@/ui/rates";
import { ALL_NAV } from "./nav";
import classes from "./SearchDialog.module.css";

interface Hit {
  key: string;
  group: string;
  title: string;
  detail: string;
  go: () => void;
}

const includes = (text: string, words: string): boolean => text.toLowerCase().includes(words.toLowerCase().trim());

function useHits(text: string): { hits: Hit[]; loading: boolean } {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const [words] = useDebouncedValue(text.trim(), 120);
  const queues = useQuery({ ...queueSearchQuery(words, 8), enabled: words.length > 0 });
  const interfaces = useQuery(interfacesQuery).data;
  const pages: Hit[] = ALL_NAV.filter((item) => includes(item.label, text)).map((item) => ({ key: `page ${item.to}`, group: "Pages", title: item.label, detail: item.keys, go: () => void navigate({ to: item.to }) }));
  const actions: Hit[] = [
    { title: "New queue", go: () => void navigate({ to: "/queues", search: { edit: "new" } }) },
    { title: "Import a file", go: () => void navigate({ to: "/import" }) },
    { title: "Queues with warnings", go: () => void navigate({ to: "/queues", search: { warnings: true } }) },
    { title: "Queue tree", go: () => void navigate({ to: "/queues", search: { view: "tree" } }) },
    { title: "Light colours", go: () => setColorScheme("light") },
    { title: "Dark colours", go: () => setColorScheme("dark") },
  ].filter((action) => includes(action.title, text)).map((action) => ({ ...action, key: `do ${action.title}`, group: "Actions", detail: "" }));
  const found: Hit[] = words === "" ? [] : (queues.data?.items ?? []).map((queue) => ({
    key: `queue ${queue.id}`, group: "Queues", title: queue.name, detail: `${targetText(queue.target[0] ?? "")}  ↑ ${limitText(queue.max_limit_bps.upload)} ↓ ${limitText(queue.max_limit_bps.download)}`,
    go: () => void navigate({ to: "/queues/$id", params: { id: queue.id } }),
  }));
  const total = queues.data?.total ?? 0;
  if (words !== "" && total > found.length) found.push({ key: "more", group: "Queues", title: `All ${countText(total)} queues that match`, detail: "", go: () => void navigate({ to: "/queues", search: { q: words } }) });
  const ports: Hit[] = text === "" ? [] : (interfaces?.items ?? []).filter((item) => includes(`${item.id} ${item.description} ${item.addresses.join(" ")}`, text)).slice(0, 5)
    .map((item) => ({ key: `port ${item.id}`, group: "Interfaces", title: item.id, detail: item.description || item.addresses.join(" "), go: () => void navigate({ to: "/interfaces", search: { edit: item.id } }) }));
  return { hits: [...found, ...ports, ...pages, ...actions].slice(0, 24), loading: queues.isFetching };
}

/** One search over queues (by name, comment or an address inside a target), interfaces, pages and actions. */
export function SearchDialog({ onClose }: { onClose: () => void }) {
  const [text, setText] = useState("");
  const [at, setAt] = useState(0);
  const { hits, loading } = useHits(text);
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
    <Modal opened onClose={onClose} withCloseButton={false} size="lg" padding={0} yOffset="8vh" returnFocus aria-label="Search everything">
      <TextInput
        data-autofocus
        size="md"
        variant="unstyled"
        className={classes.input}
        leftSection={<IconSearch size={17} />}
        placeholder="A name, an address, an interface, a page"
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
          <li key={hit.key} id={`hit-${index}`} role="option" aria-selected={index === chosen} className={classes.hit} onClick={() => take(hit)} onPointerMove={() => setAt(index)}>
            <span className={classes.group}>{hit.group}</span>
            <span className={classes.title}>{hit.title}</span>
            <span className={classes.detail}>{hit.detail}</span>
          </li>
        ))}
      </ul>
      {hits.length === 0 ? <p className={classes.none}>{loading ? "Searching" : "Nothing matches. An address finds the queues whose target covers it, a prefix also those inside it."}</p> : null}
    </Modal>
  );
}
