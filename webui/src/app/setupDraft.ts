// SPDX-License-Identifier: Apache-2.0
/** What is typed on the first visit, what of it is sent, and where a refusal belongs. */
import { messagesByField, type ApiProblem } from "@/api/problem";
import type { Setup, SetupPlan, SetupPort, SetupPreset, SetupWishes } from "@/api/types";
import { sentence } from "@/ui/format";
import { longRate } from "@/ui/rates";

/** What a port is used for; `second` is the preset's network beside the LAN. */
export type PortUse = "wan" | "lan" | "second" | "none";

export interface SetupDraft {
  /** None: only an account, and LAN and WAN by hand. */
  preset: string;
  uses: Readonly<Record<string, PortUse>>;
  secondAddress: string;
  vlan: string;
  unknown: "allow" | "drop";
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

/** The port that the visitor came by is of the LAN, the next one faces the internet, the others are of the LAN. */
function usesOf(setup: Setup): Record<string, PortUse> {
  const here = setup.lan?.interface ?? setup.ports[0]?.id;
  const wan = setup.ports.find((port) => port.id !== here)?.id;
  return Object.fromEntries(setup.ports.map((port) => [port.id, port.id === wan ? "wan" : "lan"]));
}

/** What another preset says beside the ports. */
export const choosePreset = (id: string, setup: Setup, draft: SetupDraft): Partial<SetupDraft> => {
  const second = presetOf(id, setup)?.second;
  const uses = Object.entries(draft.uses).map(
    ([port, use]) => [port, use === "second" ? "lan" : use] as const,
  );
  return {
    preset: id,
    uses: Object.fromEntries(uses),
    ...(second
      ? { secondAddress: second.address, vlan: String(second.vlan_id), unknown: second.unknown }
      : {}),
  };
};

export const presetOf = (id: string, setup: Setup): SetupPreset | undefined =>
  setup.presets.find((preset) => preset.id === id);

/** One port faces the internet: the one that did before is of the LAN then. */
export const assigned = (port: string, use: PortUse, uses: SetupDraft["uses"]): SetupDraft["uses"] => ({
  ...(use === "wan"
    ? Object.fromEntries(Object.entries(uses).map(([id, old]) => [id, old === "wan" ? "lan" : old]))
    : uses),
  [port]: use,
});

export const portsFor = (use: PortUse, draft: SetupDraft): string[] =>
  Object.keys(draft.uses).filter((port) => draft.uses[port] === use);

export const draftOf = (setup: Setup): SetupDraft => ({
  preset: setup.ports.length > 1 ? (setup.presets[0]?.id ?? "") : "",
  uses: usesOf(setup),
  secondAddress: "",
  vlan: "",
  unknown: "allow",
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

/** What a preset is asked for; null where none was chosen. */
export function planOf(draft: SetupDraft, setup: Setup): SetupPlan | null {
  const preset = presetOf(draft.preset, setup);
  if (!preset) return null;
  const own = portsFor("second", draft);
  const second = {
    ports: own,
    addresses: words(draft.secondAddress),
    vlan_id: own.length > 0 ? null : Number.parseInt(draft.vlan, 10) || null,
  };
  const wan = portsFor("wan", draft)[0];
  return {
    preset: {
      id: preset.id as SetupPlan["preset"]["id"],
      lan: { ports: portsFor("lan", draft), addresses: words(draft.lanAddress) },
      second: preset.second ? second : null,
      unknown: preset.id === "isp" ? draft.unknown : null,
    },
    wan: wan === undefined ? null : wanOf(draft, wan),
  };
}

/** What was left as it is, is not sent. */
export function wishesOf(draft: SetupDraft, setup: Setup): SetupWishes {
  const plan = planOf(draft, setup);
  if (plan) return { password: draft.password, time_zone: draft.zone, lan: null, ...plan };
  const sameLan = draft.lan === setup.lan?.interface && draft.lanAddress.trim() === setup.lan.address;
  return {
    password: draft.password,
    time_zone: draft.zone,
    lan: sameLan || draft.lan === "" ? null : { interface: draft.lan, addresses: words(draft.lanAddress) },
    preset: null,
    wan: draft.wan === "" ? null : wanOf(draft, draft.wan),
  };
}

const wanOf = (draft: SetupDraft, port: string): SetupWishes["wan"] =>
  draft.wanBy === "dhcp"
    ? { interface: port, addressing: "dhcp", addresses: [], gateways: [] }
    : {
        interface: port,
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
export function newAddress(wishes: SetupWishes, setup: Setup): string | null {
  const preset = wishes.preset;
  const first = (preset ? preset.lan.addresses : (wishes.lan?.addresses ?? []))[0];
  const stays =
    preset && first === setup.lan?.address && preset.lan.ports.includes(setup.lan?.interface ?? "");
  return stays ? null : (first?.split("/")[0] ?? null);
}

const FIELDS: Record<string, keyof SetupDraft> = {
  password: "password",
  time_zone: "zone",
  "lan.interface": "lan",
  "lan.addresses": "lanAddress",
  "wan.interface": "wan",
  "wan.addressing": "wanBy",
  "wan.addresses": "wanAddress",
  "wan.gateways": "gateway",
  "preset.lan.ports": "uses",
  "preset.second.ports": "uses",
  "preset.lan.addresses": "lanAddress",
  "preset.second.addresses": "secondAddress",
  "preset.second.vlan_id": "vlan",
};

export type SetupErrors = Partial<Record<keyof SetupDraft, string>>;

/** All that was refused, each at its field. Empty when the refusal is about the whole. */
export function errorsOf(problem: ApiProblem, draft: SetupDraft): SetupErrors {
  const found: SetupErrors = {};
  for (const finding of problem.findings) {
    if (finding.severity !== "error" || finding.kind !== "request") continue;
    const field = atPath(finding.field ?? "", draft);
    if (field === null) continue;
    found[field] = [found[field], sentence(finding.message)].filter(Boolean).join(" ");
  }
  if (Object.keys(found).length > 0) return found;
  const field = fieldOf(problem, draft);
  const message = Object.values(messagesByField(problem))[0];
  return field && message ? { [field]: message } : {};
}

/** What was refused and has no field on this page, in sentences. */
export function unplacedOf(problem: ApiProblem, draft: SetupDraft): string[] {
  const errors = problem.findings.filter((finding) => finding.severity === "error");
  if (errors.length === 0) return fieldOf(problem, draft) === null ? [sentence(problem.message)] : [];
  return errors
    .filter(({ kind, id, field }) => {
      const path = kind === "request" ? (field ?? "") : `${kind}/${id}`;
      return atPath(path, draft) === null;
    })
    .map((finding) => sentence(finding.message));
}

/** The field that a refusal is about; none when it is about the whole. */
function fieldOf(problem: ApiProblem, draft: SetupDraft): keyof SetupDraft | null {
  return atPath(problem.path ?? "", draft);
}

function atPath(written: string, draft: SetupDraft): keyof SetupDraft | null {
  const path = written.replace(/(\[\d+\]|\.\d+)+$/, "");
  const [kind, id] = path.split("/");
  if (kind === "interface") return id === draft.wan ? "wanAddress" : "lanAddress";
  if (path === "wan.interface" && draft.preset !== "") return "uses";
  return FIELDS[path] ?? null;
}
