// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { CopyButton } from "./CopyButton";
import classes from "./ShownOnce.module.css";

interface ShownOnceProps {
  text: string;
  /** Under which name it is saved. */
  file: string;
  /** The button that ends it. */
  kept: string;
  onDone: () => void;
}

/** Ways to keep a text that does not come back. */
export function ShownOnce({ text, file, kept, onDone }: ShownOnceProps) {
  return (
    <div className="row">
      <CopyButton text={text} />
      <Button
        component="a"
        href={`data:text/plain;charset=utf-8,${encodeURIComponent(text)}`}
        download={file}
      >
        Save as a file
      </Button>
      <Button variant="filled" onClick={onDone} data-autofocus>
        {kept}
      </Button>
    </div>
  );
}

/** An SVG document that scanners read, also from a dark page. */
export function QrCode({ svg, alt }: { svg: string; alt: string }) {
  return (
    <img className={classes.code} alt={alt} src={`data:image/svg+xml;utf8,${encodeURIComponent(svg)}`} />
  );
}
