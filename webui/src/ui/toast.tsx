// SPDX-License-Identifier: Apache-2.0
import { ActionIcon, Button } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { useSyncExternalStore } from "react";
import { SeverityIcon, type Severity } from "./blocks";
import classes from "./toast.module.css";

/** What can be done about it from the toast, which then goes away. */
export interface ToastAction {
  label: string;
  run: () => void;
}

interface Toast {
  id: number;
  severity: Severity;
  text: string;
  action: ToastAction | undefined;
}

const GOES_AFTER_MS = 5_000;
/** Longer, so that there is time to reach for it. */
const WITH_ACTION_MS = 12_000;

let toasts: readonly Toast[] = [];
let next = 1;
const listeners = new Set<() => void>();

function set(list: readonly Toast[]): void {
  toasts = list;
  for (const listener of listeners) listener();
}

export const dismiss = (id: number): void => set(toasts.filter((toast) => toast.id !== id));
export const dismissAll = (): void => set([]);

/** Says what happened. Errors, and warnings that something can be done about, stay until they are closed. */
export function say(severity: Severity, text: string, action?: ToastAction): void {
  const id = next++;
  set([...toasts.filter((toast) => toast.text !== text).slice(-3), { id, severity, text, action }]);
  if (severity === "error" || (severity === "warning" && action)) return;
  window.setTimeout(() => dismiss(id), action ? WITH_ACTION_MS : GOES_AFTER_MS);
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

function ActionButton({ id, action }: { id: number; action: ToastAction }) {
  const run = () => {
    dismiss(id);
    action.run();
  };
  return (
    <Button size="compact-xs" onClick={run}>
      {action.label}
    </Button>
  );
}

export function Toasts() {
  const list = useSyncExternalStore(subscribe, () => toasts);
  return (
    <div className={classes.list} role="status" aria-live="polite">
      {list.map((toast) => (
        <div key={toast.id} className={classes.toast} role={toast.severity === "error" ? "alert" : undefined}>
          <SeverityIcon severity={toast.severity} />
          <span className="grow">{toast.text}</span>
          {toast.action ? <ActionButton id={toast.id} action={toast.action} /> : null}
          <ActionIcon
            size="sm"
            variant="subtle"
            color="gray"
            aria-label="Dismiss"
            onClick={() => dismiss(toast.id)}
          >
            <IconX size={14} />
          </ActionIcon>
        </div>
      ))}
    </div>
  );
}
