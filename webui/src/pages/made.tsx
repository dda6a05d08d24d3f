// SPDX-License-Identifier: Apache-2.0
/** Interfaces that the router makes: what they are, and the forms of those that have none of their own. */
import type { Change, Interface } from "@/api/types";
import { KindDrawer } from "@/kinds/form/KindDrawer";
import { DECLARED } from "@/kinds/kinds";
import { NEW, type Made } from "@/kinds/newInterfaces";
import type { Stored } from "@/kinds/objects";

/** What an interface is made of, as it is configured, or as the kernel has it. */
export function MadeOf({ item }: { item: Interface }) {
  const vlan = item.vlan ?? item.state?.vlan;
  const table = item.vrf_table || item.state?.vrf_table;
  if (table || item.vrf_table === 0)
    return <>VRF{table ? <span className="dim"> table {table}</span> : null}</>;
  if (item.wireguard)
    return (
      <>
        WireGuard <span className="dim">UDP port {item.wireguard.listen_port}</span>
      </>
    );
  if (item.bridge) {
    const ports = item.bridge.ports.map((port) => port.interface);
    return (
      <span title={ports.join(", ")}>
        bridge <span className="dim">of {ports.length === 1 ? "1 port" : `${ports.length} ports`}</span>
      </span>
    );
  }
  if (item.bond) {
    const members = item.bond.members.map((member) => member.interface);
    return (
      <span title={members.join(", ")}>
        bond <span className="dim">of {members.length === 1 ? "1 port" : `${members.length} ports`}</span>
      </span>
    );
  }
  if (item.loopback) return <>loopback</>;
  if (!vlan) return <span className="dim">{item.state?.kind ?? "–"}</span>;
  return (
    <span title={vlan.protocol}>
      VLAN {vlan.id} <span className="dim">on</span> <span className="mono">{vlan.parent}</span>
    </span>
  );
}

/** Those that have the form that follows from the declaration; others have one of their own. */
export const IS_GENERIC = (item: Interface | undefined, edit: string | undefined): boolean =>
  item
    ? (item.wireguard ?? item.bridge ?? item.bond ?? item.loopback) !== null
    : edit !== undefined && !["new", "new:vrf"].includes(edit);

interface MadeDrawerProps {
  /** undefined: a new one. */
  item: Interface | undefined;
  made: Made | undefined;
  staged: Change["action"] | null;
  onClose: () => void;
}

/** The form that follows from the declaration. */
export function MadeDrawer({ item, made, staged, onClose }: MadeDrawerProps) {
  const declared = DECLARED.get("interface");
  if (!declared) return null;
  const object = item && (item as unknown as Stored);
  return (
    <KindDrawer
      kind="interface"
      declared={declared}
      row={object ? { object, before: null, staged, base: "" } : null}
      begins={made?.replace("new:", "")}
      title={made && NEW[made].title}
      onClose={onClose}
    />
  );
}
