// SPDX-License-Identifier: Apache-2.0
import { Button, Progress } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useRef, useState, type ReactNode } from "react";
import { api, need } from "@/api/client";
import { asProblem } from "@/api/problem";
import { meQuery, queryClient, systemQuery, updatesQuery } from "@/api/queries";
import type { Slot, Updates } from "@/api/types";
import { sendFile } from "@/api/upload";
import { AskPower } from "@/app/AskPower";
import { SimpleTable, type Column } from "@/table/SimpleTable";
import { Note, Page, Section, Skeleton, Tag } from "@/ui/blocks";
import { bytesText, sentence, stampText } from "@/ui/format";
import { ReasonedButton } from "@/ui/ReasonedButton";

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
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      {updates?.available === false ? (
        <Note severity="notice">
          Updates are not possible here: {sentence(updates.reason ?? "this router runs from no image")}
        </Note>
      ) : null}
      {updates?.available === true && !admin ? (
        <Note severity="notice">Only an administrator installs updates.</Note>
      ) : null}
      {updates ? (
        updates.slots.length > 0 ? (
          <Slots updates={updates} may={may} />
        ) : null
      ) : query.isPending ? (
        <Skeleton />
      ) : null}
      {updates && updates.job.state !== "idle" ? <Job job={updates.job} may={may} /> : null}
      {may && updates.job.state !== "installing" ? <Install /> : null}
    </Page>
  );
}

/** A slot that may not be started although there is a system in it. */
const failed = (slot: Slot): boolean => !slot.good && !slot.booted && slot.version !== null;

function Slots({ updates, may }: { updates: Updates; may: boolean }) {
  const running = useQuery(systemQuery).data?.version;
  const choose = useMutation({
    mutationFn: (slot: Slot["name"]) => need(api.POST("/api/v1/system/update/slot", { body: { slot } })),
    onSuccess: keep,
  });
  const columns: readonly Column<Slot>[] = [
    { id: "name", title: "Slot", render: (slot) => slot.name },
    {
      id: "state",
      title: "State",
      render: (slot) => (
        <span className="row">
          {slot.booted ? <Tag tone="ok">✓ runs now</Tag> : null}
          {updates.next === slot.name ? <Tag tone="accent">next start</Tag> : null}
          {failed(slot) ? (
            <Tag tone="bad">✕ not to be started</Tag>
          ) : slot.good || slot.booted ? null : (
            <Tag>empty</Tag>
          )}
        </span>
      ),
    },
    {
      id: "version",
      title: "Version",
      render: (slot) =>
        slot.version ?? (slot.booted ? running : null) ?? <span className="dim">unknown</span>,
    },
    {
      id: "installed",
      title: "Installed",
      render: (slot) =>
        slot.installed_at ? (
          stampText(slot.installed_at)
        ) : slot.good || slot.booted ? (
          <span className="dim">with the first image</span>
        ) : null,
    },
    {
      id: "do",
      title: "",
      blank: true,
      render: (slot) =>
        may && slot.good && updates.next !== slot.name ? (
          <Button size="compact-xs" loading={choose.isPending} onClick={() => choose.mutate(slot.name)}>
            Start from {slot.name} next
          </Button>
        ) : null,
    },
  ];
  return (
    <>
      {(updates.job.state === "installing" ? [] : updates.slots.filter(failed)).map((slot) => (
        <Note key={slot.name} severity="warning">
          Version {slot.version} in slot {slot.name} is not started: either it failed its health check three
          times and the router returned to the other slot, or its installation was interrupted. Install a
          bundle to rewrite the slot.
        </Note>
      ))}
      <Section title="Slots" flush>
        <SimpleTable caption="Slots" columns={columns} rows={updates.slots} rowKey={(slot) => slot.name} />
      </Section>
    </>
  );
}

function Job({ job, may }: { job: Updates["job"]; may: boolean }) {
  const version = job.version ? `Version ${job.version}` : "The bundle";
  if (job.state === "failed")
    return (
      <Note severity="error" live>
        {version} was not installed: {sentence(job.message ?? job.what)} The system that runs was not touched.
      </Note>
    );
  if (job.state === "installed") {
    return (
      <Note severity="ok" live>
        <div className="row">
          <span className="grow">
            {version} is installed. It runs from the next start on; until then nothing changes.
          </span>
          {may ? <Restart /> : null}
        </div>
      </Note>
    );
  }
  return (
    <Working title={`${version} is being installed`} percent={job.percent}>
      {job.what}. Traffic goes on, and this page may be left.
    </Working>
  );
}

/** What takes long, with how far it is. */
function Working({ title, percent, children }: { title: string; percent: number; children: ReactNode }) {
  return (
    <Section title={title} aside={<span className="num">{percent} %</span>}>
      <div className="stack">
        <p role="status">{children}</p>
        <Progress value={percent} aria-label={title} transitionDuration={0} />
      </div>
    </Section>
  );
}

function Install() {
  const [file, setFile] = useState<File | null>(null);
  const [sent, setSent] = useState(0);
  const input = useRef<HTMLInputElement>(null);
  const install = useMutation({
    mutationFn: (bundle: File) => sendFile<Updates>("/api/v1/system/update", bundle, setSent),
    onSuccess: keep,
    meta: { inline: true },
  });
  const choose = (next: File | null) => {
    setFile(next);
    setSent(0);
    install.reset();
  };
  if (file && install.isPending) {
    return (
      <Working title={`Sending ${file.name}`} percent={Math.floor(sent * 100)}>
        {sent < 1
          ? `${bytesText(file.size * sent)} of ${bytesText(file.size)} sent. Stay on this page until it is there.`
          : "All of it has arrived. Its signature is being checked."}
      </Working>
    );
  }
  return (
    <Section title="Install a bundle">
      <div className="stack">
        <p className="dim">
          A signed bundle (.raucb) for this product. It is checked first; then the slot that does not run is
          written. Traffic goes on until you restart.
        </p>
        <input
          ref={input}
          type="file"
          className="hidden-text"
          aria-label="Bundle to install"
          tabIndex={-1}
          accept=".raucb"
          onChange={(event) => choose(event.currentTarget.files?.[0] ?? null)}
        />
        {install.error ? (
          <Note severity="error" live>
            {asProblem(install.error).message} Nothing was changed.
          </Note>
        ) : null}
        <div className="row">
          <Button onClick={() => input.current?.click()}>
            {file ? `${file.name} (${bytesText(file.size)})` : "Choose a bundle"}
          </Button>
          <ReasonedButton
            variant="filled"
            why={file ? null : "choose a bundle first"}
            onClick={() => file && install.mutate(file)}
          >
            Check and install
          </ReasonedButton>
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
