// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link, useNavigate, useParams, useSearch } from "@tanstack/react-router";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { queueQuery } from "@/api/queries";
import type { Queue } from "@/api/types";
import { useStagedChanges } from "@/api/writes";
import { useKeys } from "@/app/keyboard";
import { QueueDrawer } from "@/forms/QueueDrawer";
import { Columns, Empty, Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { plural } from "@/ui/format";
import type { Window } from "@/ui/windows";
import { Configured } from "./Configured";
import { EnforcedBy, InactiveNote } from "./EnforcedBy";
import { ExplainTable } from "./ExplainTable";
import { Measured } from "./Measured";
import { PathToRoot } from "./PathToRoot";
import { QueueHosts } from "./QueueHosts";
import { QueueChanges } from "./QueueChanges";
import { RaiseButton, RaisedNote } from "./Raise";
import { SubQueues } from "./SubQueues";
import { UsedLine } from "./UsedLine";
import { WhySlow } from "./WhySlow";
import classes from "./Queue.module.css";

export default function QueuePage() {
  const { id } = useParams({ from: "/frame/queues/$id" });
  const search = useSearch({ from: "/frame/queues/$id" });
  const navigate = useNavigate({ from: "/queues/$id" });
  const query = useQuery(queueQuery(id));
  const staged = useStagedChanges("queue");
  const may = useMay("support");
  const setEdit = (edit: boolean) =>
    void navigate({ search: (before) => ({ ...before, edit: edit || undefined }) });
  useKeys(may ? [{ keys: "e", label: "Edit this queue", run: () => setEdit(true) }] : []);
  const queue = query.data;
  return (
    <div className={classes.layout}>
      <div className={classes.content}>
        <Page
          title={queue?.name ?? "Queue"}
          heading={queue ? <Heading queue={queue} staged={staged.has(id)} /> : "Queue"}
          actions={
            queue && may ? (
              <span className="row">
                <Link to="/tools" search={{ tool: "torch", queue: queue.id }}>
                  Torch
                </Link>
                <RaiseButton queue={queue} />
                <Button onClick={() => setEdit(true)}>Edit</Button>
              </span>
            ) : null
          }
        >
          {queue ? (
            <Details
              queue={queue}
              window={search.window ?? "2m"}
              onWindow={(window) =>
                void navigate({
                  search: (before) => ({
                    ...before,
                    window: window === "2m" ? undefined : window,
                    zoom: undefined,
                  }),
                  replace: true,
                })
              }
              zoom={search.zoom}
              onZoom={(zoom, replace) =>
                void navigate({ search: (before) => ({ ...before, zoom }), replace })
              }
            />
          ) : query.isError ? (
            <Missing error={query.error} />
          ) : (
            <Skeleton lines={10} />
          )}
        </Page>
      </div>
      {search.edit ? <QueueDrawer id={id} staged={staged} onClose={() => setEdit(false)} /> : null}
    </div>
  );
}

function Heading({ queue, staged }: { queue: Queue; staged: boolean }) {
  return (
    <span className="row">
      {queue.name}
      {queue.disabled ? <Tag>disabled</Tag> : null}
      {staged ? <Tag tone="accent">change pending</Tag> : null}
    </span>
  );
}

function Missing({ error }: { error: unknown }) {
  const problem = asProblem(error);
  if (problem.status !== 404)
    return (
      <Note severity="error" live>
        {problem.message}
      </Note>
    );
  return (
    <Empty title="There is no such queue">
      <p className="dim">It may have been removed; the history knows when and by whom.</p>
      <div className="row">
        <Link to="/queues">Queues</Link>
        <Link to="/history">History</Link>
      </div>
    </Empty>
  );
}

interface DetailsProps {
  queue: Queue;
  window: Window;
  onWindow: (window: Window) => void;
  zoom: string | undefined;
  onZoom: (zoom: string | undefined, replace: boolean) => void;
}

function Details({ queue, window, onWindow, zoom, onZoom }: DetailsProps) {
  return (
    <>
      {queue.disabled ? null : <WhySlow queue={queue} />}
      <UsedLine queue={queue} />
      <RaisedNote queue={queue} />
      {queue.warnings.map((finding) => (
        <Note key={`${finding.code} ${finding.field ?? ""}`} severity={finding.severity}>
          {finding.message}
        </Note>
      ))}
      <InactiveNote queue={queue} />
      <PathToRoot queue={queue} />
      <Measured queue={queue} window={window} onWindow={onWindow} zoomText={zoom} onZoomText={onZoom} />
      <Columns>
        <Configured queue={queue} />
        <Section title="Addresses" aside={<span className="dim">{queue.target.length}</span>}>
          {queue.target.length > 0 ? (
            <ul className={`${classes.addresses} mono`}>
              {queue.target.map((target) => (
                <li key={target}>{target}</li>
              ))}
            </ul>
          ) : (
            <p className="dim">No target: it holds what its children hold.</p>
          )}
          {queue.child_count > 0 ? (
            <Link to="/queues" search={{ parent: queue.id }}>
              {plural(queue.child_count, "queue")} in it
            </Link>
          ) : null}
        </Section>
      </Columns>
      <QueueHosts queue={queue} />
      <SubQueues id={queue.id} />
      <EnforcedBy queue={queue} />
      <ExplainTable id={queue.id} />
      <QueueChanges id={queue.id} />
    </>
  );
}
