// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { lazy, Suspense, type ComponentType, type ReactNode } from "react";
import { ONLY_READS, useMay } from "@/api/may";
import type { Kind } from "@/api/types";
import { Note } from "@/ui/blocks";
import { Panel } from "@/ui/Panel";
import classes from "./forms.module.css";
import { InSystem } from "./InSystem";
import { useObjectForm, type ObjectFormOptions } from "./objectForm";
import { Others } from "./Others";
import type { Messages } from "./queueValues";

/** What is measured of an object over time, below its form. */
const MEASURED: Readonly<Partial<Record<Kind, ComponentType<{ id: string }>>>> = {
  interface: lazy(() => import("@/ports/InterfaceTraffic")),
};

interface ObjectDrawerProps<Values> extends Omit<ObjectFormOptions<Values>, "onDone"> {
  onClose: () => void;
  removable?: boolean;
  children: (values: Values, set: (change: Partial<Values>) => void, messages: Messages) => ReactNode;
}

/** The drawer of the short forms: types what is typed, stages what is asked, shows errors at their fields. */
export function ObjectDrawer<Values extends object>({
  onClose,
  removable,
  children,
  ...options
}: ObjectDrawerProps<Values>) {
  const form = useObjectForm({ ...options, onDone: onClose });
  const { values, set, messages, touched } = form;
  const may = useMay("write");
  const Measured = MEASURED[options.kind];
  return (
    <Panel
      title={options.title}
      onClose={onClose}
      onSubmit={may ? form.save : undefined}
      footer={
        may ? (
          <>
            <Button variant="filled" loading={form.isPending} onClick={form.save}>
              Stage the change
            </Button>
            {touched ? (
              <Button onClick={form.forget}>Undo typing</Button>
            ) : (
              <Button onClick={onClose}>Close</Button>
            )}
            {removable && options.id !== null ? (
              <Button color="red" variant="subtle" ml="auto" onClick={form.remove}>
                Delete
              </Button>
            ) : null}
          </>
        ) : null
      }
    >
      <FormBody may={may} messages={messages}>
        {options.id === null ? null : <Others kind={options.kind} id={options.id} />}
        {children(values, set, messages)}
      </FormBody>
      {Measured && options.id !== null ? (
        <Suspense fallback={null}>
          <div className={classes.measured}>
            <Measured id={options.id} />
          </div>
        </Suspense>
      ) : null}
      {options.id !== null && options.etag !== null ? <InSystem kind={options.kind} id={options.id} /> : null}
    </Panel>
  );
}

/** The fields of a form, below what is wrong with none of them in particular. */
export function FormBody({
  may,
  messages,
  children,
}: {
  may: boolean;
  messages: Messages;
  children: ReactNode;
}) {
  return (
    <fieldset className={`${classes.fields ?? ""} stack`} disabled={!may}>
      {may ? null : <Note severity="notice">{ONLY_READS}</Note>}
      {messages[""] ? (
        <Note severity="error" live>
          {messages[""]}
        </Note>
      ) : null}
      {children}
    </fieldset>
  );
}
