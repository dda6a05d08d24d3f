// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react";
import classes from "./Split.module.css";

/** A page with a drawer beside it. */
export function Split({ children, drawer }: { children: ReactNode; drawer: ReactNode }) {
  return (
    <div className={classes.split}>
      <div className={classes.content}>{children}</div>
      {drawer}
    </div>
  );
}
