// SPDX-License-Identifier: Apache-2.0
import { useMutation } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import { say } from "@/ui/toast";
import { AskOnce } from "./AskOnce";

const POWER = {
  restart: {
    title: "Restart the router?",
    action: "Restart",
    path: "/api/v1/system/restart",
    what: "Nothing is forwarded until it is up again. The configuration is kept.",
    said: "The router restarts. This page comes back by itself.",
  },
  off: {
    title: "Switch the router off?",
    action: "Switch off",
    path: "/api/v1/system/power-off",
    what: "Nothing is forwarded, and nothing here brings it back: somebody has to press its button.",
    said: "The router switches itself off.",
  },
} as const;

export type PowerAction = keyof typeof POWER;

/** The question before the machine restarts or switches off, and the doing of it. */
export function AskPower({ action, onClose }: { action: PowerAction; onClose: () => void }) {
  const { path, said, what, ...words } = POWER[action];
  const run = useMutation({ mutationFn: () => need(api.POST(path)), onSuccess: () => say("notice", said) });
  return (
    <AskOnce
      {...words}
      busy={run.isPending}
      onClose={onClose}
      onDo={() => run.mutate(undefined, { onSettled: onClose })}
    >
      {what}
    </AskOnce>
  );
}
