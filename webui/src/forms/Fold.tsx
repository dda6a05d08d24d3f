// SPDX-License-Identifier: Apache-2.0
import type { ReactNode } from "react";
import classes from "./forms.module.css";

/** Fields that are seldom needed; the summary says what they hold while they are folded. */
export function Fold({
  title,
  summary,
  open,
  children,
}: {
  title: string;
  summary: string;
  open: boolean;
  children: ReactNode;
}) {
  return (
    <details className={classes.fold} open={open || undefined}>
      <summary>
        {title} <span>{summary}</span>
      </summary>
      <div className="stack">{children}</div>
    </details>
  );
}
