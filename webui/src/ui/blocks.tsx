// SPDX-License-Identifier: Apache-2.0
import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconInfoCircle } from "@tabler/icons-react";
import { useRef, type ReactNode } from "react";
import classes from "./blocks.module.css";
import { useHeadingFocus } from "./focus";
import { useTitle } from "./title";

interface PageProps {
  title: string;
  /** What stands beside the title; `title` alone is used for the document. */
  heading?: ReactNode;
  /** State and live figures beside the title (`Figures`). */
  figures?: ReactNode;
  actions?: ReactNode;
  /** The page manages its own scrolling (tables). */
  fill?: boolean;
  children: ReactNode;
}

/** The page's name; it can be given the focus, but Tab passes it by. */
export function Heading({ children }: { children: ReactNode }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useHeadingFocus(heading);
  return (
    <h1 ref={heading} tabIndex={-1}>
      {children}
    </h1>
  );
}

export type Figure = readonly [name: ReactNode, value: ReactNode, title?: string];

interface FiguresProps {
  items: readonly Figure[];
  children?: ReactNode;
}

/** The numbers of a page that matter most, in its head. */
export function Figures({ items, children }: FiguresProps) {
  return (
    <div className={classes.figures} data-live>
      {items.map(([name, value, title], index) => (
        <span key={index} className={classes.figure} title={title}>
          <span className="dim">{name}</span> <strong>{value}</strong>
        </span>
      ))}
      {children}
    </div>
  );
}

export function Page({ title, heading, figures, actions, fill, children }: PageProps) {
  useTitle(title);
  return (
    <div className={fill ? `${classes.page} ${classes.fill}` : classes.page}>
      <div className={classes.head}>
        <Heading>{heading ?? title}</Heading>
        {figures}
        {figures ? <span className="grow" /> : null}
        {actions}
      </div>
      {children}
    </div>
  );
}

interface SectionProps {
  title: ReactNode;
  aside?: ReactNode;
  flush?: boolean;
  children: ReactNode;
}

export function Section({ title, aside, flush, children }: SectionProps) {
  return (
    <section className={classes.section}>
      <div className={classes.sectionHead}>
        <h2>{title}</h2>
        {aside}
      </div>
      <div className={flush ? classes.flush : classes.sectionBody}>{children}</div>
    </section>
  );
}

export const Columns = ({ children }: { children: ReactNode }) => (
  <div className={classes.columns}>{children}</div>
);

/** What an empty list says: what belongs here and what to do next. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={classes.empty}>
      <h3>{title}</h3>
      {children}
    </div>
  );
}

export type Severity = "error" | "warning" | "notice" | "ok";
const ICON = { error: IconCircleX, warning: IconAlertTriangle, notice: IconInfoCircle, ok: IconCircleCheck };
const TONE = { error: "bad", warning: "warn", notice: "dim", ok: "ok" };

export function SeverityIcon({ severity, size = 16 }: { severity: Severity; size?: number }) {
  const Icon = ICON[severity];
  return <Icon size={size} className={TONE[severity]} aria-label={severity} role="img" />;
}

export function Note({
  severity,
  children,
  live,
}: {
  severity: Severity;
  children: ReactNode;
  live?: boolean;
}) {
  return (
    <div
      className={`${classes.note} ${classes[`note_${severity}`] ?? ""}`}
      role={live ? (severity === "error" ? "alert" : "status") : undefined}
    >
      <SeverityIcon severity={severity} />
      <div className="grow">{children}</div>
    </div>
  );
}

export function Facts({ items }: { items: readonly (readonly [string, ReactNode])[] }) {
  return (
    <dl className={classes.facts}>
      {items.map(([name, value]) => (
        <div key={name} style={{ display: "contents" }}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Tag({
  tone,
  children,
  title,
}: {
  tone?: "ok" | "warn" | "bad" | "accent";
  children: ReactNode;
  title?: string;
}) {
  return (
    <span className={tone ? `${classes.tag} ${classes[`tag_${tone}`] ?? ""}` : classes.tag} title={title}>
      {children}
    </span>
  );
}

/** Upload and download always have the same arrow and hue. */
export const Arrow = ({ direction }: { direction: "upload" | "download" }) => (
  <span className={direction === "upload" ? "up" : "down"} role="img" aria-label={direction}>
    {direction === "upload" ? "↑" : "↓"}
  </span>
);

/** Grey lines that appear after 300 ms, so that a fast answer never flickers. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
  return (
    <div role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, index) => (
        <div key={index} className={classes.skeleton} style={{ width: `${92 - ((index * 17) % 40)}%` }} />
      ))}
    </div>
  );
}
