// SPDX-License-Identifier: Apache-2.0
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { asCustomersSee } from "@/api/interfaces";
import { interfaceHistoryQuery } from "@/api/queries";
import { bySecond, isWhole, KEEP_S, useTrace, withPast } from "@/api/traces";
import type { Interface } from "@/api/types";
import { Spark } from "@/ui/Spark";
import classes from "./Ports.module.css";

/** The last two minutes of an interface. It follows the measurements by itself: what it stands in need not. */
export function PortSpark({ item: { id, role } }: { item: Pick<Interface, "id" | "role"> }) {
  const data = useTrace(id)?.data;
  const isAsked = data !== undefined && !isWhole(data);
  const past = useQuery({ ...interfaceHistoryQuery(id, "2m"), enabled: isAsked }).data;
  const seen = useMemo(() => {
    if (!data) return null;
    const { upload, download } = bySecond(withPast(past, data));
    return asCustomersSee(role, upload, download);
  }, [data, past, role]);
  if (!seen) return null;
  return (
    <span className={classes.spark} data-live>
      <Spark label={`Traffic of ${id} in the last two minutes`} {...seen} span={KEEP_S} />
    </span>
  );
}
