// SPDX-License-Identifier: Apache-2.0
/** What can be done from anywhere: a page's form, a limit, the bar of pending changes, the machine. */
import { useMantineColorScheme } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useMay } from "@/api/may";
import { queueSearchQuery } from "@/api/queries";
import type { Queue } from "@/api/types";
import { queueInput, useStage } from "@/api/writes";
import { NAMED } from "@/kinds/names";
import { MADE, NEW } from "@/kinds/newInterfaces";
import { objectTitle } from "@/kinds/title";
import { exactRate, parseRate } from "@/ui/rates";
import { say } from "@/ui/toast";
import type { PowerAction } from "./AskPower";
import { activeBindings } from "./keyboard";
import { commandOf, type Hit } from "./paletteHits";
import { PENDING_KEYS } from "./PendingBar";
import { includes } from "./searchHits";

/** What the keys of pending changes are called on the command line, and by the API. */
const PENDING_LINE: Record<string, Pick<Hit, "line" | "request">> = {
  c: { line: "weir commit", request: "POST /api/v1/candidate/commit" },
  d: { line: "weir diff", request: "GET /api/v1/candidate/diff" },
};
const POWER: Record<PowerAction, Pick<Hit, "title" | "line">> = {
  restart: { title: "Restart the router", line: "weir restart" },
  off: { title: "Switch the router off" },
};

type Verb = Omit<Hit, "key" | "group">;

/** A new object of every kind that has more than one; interfaces by what they are made as. */
function useNew(): Verb[] {
  const navigate = useNavigate();
  const made = MADE.map((edit): Verb => ({
    title: NEW[edit].title,
    detail: "",
    line: "weir interface add --help",
    request: "PUT /api/v1/interfaces/NAME",
    go: () => void navigate({ to: "/interfaces", search: { edit } }),
  }));
  return [...NAMED]
    .filter(([, named]) => !named.isSingle)
    .flatMap(([kind, { short, singular, page, path }]): Verb[] => {
      if (kind === "interface") return made;
      return [
        {
          title: `New ${objectTitle({ short, singular })}`,
          detail: "",
          line: `weir ${commandOf(short)} add --help`,
          request: `POST /api/v1/${path}`,
          go: () => void navigate({ to: `/${page}` as "/$page", params: { page }, search: { edit: "new" } }),
        },
      ];
    });
}

const LIMIT = /^limit\s+(\S.*?)\s+([^\s/]+)\s*\/\s*([^\s/]+)$/i;

interface Asked {
  whose: string;
  upload: number;
  download: number;
}

/** "limit customer-07 20M/50M": whose, and the limits in bit/s; null where it is not that. */
export function askedLimit(text: string): Asked | null {
  const [, whose = "", up = "", down = ""] = LIMIT.exec(text.trim()) ?? [];
  const [upload, download] = [parseRate(up), parseRate(down)];
  return whose !== "" && upload.ok && download.ok
    ? { whose, upload: upload.value, download: download.value }
    : null;
}

/** A limit for the queues that match: staged at once, as an edit in the list is. */
function useLimit(text: string): Hit[] {
  const may = useMay("support");
  const stage = useStage();
  const asked = askedLimit(text);
  const found = useQuery({
    ...queueSearchQuery(asked?.whose ?? "", 5),
    enabled: may && asked !== null,
  });
  if (!may || !asked) return [];
  const limit = `${exactRate(asked.upload)}/${exactRate(asked.download)}`;
  const send = async (queue: Queue) => {
    const max_limit_bps = { upload: asked.upload, download: asked.download };
    const whose = await stage.mutateAsync([
      { kind: "queue", id: queue.id, new: { ...queueInput(queue), max_limit_bps }, base: queue.etag },
    ]);
    if (whose === "mine") say("notice", `${queue.name}: limit ${limit}. Pending until it is committed.`);
  };
  return (found.data?.items ?? []).map((queue) => ({
    key: `limit ${queue.id}`,
    group: "Actions",
    title: `Limit ${queue.name} to ${limit}`,
    detail: `now ${exactRate(queue.max_limit_bps.upload)}/${exactRate(queue.max_limit_bps.download)}`,
    line: `weir queue set ${queue.id} --max-limit ${limit} --candidate`,
    request: `PATCH /api/v1/queues/${queue.id}?candidate=1`,
    // An error is said for every staging that shows none itself.
    go: () => void send(queue).catch(() => undefined),
  }));
}

export function useVerbs(text: string, onPower: (action: PowerAction) => void): Hit[] {
  const navigate = useNavigate();
  const { setColorScheme } = useMantineColorScheme();
  const mayWrite = useMay("write");
  const mayStage = useMay("support");
  const isAdmin = useMay("admin");
  const limits = useLimit(text);
  const make: Verb[] = [
    ...useNew(),
    { title: "Import a file", detail: "", go: () => void navigate({ to: "/import" }) },
  ];
  const pending: Verb[] = activeBindings().flatMap(({ keys, label, run }) =>
    run && PENDING_KEYS.includes(keys)
      ? [{ title: label, detail: keys.replace("ctrl+z", "Ctrl Z"), ...PENDING_LINE[keys], go: run }]
      : [],
  );
  const power: Verb[] = (["restart", "off"] as const).map((action) => ({
    ...POWER[action],
    detail: "",
    go: () => onPower(action),
  }));
  const look: Verb[] = [
    {
      title: "Queues with warnings",
      detail: "",
      line: "weir doctor",
      request: "GET /api/v1/queues?warnings=1",
      go: () => void navigate({ to: "/queues", search: { warnings: true } }),
    },
    { title: "Queue tree", detail: "", go: () => void navigate({ to: "/queues", search: { view: "tree" } }) },
    { title: "Light colours", detail: "", go: () => setColorScheme("light") },
    { title: "Dark colours", detail: "", go: () => setColorScheme("dark") },
  ];
  const verbs = [...(mayWrite ? make : []), ...(mayStage ? pending : []), ...look, ...(isAdmin ? power : [])];
  return [
    ...limits,
    ...verbs
      .filter((verb) => includes(verb.title, text))
      .map((verb) => ({ ...verb, key: `do ${verb.title}`, group: "Actions" })),
  ];
}
