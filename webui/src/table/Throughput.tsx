// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { asCustomersSee } from "@/api/interfaces";
import { interfacesQuery } from "@/api/queries";
import { KEEP_S, useTraces, type TraceData } from "@/api/traces";
import { Arrow, Figures } from "@/ui/blocks";
import { shortRate } from "@/ui/rates";
import { Spark } from "@/ui/Spark";

type Values = readonly (number | null)[];

/** Sums by second, from the newest back; where one was not measured, the sum is not known. */
function sum(series: readonly Values[]): Values {
  const length = Math.min(...series.map((values) => values.length));
  return Array.from({ length }, (_, index) =>
    series.reduce<number | null>((total, values) => {
      const value = values[values.length - length + index] ?? null;
      return total === null || value === null ? null : total + value;
    }, 0),
  );
}

/** What goes out to the internet and comes from there, all WAN ports together, as customers see it: in the head of
 * a page. Nothing is shown where no port is a WAN, or while nothing is measured. */
export function Throughput() {
  const items = useQuery(interfacesQuery).data?.items;
  const traces = useTraces();
  const found = useMemo(() => {
    const wans = (items ?? []).filter((item) => item.role === "wan");
    const seen = wans.flatMap((item) => traces.get(item.id)?.data ?? ([] as TraceData[]));
    if (seen.length === 0) return null;
    const { upload, download } = asCustomersSee<Values>(
      "wan",
      sum(seen.map((data) => data.upload)),
      sum(seen.map((data) => data.download)),
    );
    return { upload, download };
  }, [items, traces]);
  const [up, down] = [found?.upload.at(-1) ?? null, found?.download.at(-1) ?? null];
  if (found === null || up === null || down === null) return null;
  return (
    <Figures
      items={[
        [<Arrow key="up" direction="upload" />, shortRate(up), "Upload to the internet"],
        [<Arrow key="down" direction="download" />, shortRate(down), "Download from the internet"],
      ]}
    >
      <Spark
        label="Traffic with the internet in the last two minutes"
        upload={found.upload}
        download={found.download}
        span={KEEP_S}
      />
    </Figures>
  );
}
