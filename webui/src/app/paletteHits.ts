// SPDX-License-Identifier: Apache-2.0
/** What the palette finds among the objects that the router knows: of every kind, addresses, and hosts. */
import { queryOptions, keepPreviousData, useQuery } from "@tanstack/react-query";
import { useNavigate, useRouter } from "@tanstack/react-router";
import { api, need } from "@/api/client";
import { CONFIG, hostSearchQuery, interfacesQuery, queueSearchQuery } from "@/api/queries";
import { NAMED } from "@/kinds/names";
import { pageTitle } from "@/kinds/title";
import { useViews } from "@/table/views";
import { countText, targetText } from "@/ui/format";
import { limitText } from "@/ui/rates";
import { addressesWith, hostsAs, includes, interfacesWith } from "./searchHits";

export interface Hit {
  key: string;
  group: string;
  title: string;
  detail: string;
  /** The line of `weir` that shows or does the same. */
  line?: string;
  /** The request that does. */
  request?: string;
  go: () => void;
}

/** Quoted as a shell wants it. */
export const shellWord = (text: string): string =>
  /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** What a kind is called on the command line. */
export const commandOf = (short: string): string => short.replaceAll(" ", "-");

const OF_A_KIND = 5;
/** These have hits of their own, with more to say. */
const BY_HAND = new Set(["queue", "interface"]);

const everythingQuery = (q: string) =>
  queryOptions({
    queryKey: [...CONFIG, "search", q],
    queryFn: ({ signal }) =>
      need(api.GET("/api/v1/search", { params: { query: { q, limit: OF_A_KIND } }, signal })),
    placeholderData: keepPreviousData,
  });

/** Objects of declared kinds, each kind with a line that leads to all that match in its list. */
function useObjects(words: string): { hits: Hit[]; loading: boolean } {
  const navigate = useNavigate();
  const found = useQuery({ ...everythingQuery(words), enabled: words !== "" });
  if (words === "") return { hits: [], loading: false };
  const hits = (found.data?.groups ?? []).flatMap(({ kind, path, items, total }): Hit[] => {
    const named = NAMED.get(kind);
    if (!named || BY_HAND.has(kind)) return [];
    const group = pageTitle(named);
    const to = `/${named.page}` as "/$page";
    const shown = items.map((item): Hit => ({
      key: `${kind} ${item.id}`,
      group,
      title: item.name,
      detail: item.detail,
      line: `weir ${commandOf(named.short)} show ${item.id}`,
      request: `GET /api/v1/${path}/${item.id}`,
      go: () => void navigate({ to, params: { page: named.page }, search: { edit: item.id } }),
    }));
    if (total <= items.length) return shown;
    return [
      ...shown,
      {
        key: `${kind} more`,
        group,
        title: `All ${countText(total)} ${named.plural} that match`,
        detail: "",
        line: `weir ${commandOf(named.short)} list --search ${shellWord(words)}`,
        request: `GET /api/v1/${path}?q=${encodeURIComponent(words)}`,
        go: () => void navigate({ to, params: { page: named.page }, search: { q: words } }),
      },
    ];
  });
  return { hits, loading: found.isFetching };
}

function useQueues(words: string): { hits: Hit[]; loading: boolean } {
  const navigate = useNavigate();
  const queues = useQuery({ ...queueSearchQuery(words, 8), enabled: words !== "" });
  if (words === "") return { hits: [], loading: false };
  const hits = (queues.data?.items ?? []).map((queue): Hit => ({
    key: `queue ${queue.id}`,
    group: "Queues",
    title: queue.name,
    detail: `${targetText(queue.target[0] ?? "")}  ↑ ${limitText(queue.max_limit_bps.upload)} ↓ ${limitText(queue.max_limit_bps.download)}`,
    line: `weir queue show ${queue.id}`,
    request: `GET /api/v1/queues/${queue.id}`,
    go: () => void navigate({ to: "/queues/$id", params: { id: queue.id } }),
  }));
  const total = queues.data?.total ?? 0;
  if (total > hits.length)
    hits.push({
      key: "more",
      group: "Queues",
      title: `All ${countText(total)} queues that match`,
      detail: "",
      line: `weir queue list --search ${shellWord(words)}`,
      request: `GET /api/v1/queues?q=${encodeURIComponent(words)}`,
      go: () => void navigate({ to: "/queues", search: { q: words } }),
    });
  return { hits, loading: queues.isFetching };
}

