// SPDX-License-Identifier: Apache-2.0
import { Button, Progress } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import { meQuery, queryClient, updatesQuery } from "@/api/queries";
import type { Slot, Updates } from "@/api/types";
import { AskPower } from "@/app/AskPower";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { bytesText, stampText } from "@/ui/format";

const keep = (answer: Updates): void => {
  queryClient.setQueryData(updatesQuery.queryKey, answer);
};

/** Two slots: the one that runs stays as it is while the other is written, and is the way back. */
export default function UpdatePage() {
  const query = useQuery(updatesQuery);
  const admin = useQuery(meQuery).data?.scope === "admin";
  const updates = query.data;
  const may = admin && updates?.available === true;
  return (
    <Page title="Update" actions={may ? <Restart /> : null}>
      {query.isError ? <Note severity="error" live>{asProblem(query.error).message}</Note> : null}
      {updates?.available === false ? <Note severity="notice">Updates are not possible here: {updates.reason ?? "the router runs from no image"}</Note> : null}
      {updates?.available === true && !admin ? <Note severity="notice">Only an administrator installs updates.</Note> : null}
      {updates ? updates.slots.length > 0 ? <Slots updates={updates} may={may} /> : null : query.isPending ? <Skeleton /> : null}
      {updates && updates.job.state !== "idle" ? <Job job={updates.job} /> : null}
      {may ? <Install busy={updates.job.state === "installing"} /> : null}
    </Page>
  );
}

function Slots({ updates, may }: { updates: Updates; may: boolean }) {
  const choose = useMutation({ mutationFn: (slot: Slot["name"]) => need(api.POST("/api/v1/system/update/slot", { body: { slot } })), onSuccess: keep });
  const columns: readonly Column<Slot>[] = [
    { id: "name", title: "Slot", render: (slot) => slot.name },
    {
      id: "state", title: "State",
      render: (slot) => (
        <span className="row">
          {slot.booted ? <Tag tone="ok">✓ runs now</Tag> : null}
          {updates.next === slot.name ? <Tag tone="accent">next start</Tag> : null}
          {slot.good ? null : <Tag tone="warn">not to be started</Tag>}
        </span>
      ),
    },
    { id: "version", title: "Version", render: (slot) => slot.version ?? <span className="dim">unknown</span> },
    { id: "installed", title: "Installed", render: (slot) => (slot.installed_at ? stampText(slot.installed_at) : <span className="dim">with the first image</span>) },
    { id: "do", title: "Do", render: (slot) => (may && slot.good && updates.next !== slot.name ? <Button size="compact-xs" loading={choose.isPending} onClick={() => choose.mutate(slot.name)}>Start from {slot.name} next</Button> : null) },
  ];
  return (
    <Section title="Slots" flush>
      <SimpleTable caption="Slots" columns={columns} rows={updates.slots} rowKey={(slot) => slot.name} />
    </Section>
  );
}

function Job({ job }: { job: Updates["job"] }) {
  const what = job.version ? `${job.what} (version ${job.version})` : job.what;
  if (job.state === "failed") return <Note severity="error" live>{job.message ?? what} The system that runs was not touched.</Note>;
  if (job.state === "installed") return <Note severity="ok" live>{what} It runs from the next start on.</Note>;
  return (
    <Section title="Being installed" aside={<span className="num">{job.percent} %</span>}>
      <div className="stack" role="status">
        <p>{what}</p>
        <Progress value={job.percent} aria-label="Installed so far" transitionDuration={0} />
      </div>
    </Section>
  );
}

function Install({ busy }: { busy: boolean }) {
  const [file, setFile] = useState<File | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const install = useMutation({
    // The document says "string, binary"; the file is sent as it is.
    mutationFn: (bundle: File) => need(api.POST("/api/v1/system/update", { body: bundle as unknown as string, bodySerializer: (body) => body, headers: { "Content-Type": "application/octet-stream" } })),
    onSuccess: keep,
    meta: { inline: true },
  });
  return (
    <Section title="Install a bundle">
      <div className="stack">
        <p className="dim">A signed bundle (.raucb). It is checked first; then the slot that does not run is written. Traffic goes on.</p>
        <input ref={input} type="file" className="hidden-text" aria-label="Bundle to install" tabIndex={-1} accept=".raucb" onChange={(event) => setFile(event.currentTarget.files?.[0] ?? null)} />
        {install.error ? <Note severity="error" live>{asProblem(install.error).message} Nothing was changed.</Note> : null}
        <div className="row">
          <Button onClick={() => input.current?.click()}>{file ? `${file.name} (${bytesText(file.size)})` : "Choose a bundle"}</Button>
          <Button variant="filled" disabled={!file || busy} loading={install.isPending} onClick={() => file && install.mutate(file)}>
            Check and install
          </Button>
        </div>
      </div>
    </Section>
  );
}

function Restart() {
  const [asking, setAsking] = useState(false);
  return (
    <>
      <Button onClick={() => setAsking(true)}>Restart</Button>
      {asking ? <AskPower action="restart" onClose={() => setAsking(false)} /> : null}
    </>
  );
}
