// SPDX-License-Identifier: Apache-2.0
/** The list of interfaces: what was measured and found of each beside what is configured. */
import { PortSpark } from "@/ports/PortSpark";
import { Throughput } from "@/table/Throughput";
import { MADE, NEW } from "../newInterfaces";
import type { NewObject, OwnList } from "../lists";
import type { Row } from "../objects";
import { textOf } from "../values";
import { Addresses, addressesText, Handling, isPort, MadeOf, madeText } from "./found";
import { Drops, LinkState, Rate } from "./live";
import { interfaceOf } from "./row";

type Draft = Readonly<Record<string, unknown>>;

/** Named after the port that it will be on; the first one there is while none is chosen. */
function vlanName({ vlan }: Draft, others: readonly Row[]): string {
  const { parent, id } = (vlan ?? {}) as Draft;
  const first = others.find((row) => isPort(interfaceOf(row)))?.object.id ?? "eth1";
  return `${textOf(parent) || first}.${/^\d+$/.test(textOf(id)) ? textOf(id) : "100"}`;
}

const NAMES: Readonly<Record<string, string>> = {
  vrf: "blue",
  wireguard: "wg0",
  vxlan: "vxlan1",
  gre: "gre1",
  pppoe: "dsl0",
  bridge: "br0",
  bond: "bond0",
  loopback: "lo1",
};

const GIVEN: Readonly<Record<string, Draft>> = {
  // Each frame of a VLAN has its tag on the wire, and each of a session 8 bytes of PPPoE.
  vlan: { role: "lan", overhead_bytes: 22 },
  pppoe: { role: "wan", overhead_bytes: 26 },
};

const BEGINS: readonly NewObject[] = MADE.map((word) => {
  const name = word === "new" ? "vlan" : word.slice("new:".length);
  return {
    word,
    ...NEW[word],
    case: name,
    given: GIVEN[name] ?? {},
    example: name === "vlan" ? vlanName : () => NAMES[name] ?? name,
  };
});

const RATE = { leastPx: 68, width: "minmax(68px, 1fr)", numeric: true };

/** In the cards of a phone what is empty is left out; the number itself changes each second. */
const measured = (row: Row): string => (interfaceOf(row).state ? "–" : "");

export const INTERFACES: OwnList = {
  begins: BEGINS,
  figures: Throughput,
  // In the order in which they stay where there is little room.
  shown: () => [
    "link",
    "upload",
    "download",
    "traffic",
    "drops",
    "type",
    "role",
    "addresses",
    "handling",
    "vrf",
    "description",
  ],
  columns: [
    {
      id: "link",
      title: "State",
      leastPx: 96,
      width: "minmax(96px, 1fr)",
      render: (row) => <LinkState row={row} />,
      text: (row) => (interfaceOf(row).state?.up ? "up" : "down"),
    },
    {
      id: "upload",
      title: "↑ Upload",
      ...RATE,
      render: (row) => <Rate item={interfaceOf(row)} direction="upload" />,
      text: measured,
    },
    {
      id: "download",
      title: "↓ Download",
      ...RATE,
      leastPx: 78,
      width: "minmax(78px, 1fr)",
      render: (row) => <Rate item={interfaceOf(row)} direction="download" />,
      text: measured,
    },
    {
      id: "traffic",
      title: "Last 2 min",
      leastPx: 66,
      width: "minmax(66px, 1fr)",
      render: (row) => <PortSpark item={interfaceOf(row)} />,
      text: () => "",
    },
    {
      id: "drops",
      title: "Drops/s",
      ...RATE,
      render: (row) => <Drops id={row.object.id} />,
      text: measured,
    },
    {
      id: "type",
      leastPx: 110,
      width: "minmax(110px, 3fr)",
      render: (row) => <MadeOf item={interfaceOf(row)} />,
      text: (row) => madeText(interfaceOf(row)),
    },
    {
      id: "addresses",
      leastPx: 130,
      width: "minmax(130px, 4fr)",
      render: (row) => <Addresses item={interfaceOf(row)} />,
      text: (row) => addressesText(interfaceOf(row)),
    },
    {
      id: "handling",
      title: "Shaper, fast path",
      leastPx: 120,
      width: "minmax(120px, 4fr)",
      render: (row) => <Handling item={interfaceOf(row)} />,
      text: (row) => (interfaceOf(row).state ? "shaper and fast path" : ""),
    },
  ],
};
