// SPDX-License-Identifier: Apache-2.0
/** Cells that change each second. */
import { useQuery } from "@tanstack/react-query";
import { asCustomersSee } from "@/api/interfaces";
import { useDoubt } from "@/api/known";
import { useLiveInterfaces } from "@/api/live";
import { systemQuery } from "@/api/queries";
import type { Interface, InterfaceStats } from "@/api/types";
import { perSecond } from "@/table/liveColumns";
import { Tag } from "@/ui/blocks";
import { longRate, shortRate } from "@/ui/rates";
import type { Row } from "../objects";
import { interfaceOf } from "./row";

const useStats = (id: string): InterfaceStats | undefined =>
  useLiveInterfaces()?.items.find((item) => item.id === id);

const NOTHING = <span className="dim">–</span>;

export function Rate({ item, direction }: { item: Interface; direction: "upload" | "download" }) {
  const stats = useStats(item.id);
  if (!stats) return NOTHING;
  return (
    <span data-live title={`received ${longRate(stats.rx_bps)}, sent ${longRate(stats.tx_bps)}`}>
      {shortRate(asCustomersSee(item.role, stats.rx_bps, stats.tx_bps)[direction])}
    </span>
  );
}

export function Drops({ id }: { id: string }) {
  const stats = useStats(id);
  if (!stats) return NOTHING;
  const drops = stats.rx_drops_ps + stats.tx_drops_ps;
  return (
    <span
      data-live
      data-zero={drops === 0}
      title={`received ${perSecond(stats.rx_drops_ps)}, sent ${perSecond(stats.tx_drops_ps)}`}
    >
      {perSecond(drops)}
    </span>
  );
}

/** Whether it is there and has a link; that it is missing is said only where the agent told what there is. */
export function LinkState({ row }: { row: Row }) {
  const system = useQuery(systemQuery);
  const isKnown = useDoubt(system) === null && system.data?.agent.connected !== false;
  const { state, disabled } = interfaceOf(row);
  if (row.staged === "add" && !state) return <Tag>not made yet</Tag>;
  if (!isKnown) return <Tag>unknown</Tag>;
  if (!state) return <Tag tone="bad">✕ missing</Tag>;
  if (disabled) return <Tag>off</Tag>;
  if (!state.up) return <Tag tone="bad">✕ down</Tag>;
  const speed = state.speed_bps ? <span className="dim"> {shortRate(state.speed_bps)}</span> : null;
  return (
    <>
      <Tag tone="ok">✓ up</Tag>
      {speed}
    </>
  );
}
