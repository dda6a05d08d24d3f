// SPDX-License-Identifier: Apache-2.0
/** What is typed on the first visit, what of it is sent, and where a refusal belongs. */
import type { ApiProblem } from "@/api/problem";
import type { Setup, SetupPort, SetupWishes } from "@/api/types";
import { longRate } from "@/ui/rates";

export interface SetupDraft {
  password: string;
  again: string;
  zone: string;
  lan: string;
  lanAddress: string;
  wan: string;
  wanBy: "static" | "dhcp";
  wanAddress: string;
  gateway: string;
}

export const draftOf = (setup: Setup): SetupDraft => ({
  password: "",
  again: "",
  zone: Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC",
  lan: setup.lan?.interface ?? setup.ports[0]?.id ?? "",
  lanAddress: setup.lan?.address ?? "192.168.88.1/24",
  wan: "",
  wanBy: "dhcp",
  wanAddress: "",
  gateway: "",
});

const words = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);

/** What was left as it is, is not sent. */
export function wishesOf(draft: SetupDraft, setup: Setup): SetupWishes {
  const sameLan = draft.lan === setup.lan?.interface && draft.lanAddress.trim() === setup.lan.address;
  return {
    password: draft.password,
    time_zone: draft.zone,
    lan: sameLan || draft.lan === "" ? null : { interface: draft.lan, addresses: words(draft.lanAddress) },
    wan: draft.wan === "" ? null : wanOf(draft),
  };
}

const wanOf = (draft: SetupDraft): SetupWishes["wan"] =>
  draft.wanBy === "dhcp"
    ? { interface: draft.wan, addressing: "dhcp", addresses: [], gateways: [] }
    : {
        interface: draft.wan,
        addressing: "static",
        addresses: words(draft.wanAddress),
        gateways: words(draft.gateway),
      };

/** `enp1s0, cable in, 1 Gbit/s, 02:00:00:00:00:01`: enough to find the socket at the back of the machine. */
export function portText(port: SetupPort): string {
  const cable = port.carrier
    ? `cable in${port.speed_bps ? `, ${longRate(port.speed_bps)}` : ""}`
    : "no cable";
  return [port.id, cable, port.mac].filter(Boolean).join(", ");
}

/** Where the router answers from now on, when that is another place than this page's. */
export const newAddress = (wishes: SetupWishes): string | null =>
  wishes.lan?.addresses[0]?.split("/")[0] ?? null;

const FIELDS: Record<string, keyof SetupDraft> = {
  password: "password",
  time_zone: "zone",
  "lan.interface": "lan",
  "lan.addresses": "lanAddress",
  "wan.interface": "wan",
  "wan.addressing": "wanBy",
  "wan.addresses": "wanAddress",
  "wan.gateways": "gateway",
};

/** The field that a refusal is about; none when it is about the whole. */
export function fieldOf(problem: ApiProblem, draft: SetupDraft): keyof SetupDraft | null {
  if (problem.code === "unknown-time-zone") return "zone";
  const path = (problem.path ?? "").replace(/(\[\d+\]|\.\d+)+$/, "");
  const [kind, id] = path.split("/");
  if (kind === "interface") return id === draft.wan ? "wanAddress" : "lanAddress";
  return FIELDS[path] ?? null;
}
