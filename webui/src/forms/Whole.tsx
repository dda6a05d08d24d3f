// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react";
import { useMay } from "@/api/may";
import classes from "./forms.module.css";

/** Fields that are for who may change the whole configuration; others see what they hold. */
export function Whole({ children }: { children: ReactNode }) {
  return (
    <fieldset className={`${classes.fields ?? ""} stack`} disabled={!useMay("write")}>
      {children}
    </fieldset>
  );
}
