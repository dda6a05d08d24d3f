// SPDX-License-Identifier: Apache-2.0
import { Button } from "@mantine/core";
import { clockText } from "./format";
import type { Zoom } from "./zoom";

/** Which part of the time is shown, and the way back to all of it. */
export function ZoomNote({ zoom, onZoom }: { zoom: Zoom | null; onZoom: (zoom: null) => void }) {
  if (!zoom) return null;
  return (
    <span className="row">
      <span className="dim num" role="status">
        {clockText(zoom.fromS)} to {clockText(zoom.toS)}
      </span>
      <Button onClick={() => onZoom(null)}>Reset zoom</Button>
    </span>
  );
}
