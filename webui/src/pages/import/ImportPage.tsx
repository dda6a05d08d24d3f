// SPDX-License-Identifier: Apache-2.0
import { Button, Checkbox, NativeSelect } from "@mantine/core";
import { IconFileImport } from "@tabler/icons-react";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useRef, useState } from "react";
import { ONLY_READS, useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { importReportQuery, queryClient } from "@/api/queries";
import { Note, Page, Section, Skeleton } from "@/ui/blocks";
import { Findings } from "@/ui/DiffView";
import { bytesText } from "@/ui/format";
import classes from "./Import.module.css";
import { ReportView } from "./ReportView";
import { FORMAT_WORD, guessFormat, upload, type Format } from "./upload";

export default function ImportPage() {
  const { report: id } = useSearch({ from: "/frame/import" });
  const navigate = useNavigate({ from: "/import" });
  const query = useQuery({ ...importReportQuery(id ?? ""), enabled: id !== undefined });
  const may = useMay("write");
  const again = () => void navigate({ search: {} });
  if (id === undefined)
    return (
      <Page title="Import">
        {may ? (
          <Chooser />
        ) : (
          <>
            <Note severity="notice">{ONLY_READS}</Note>
            <Formats />
          </>
        )}
      </Page>
    );
  return (
    <Page title="Import" fill actions={<Button onClick={again}>Another file</Button>}>
      {query.data ? (
        <ReportView report={query.data} />
      ) : query.isError ? (
        <Note severity="error" live>
          <p>{asProblem(query.error).message}</p>
          <p>A report is kept for an hour. Read the file again.</p>
        </Note>
      ) : (
        <Skeleton lines={8} />
      )}
    </Page>
  );
}

function Chooser() {
  const [files, setFiles] = useState<readonly File[]>([]);
  const [format, setFormat] = useState<Format>("routeros");
  const [replace, setReplace] = useState(false);
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const navigate = useNavigate({ from: "/import" });
  const read = useMutation({
    mutationFn: () => upload(format, files, replace),
    onSuccess: (report) => {
      queryClient.setQueryData(importReportQuery(report.id).queryKey, report);
      void navigate({ search: { report: report.id } });
    },
    meta: { inline: true },
  });
  const take = (list: FileList | null) => {
    const chosen = [...(list ?? [])];
    if (chosen.length === 0) return;
    read.reset();
    setFiles(chosen);
    void guessFormat(chosen).then(setFormat);
  };
  const problem = read.error ? asProblem(read.error) : null;
  return (
    <>
      <div
        className={classes.drop}
        data-over={over}
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          take(event.dataTransfer.files);
        }}
      >
        <IconFileImport size={28} stroke={1.4} aria-hidden="true" />
        <p>
          Drop a file here, or choose one. It is read and reported on; nothing is written before you have seen
          what it would do.
        </p>
        <input
          ref={input}
          type="file"
          multiple
          className="hidden-text"
          aria-label="Files to import"
          tabIndex={-1}
          accept=".rsc,.txt,.csv,.json"
          onChange={(event) => take(event.currentTarget.files)}
        />
        <Button variant={files.length > 0 ? "default" : "filled"} onClick={() => input.current?.click()}>
          Choose files
        </Button>
      </div>
      {files.length > 0 ? (
        <Section title={files.map((file) => `${file.name} (${bytesText(file.size)})`).join(", ")}>
          <div className="stack">
            <NativeSelect
              label="Format"
              maw={380}
              data={Object.entries(FORMAT_WORD).map(([value, label]) => ({ value, label }))}
              value={format}
              onChange={(event) => setFormat(event.currentTarget.value as Format)}
            />
            <Checkbox
              label="Remove queues that the file does not name"
              description="Otherwise they stay as they are."
              checked={replace}
              onChange={(event) => setReplace(event.currentTarget.checked)}
            />
            {problem ? (
              <Note severity="error" live>
                {problem.message}
              </Note>
            ) : null}
            {problem ? <Findings findings={problem.findings} /> : null}
            <div className="row">
              <Button variant="filled" loading={read.isPending} onClick={() => read.mutate()}>
                Read and report
              </Button>
            </div>
          </div>
        </Section>
      ) : (
        <Formats />
      )}
    </>
  );
}

function Formats() {
  return (
    <Section title="What can be read">
      <dl className={classes.formats}>
        <dt>RouterOS</dt>
        <dd>
          the text of <code className="mono">/export</code> or{" "}
          <code className="mono">/queue export file=queues</code>, version 3 to 7
        </dd>
        <dt>LibreQoS</dt>
        <dd>
          <code className="mono">ShapedDevices.csv</code>, together with{" "}
          <code className="mono">network.json</code>
        </dd>
        <dt>CSV</dt>
        <dd>
          what <code className="mono">/api/v1/export/csv</code> gives;{" "}
          <a href="/api/v1/export/csv" download="queues.csv">
            download the present queues
          </a>{" "}
          as a start
        </dd>
      </dl>
    </Section>
  );
}