/** Interfaces, the addresses that they have or learned, and hosts beside the router. */
function useNetwork(text: string, words: string): Hit[] {
  const navigate = useNavigate();
  const interfaces = useQuery(interfacesQuery).data?.items ?? [];
  const hosts = useQuery({ ...hostSearchQuery(words), enabled: words !== "" }).data?.items ?? [];
  if (text.trim() === "") return [];
  const port = (group: string) => (item: ReturnType<typeof interfacesWith>[number]) => ({
    ...item,
    group,
    line: `weir interface show ${item.id}`,
    request: `GET /api/v1/interfaces/${item.id}`,
    go: () => void navigate({ to: "/interfaces", search: { edit: item.id } }),
  });
  return [
    ...interfacesWith(interfaces, text).map(port("Interfaces")),
    ...addressesWith(interfaces, text).map(port("Addresses")),
    ...hostsAs(hosts, words).map(({ queue, ...item }) => ({
      ...item,
      group: "Hosts",
      line: `weir host list --search ${shellWord(item.id)}`,
      request: `GET /api/v1/hosts?q=${encodeURIComponent(item.id)}`,
      go: () =>
        void (queue
          ? navigate({ to: "/queues/$id", params: { id: queue } })
          : navigate({ to: "/hosts", search: { q: item.id } })),
    })),
  ];
}

const IPV4 = /^\d{1,3}(\.\d{1,3}){3}$/;
/** Unlike a MAC it has "::" or seven colons. */
const IPV6 = /^(?=.*::|(.*:){7})[\da-f:]+(:[\d.]+)?$/i;

/** An address has a line to the internet also where no queue limits it, and what is logged of it. */
function useOfAddress(words: string): Hit[] {
  const navigate = useNavigate();
  if (!IPV4.test(words) && !IPV6.test(words)) return [];
  return [
    {
      key: "why",
      group: "Diagnostics",
      title: `Why is ${words} slow?`,
      detail: "",
      line: `weir why ${words}`,
      request: `GET /api/v1/diagnosis/why?address=${words}`,
      go: () => void navigate({ to: "/diagnostics", search: { address: words } }),
    },
    {
      key: "log",
      group: "Diagnostics",
      title: `Log lines with ${words}`,
      detail: "",
      line: `weir log --search ${words}`,
      request: `GET /api/v1/diagnosis/log?q=${words}`,
      go: () => void navigate({ to: "/log", search: { q: words } }),
    },
  ];
}

/** Lists that were saved under a name that matches; all of them where nothing is typed. */
function useSavedViews(text: string): Hit[] {
  const router = useRouter();
  return useViews()
    .filter((view) => includes(view.name, text))
    .map((view) => ({
      key: `view ${view.name}`,
      group: "Views",
      title: view.name,
      detail: view.at,
      go: () => router.history.push(view.at),
    }));
}

/** `words` is what was typed a moment ago: what the router is asked for. While it is `loading`, there may be
 * hits for what was typed before. */
export function useFound(text: string, words: string): { hits: Hit[]; loading: boolean } {
  const queues = useQueues(words);
  const network = useNetwork(text, words);
  const ofAddress = useOfAddress(words);
  const objects = useObjects(words);
  const views = useSavedViews(text);
  const hits = [...views, ...queues.hits, ...network, ...ofAddress, ...objects.hits];
  return { hits, loading: words !== text.trim() || queues.loading || objects.loading };
}
