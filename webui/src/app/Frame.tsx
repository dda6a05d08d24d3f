// SPDX-License-Identifier: Apache-2.0
import { Outlet, useNavigate } from "@tanstack/react-router";
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { IconAlertTriangle, IconLock, IconRefresh } from "@tabler/icons-react";
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { disputes } from "@/api/elsewhere";
import { live, useFreshness } from "@/api/live";
import { ofSystem, refreshConfig } from "@/api/queries";
import { endTrial } from "@/api/trial";
import type { System } from "@/api/types";
import { rememberFocus } from "@/ui/focus";
import { clockText } from "@/ui/format";
import classes from "./Frame.module.css";
import { AskPower, type PowerAction } from "./AskPower";
import { KeyboardHelp } from "./KeyboardHelp";
import { useKeys } from "./keyboard";
import { ALL_NAV } from "./nav";
import { NavBar } from "./NavBar";
import { PendingBar } from "./PendingBar";
import { SearchDialog } from "./SearchDialog";
import { SessionGate } from "./SessionGate";
import { StoreLine } from "./StoreLine";
import { TopBar } from "./TopBar";
import { Tour } from "./Tour";

const DisputeDialog = lazy(() => import("./DisputeDialog"));

/** What is on every page: navigation, search, lamp, and the bar of pending changes. */
export function Frame() {
  return (
    <SessionGate>
      <SignedInFrame />
    </SessionGate>
  );
}

/** Another browser's commit, a confirmation or a roll-back shows here at once. */
function useConfigEvents(): void {
  useEffect(() => {
    live.start();
    // The next staging tries again where this fails.
    endTrial().catch(() => undefined);
    let known: string | null = null;
    const stop = live.config.subscribe(() => {
      const event = live.config.value;
      const now = event ? `${event.revision}/${event.pending?.revision ?? "-"}` : null;
      if (known !== null && now !== known) void refreshConfig();
      known = now;
    });
    return () => {
      stop();
      live.stop();
    };
  }, []);
}

function StaleLine() {
  const freshness = useFreshness();
  if (freshness.state !== "stale") return null;
  return (
    <div className={classes.stale} role="status">
      <IconAlertTriangle size={16} className="warn" aria-hidden="true" />
      <span>
        {freshness.since === null ? "No live data yet" : `No live data since ${clockText(freshness.since)}`},{" "}
        {freshness.reason}. The numbers shown are the last ones.
      </span>
    </div>
  );
}

const refusal = (system: System) => system.checks.find((found) => found.id === "writing") ?? null;
const versionOf = (system: System) => system.version;

/** Said on every page, before somebody types what would be refused. */
function WritingLine() {
  const check = useQuery(ofSystem(refusal)).data;
  if (!check) return null;
  return (
    <div className={classes.refused} role="alert">
      <IconLock size={16} className="bad" aria-hidden="true" />
      <span>{check.message}</span>
    </div>
  );
}

/** After an update the router is newer than the page that looks at it. */
function ReleaseLine() {
  const version = useQuery(ofSystem(versionOf)).data;
  const [own, setOwn] = useState<string | undefined>();
  if (own === undefined && version !== undefined) setOwn(version);
  if (version === undefined || own === undefined || own === version) return null;
  return (
    <div className={classes.stale} role="status">
      <IconRefresh size={16} aria-hidden="true" />
      <span className="grow">
        The router runs release {version} now; this page is of {own}.
      </span>
      <Button size="compact-xs" onClick={() => window.location.reload()}>
        Load the new page
      </Button>
    </div>
  );
}

/** Another window staged the same object. */
function Disputes() {
  const dispute = useSyncExternalStore(disputes.subscribe, disputes.now);
  return dispute ? (
    <Suspense fallback={null}>
      <DisputeDialog dispute={dispute} />
    </Suspense>
  ) : null;
}

function SignedInFrame() {
  const [navOpen, setNavOpen] = useState(false);
  const [search, setSearch] = useState(false);
  const [help, setHelp] = useState(false);
  const [power, setPower] = useState<PowerAction | null>(null);
  const main = useRef<HTMLElement>(null);
  const navigate = useNavigate();
  const freshness = useFreshness();
  useConfigEvents();
  useEffect(() => (main.current ? rememberFocus(main.current) : undefined), []);
  useKeys([
    { keys: "ctrl+k", label: "Search everything", run: () => setSearch(true) },
    { keys: "/", label: "Search", run: () => setSearch(true) },
    { keys: "?", label: "Show the keys", run: () => setHelp(true) },
    { keys: "*", label: "In the navigation: pin a page, or unpin it" },
    ...ALL_NAV.filter((item) => item.keys !== "").map((item) => ({
      keys: item.keys,
      label: `Go to ${item.label}`,
      run: () => void navigate({ to: item.to, params: { page: item.page } }),
    })),
  ]);
  return (
    <div className={classes.frame}>
      <button type="button" className={classes.skip} onClick={() => main.current?.focus()}>
        Skip to the page
      </button>
      <TopBar
        onSearch={() => setSearch(true)}
        onMenu={() => setNavOpen(!navOpen)}
        onHelp={() => setHelp(true)}
        menuOpen={navOpen}
      />
      <NavBar open={navOpen} onClose={() => setNavOpen(false)} />
      <main ref={main} className={classes.main} tabIndex={-1} data-stale={freshness.state === "stale"}>
        <WritingLine />
        <StoreLine />
        <StaleLine />
        <ReleaseLine />
        <Tour />
        <Outlet />
      </main>
      <div className={classes.bar}>
        <PendingBar />
      </div>
      <Disputes />
      {search ? <SearchDialog onClose={() => setSearch(false)} onPower={setPower} /> : null}
      {power ? <AskPower action={power} onClose={() => setPower(null)} /> : null}
      {help ? <KeyboardHelp onClose={() => setHelp(false)} /> : null}
    </div>
  );
}
