// SPDX-License-Identifier: Apache-2.0
import { Button, Modal } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { queryClient, storeRestoreQuery } from "@/api/queries";
import type { Store } from "@/api/types";
import { committedText } from "@/api/writes";
import { Facts, Note, Skeleton } from "@/ui/blocks";
import { DiffView } from "@/ui/DiffView";
import { plural, sentence } from "@/ui/format";
import { say } from "@/ui/toast";
import { ReasonedButton } from "@/ui/ReasonedButton";

interface StoreDialogProps {
  store: Store;
  onClose: () => void;
}

/** Says what is wrong with the database, what may be done about it, and what exactly that does. */
export default function StoreDialog({ store, onClose }: StoreDialogProps) {
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={
        store.followed !== false ? "Damage in the database" : "The database is not what the router ran last"
      }
    >
      {store.followed !== false ? (
        <Damage store={store} onClose={onClose} />
      ) : (
        <NotFollowed store={store} onClose={onClose} />
      )}
    </Modal>
  );
}

/** The router begins with the kind's name, which may have a capital letter here. */
const opened = (message: string): string => message.charAt(0).toUpperCase() + message.slice(1);

const NOT_ADMIN = "Only an administrator may do this.";

function Damage({ store, onClose }: StoreDialogProps) {
  const preview = useQuery(storeRestoreQuery);
  const isAdmin = useMay("admin");
  const restore = useMutation({
    mutationFn: () => need(api.POST("/api/v1/system/store/restore")),
    onSuccess: async (answer) => {
      say("ok", committedText(answer));
      onClose();
      await queryClient.invalidateQueries();
    },
    meta: { inline: true },
  });
  const total = preview.data?.total ?? 0;
  return (
    <div className="stack">
      <ul className="plain-list" aria-label="Damaged">
        {store.damaged.map((item, index) => (
          <li key={index}>{opened(item.message)}.</li>
        ))}
      </ul>
      {preview.isError ? <Note severity="error">{asProblem(preview.error).message}</Note> : null}
      {preview.isPending ? <Skeleton /> : null}
      {preview.data && total === 0 ? (
        <p>
          Everything that runs is whole in the database, so there is nothing to restore. The damage is in
          older revisions: these cannot be compared or restored completely.
        </p>
      ) : null}
      {preview.data && total > 0 ? (
        <>
          <p>
            <strong>
              Restore writes {plural(total, "object")} back, as a new revision, from what the router runs.
            </strong>{" "}
            They run already, so no traffic is affected, and no other object changes.
          </p>
          <DiffView changes={preview.data.changes} total={total} />
        </>
      ) : null}
      {restore.error ? (
        <Note severity="error" live>
          {asProblem(restore.error).message} Nothing was changed.
        </Note>
      ) : null}
      <div className="row">
        {total > 0 ? (
          <ReasonedButton
            variant="filled"
            loading={restore.isPending}
            why={isAdmin ? null : NOT_ADMIN}
            onClick={() => restore.mutate()}
          >
            Restore {plural(total, "object")}
          </ReasonedButton>
        ) : null}
        <Button onClick={onClose}>Close</Button>
      </div>
    </div>
  );
}

function NotFollowed({ store, onClose }: StoreDialogProps) {
  const isAdmin = useMay("admin");
  const head = store.stored;
  const accept = useMutation({
    mutationFn: async (body: { revision: number; digest: string }) =>
      need(api.POST("/api/v1/system/store/accept", { body })),
    onSuccess: async () => {
      say("ok", `The router runs revision ${head?.revision ?? ""} of the database.`);
      onClose();
      await queryClient.invalidateQueries();
    },
    meta: { inline: true },
  });
  return (
    <div className="stack">
      <p>{sentence(store.reason)}</p>
      <Facts
        items={[
          ["The router runs", `revision ${store.running_revision}, from its own copy`],
          ["The database has", head ? `revision ${head.revision}` : "nothing that can be read"],
          ["Meanwhile", "traffic is forwarded and shaped as before; changes are refused"],
        ]}
      />
      <p>
        <strong>To keep what runs,</strong> put the right database file back. The router takes it by itself.
      </p>
      {head ? (
        <p>
          <strong>To run what the database has,</strong> accept its revision {head.revision}. The router
          changes to it at once: every object is then as the database says, and what only the router ran, up
          to revision {store.running_revision}, is lost. This cannot be undone.
        </p>
      ) : null}
      {accept.error ? (
        <Note severity="error" live>
          {asProblem(accept.error).message} Nothing was changed.
        </Note>
      ) : null}
      <div className="row">
        {head ? (
          <ReasonedButton
            color="red"
            variant="filled"
            loading={accept.isPending}
            why={isAdmin ? null : NOT_ADMIN}
            onClick={() => accept.mutate(head)}
          >
            Run revision {head.revision} of the database
          </ReasonedButton>
        ) : null}
        <Button onClick={onClose}>Close</Button>
      </div>
    </div>
  );
}
