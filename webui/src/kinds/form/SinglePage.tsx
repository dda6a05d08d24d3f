// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import type { Kind } from "@/api/types";
import { useStagedChanges } from "@/api/writes";
import { FormBody } from "@/forms/ObjectDrawer";
import { InSystem } from "@/forms/InSystem";
import { useObjectForm } from "@/forms/objectForm";
import { Others } from "@/forms/Others";
import { Note, Page, Skeleton, Tag } from "@/ui/blocks";
import type { Declared } from "../kinds";
import { singleQuery, type Stored } from "../objects";
import { StateSection } from "../StateSection";
import { pageTitle } from "../title";
import { draftOfObject, readDraft, type Draft } from "./draft";
import classes from "./Form.module.css";
import { KindFields } from "./KindFields";

/** The page of a kind that has one object: its form, and what the router learns about it. */
export function SinglePage({ kind, declared }: { kind: string; declared: Declared }) {
  const query = useQuery(singleQuery(declared.path));
  const staged = useStagedChanges(kind as Kind).get(kind);
  const object = useMemo(() => (query.data ? { ...query.data, ...staged?.new } : null), [query.data, staged]);
  return (
    <Page title={pageTitle(declared)} actions={staged ? <Tag tone="accent">change pending</Tag> : null}>
      {query.isError ? (
        <Note severity="error" live>
          {asProblem(query.error).message}
        </Note>
      ) : null}
      {object ? (
        <div className={classes.beside}>
          <Form kind={kind} declared={declared} object={object} etag={query.data?.etag ?? null} />
          <StateSection kind={kind} declared={declared} id={kind} object={object} />
        </div>
      ) : query.isPending ? (
        <Skeleton />
      ) : null}
    </Page>
  );
}

interface FormProps {
  kind: string;
  declared: Declared;
  object: Stored;
  etag: string | null;
}

function Form({ kind, declared, object, etag }: FormProps) {
  const may = useMay("write");
  const initial = useMemo(() => draftOfObject(declared, object), [declared, object]);
  const read = useCallback((draft: Draft) => readDraft(declared, draft), [declared]);
  const form = useObjectForm({
    kind: kind as Kind,
    id: kind,
    etag,
    title: kind,
    initial,
    read,
    onDone: () => undefined,
  });
  return (
    <form
      className={`${classes.single ?? ""} stack`}
      onSubmit={(event) => {
        event.preventDefault();
        form.save();
      }}
    >
      {object.warnings?.map((finding, index) => (
        <Note key={index} severity={finding.severity}>
          {finding.message}
        </Note>
      ))}
      <Others kind={kind} id={kind} />
      <FormBody may={may} messages={form.messages}>
        <KindFields
          declared={declared}
          draft={form.values}
          set={form.set}
          messages={form.messages}
          isNew={false}
        />
      </FormBody>
      {may ? (
        <div className="row">
          <Button type="submit" variant="filled" loading={form.isPending}>
            Stage the change
          </Button>
          {form.touched ? <Button onClick={form.forget}>Undo typing</Button> : null}
        </div>
      ) : null}
      <InSystem kind={kind} id={kind} />
    </form>
  );
}
