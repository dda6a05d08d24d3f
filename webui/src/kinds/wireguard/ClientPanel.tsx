// SPDX-License-Identifier: Apache-2.0
import { Button, Modal } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { api, need } from "@/api/client";
import { useMay } from "@/api/may";
import { asProblem } from "@/api/problem";
import { refreshConfig } from "@/api/queries";
import { AskOnce } from "@/app/AskOnce";
import { Note } from "@/ui/blocks";
import { QrCode, ShownOnce } from "@/ui/ShownOnce";
import type { ExtraProps } from "../extras";
import classes from "./Client.module.css";

interface Made {
  config: string;
  qr_svg: string;
}

/** Makes the whole configuration of a peer that is a phone or a laptop, and shows it this once. */
export default function ClientPanel({ row }: ExtraProps) {
  const { object, staged } = row;
  const may = useMay("write");
  const [asks, setAsks] = useState(false);
  const hasKey = object["public_key"] != null;
  const make = useMutation({
    mutationFn: () =>
      need(
        api.POST("/api/v1/wireguard-peers/{peer_id}/client", {
          params: { path: { peer_id: object.id }, header: { "If-Match": `"${object.etag ?? ""}"` } },
        }),
      ),
    onSettled: () => {
      setAsks(false);
      void refreshConfig();
    },
  });
  if (!may) return null;
  const start = () => (hasKey ? setAsks(true) : make.mutate());
  return (
    <section className={classes.panel} aria-label="Configuration of the device">
      <h3>Configuration of the device</h3>
      <p className="dim">
        The router makes the keys and the whole configuration, which a phone or laptop scans or reads. The
        private key is shown once and kept nowhere.
      </p>
      {staged ? (
        <p className="dim">Commit the pending change of this peer first.</p>
      ) : (
        <Button onClick={start} loading={make.isPending}>
          {hasKey ? "Make it again" : "Make the configuration"}
        </Button>
      )}
      {make.isError ? (
        <Note severity="error" live>
          {asProblem(make.error).message}
        </Note>
      ) : null}
      {asks ? (
        <AskOnce
          title="Make new keys?"
          action="Make new keys"
          busy={make.isPending}
          onDo={() => make.mutate()}
          onClose={() => setAsks(false)}
        >
          The configuration that {object.id} has now does not work any more, and its connections end.
        </AskOnce>
      ) : null}
      {make.data ? <Once name={object.id} made={make.data} onDone={make.reset} /> : null}
    </section>
  );
}

/** The configuration as text and as a picture. Closing it is a choice: it does not come back. */
function Once({ name, made, onDone }: { name: string; made: Made; onDone: () => void }) {
  return (
    <Modal
      opened
      onClose={onDone}
      title={`Configuration of ${name}`}
      size="lg"
      closeOnClickOutside={false}
      closeOnEscape={false}
      withCloseButton={false}
    >
      <div className="stack">
        <Note severity="warning">
          It has the private key and is shown only now. Scan it in the WireGuard app, or save it.
        </Note>
        <div className={classes.once}>
          <QrCode alt="QR code of the configuration" svg={made.qr_svg} />
          <pre className={classes.text}>{made.config}</pre>
        </div>
        <ShownOnce text={made.config} file={`${name}.conf`} kept="I have kept it" onDone={onDone} />
      </div>
    </Modal>
  );
}
