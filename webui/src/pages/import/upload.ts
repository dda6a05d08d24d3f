// SPDX-License-Identifier: Apache-2.0
import { useInfiniteQuery } from "@tanstack/react-query";
import { api, need } from "@/api/client";
import type { ImportLine, ImportReport } from "@/api/types";

export type Format = ImportReport["format"];
export type Fate = ImportLine["fate"];

export const FORMAT_WORD: Record<Format, string> = {
  routeros: "RouterOS export (.rsc)",
  libreqos: "LibreQoS (ShapedDevices.csv, network.json)",
  csv: "Weir CSV",
};
export const FATE_WORD: Record<Fate, string> = {
  imported: "imported",
  changed: "changed",
  warning: "warning",
  left_out: "left out",
};

/** What a file is, from its name and its first lines. */
export async function guessFormat(files: readonly File[]): Promise<Format> {
  const names = files.map((file) => file.name.toLowerCase());
  if (names.some((name) => name.endsWith(".rsc"))) return "routeros";
  if (names.some((name) => name === "network.json" || name.includes("shapeddevices"))) return "libreqos";
  const head = (await files[0]?.slice(0, 4_000).text()) ?? "";
  if (/^\s*\/queue|RouterOS/m.test(head)) return "routeros";
  return /circuit.?id/i.test(head) ? "libreqos" : "csv";
}

export async function upload(
  format: Format,
  files: readonly File[],
  replace: boolean,
): Promise<ImportReport> {
  const form = new FormData();
  for (const file of files) form.append(file.name, file, file.name);
  return need(
    api.POST("/api/v1/import/{format_name}", {
      params: { path: { format_name: format }, query: { replace } },
      body: {},
      bodySerializer: () => form,
    }),
  );
}

const LINE_PAGE = 500;

/** The report's lines, fetched by the page as the list is scrolled. */
export const useLines = (report: string, fate: Fate | undefined, q: string | undefined) =>
  useInfiniteQuery({
    queryKey: ["import", report, "lines", fate, q],
    queryFn: ({ pageParam }) =>
      need(
        api.GET("/api/v1/import/reports/{report_id}/lines", {
          params: { path: { report_id: report }, query: { limit: LINE_PAGE, cursor: pageParam, fate, q } },
        }),
      ),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next_cursor ?? undefined,
    staleTime: Infinity,
  });
