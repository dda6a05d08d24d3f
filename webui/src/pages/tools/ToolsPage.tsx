// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem, type ApiProblem } from "@/api/problem";
import { draftOfObject, readDraft, type Draft, type Messages } from "@/kinds/form/draft";
import { Help } from "@/kinds/form/Help";
import { KindFields } from "@/kinds/form/KindFields";
import { Note, Page, Section } from "@/ui/blocks";
import { ReasonedButton } from "@/ui/ReasonedButton";
import { Output } from "./Output";
import { SpeedResult } from "./SpeedResult";
import { declaredOf, givenTo, TOOLS, type Given, type Tool } from "./toolForms";
import classes from "./Tools.module.css";
import { useRun } from "./useRun";
import { useSpeed } from "./useSpeed";

const AGAIN_MS = 5_000;
const FIRST = "ping";
const SPEED = "speed";

/** Tools that run on the router: a form from the declaration, and what the run says. */
export default function ToolsPage() {
  const { tool: asked, ...given } = useSearch({ from: "/frame/tools" });
  const name = asked !== undefined && TOOLS.has(asked) ? asked : FIRST;
  const tool = TOOLS.get(name);
  if (!tool) return null;
  return (
    <Page title="Tools">
      <div className={classes.page}>
        <nav aria-label="All tools">
          <ul className={classes.tools}>
            {[...TOOLS].map(([value, item]) => (
              <li key={value}>
                <Link
                  to="/tools"
                  search={{ tool: value, ...given }}
                  className={classes.tool}
                  aria-current={value === name ? "page" : undefined}
                >
                  {item.title}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className={classes.chosen}>
          <div>
            <h2>{tool.title}</h2>
            <p className={`dim ${classes.about}`}>
              <Help text={tool.about} />
            </p>
          </div>
          {name === SPEED ? (
            <SpeedTest tool={tool} />
          ) : (
            <ToolRun key={`${name} ${JSON.stringify(given)}`} name={name} tool={tool} given={given} />
          )}
        </div>
      </div>
    </Page>
  );
}

interface RunProps {
  name: string;
  tool: Tool;
  given: Given;
}

function ToolRun(props: RunProps) {
  const { run, start, stop } = useRun(props.name, props.tool);
  const isRunning = run.state === "running";
  return (
    <>
      <ToolForm {...props} isRunning={isRunning} problem={run.problem} start={start} stop={stop} />
      {run.state === "idle" || isOfFields(run.problem) ? null : (
        <Section title={isRunning ? "Running" : "Output"}>
          <Output tool={props.tool} run={run} />
        </Section>
      )}
    </>
  );
}

/** It measures the way to this browser, so the browser does it. */
function SpeedTest({ tool }: { tool: Tool }) {
  const { run, start, stop } = useSpeed();
  const isRunning = run.state === "running";
  return (
    <>
      <ToolForm
        {...{ name: SPEED, tool, given: {} }}
        isRunning={isRunning}
        problem={run.problem}
        start={start}
        stop={stop}
      />
      {run.state === "idle" ? null : (
        <Section title={isRunning ? "Running" : "Result"}>
          <SpeedResult run={run} />
        </Section>
      )}
    </>
  );
}

/** Nothing was run, and the fields say why. */
const isOfFields = (problem: ApiProblem | null): boolean =>
  problem?.findings.some((item) => item.field !== "") ?? false;

interface FormProps extends RunProps {
  isRunning: boolean;
  problem: ApiProblem | null;
  start: (body: unknown) => Promise<void>;
  stop: () => void;
}

/** Its arguments, the button, and who else runs it. */
function ToolForm({ name, tool, given, isRunning, problem, start, stop }: FormProps) {
  const declared = useMemo(() => declaredOf(name, tool), [name, tool]);
  const [draft, setDraft] = useState<Draft>(() => draftOfObject(declared, givenTo(tool, given)));
  const [wrong, setWrong] = useState<Messages>({});
  const may = useMay(tool.scope);
  const refused = Object.fromEntries(
    (problem?.findings ?? []).flatMap((item) => (item.field ? [[item.field, item.message]] : [])),
  );
  const send = () => {
    const { input, messages } = readDraft(declared, draft);
    setWrong(messages);
    if (Object.keys(messages).length === 0) void start(input);
  };
  return (
    <>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          send();
        }}
      >
        <KindFields
          declared={declared}
          draft={draft}
          set={(change) => setDraft((now) => ({ ...now, ...change }))}
          messages={{ ...refused, ...wrong }}
          isNew={false}
        />
        <div>
          {isRunning ? (
            <Button type="button" variant="default" onClick={stop}>
              Stop
            </Button>
          ) : (
            <ReasonedButton
              type="submit"
              why={may ? null : `This needs an account with the scope ${tool.scope}.`}
            >
              Run
            </ReasonedButton>
          )}
        </div>
      </form>
      {isRunning ? null : <Elsewhere name={name} />}
    </>
  );
}

/** A run of somebody else, which is in the way of another one. */
function Elsewhere({ name }: { name: string }) {
  const query = useQuery({
    queryKey: ["tools"],
    queryFn: ({ signal }) => need(api.GET("/api/v1/tools", { signal })),
    refetchInterval: AGAIN_MS,
  });
  const end = useMutation({
    mutationFn: (id: string) =>
      need(api.DELETE("/api/v1/tools/runs/{run_id}", { params: { path: { run_id: id } } })),
    onSettled: () => query.refetch(),
  });
  if (query.isError)
    return (
      <Note severity="error" live>
        {asProblem(query.error).message}
      </Note>
    );
  const running = query.data?.items.find((item) => item.name === name)?.running;
  if (!running) return null;
  return (
    <Note severity="notice">
      {running.by} is running {running.subject}.{" "}
      <Button size="compact-xs" variant="default" onClick={() => end.mutate(running.id)}>
        End it
      </Button>
    </Note>
  );
}
