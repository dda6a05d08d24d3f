// SPDX-License-Identifier: Apache-2.0
/** Short names for the generated types. Nothing is declared by hand that the API's document declares. */
import type { components, paths } from "./schema";

type Schemas = components["schemas"];

export type Queue = Schemas["Queue"];
export type QueueInput = Schemas["QueueInput"];
export type QueueType = Schemas["QueueType"];
export type QueueTypeInput = Schemas["QueueTypeInput"];
/** What it is made as says `type`; the fields of all of them together. */
type AnyCase<T> = Pick<T, keyof T>;
export type Interface = AnyCase<Schemas["Interface"]>;
export type LogAnswer = Schemas["LogAnswer"];
export type LogLine = Schemas["LogLine"];
export type Lease = Schemas["Lease"];
export type InterfaceInput = Partial<AnyCase<Schemas["InterfaceInput"]>>;
export type Host = Schemas["Host"];
export type GivenLease = Schemas["GivenLease"];
export type HostAddress = Schemas["HostAddress"];
export type StaticRoute = Schemas["StaticRoute"];
export type StaticRouteInput = Schemas["StaticRouteInput"];
export type Firewall = Schemas["Firewall"];
export type FirewallInput = Schemas["FirewallInput"];
export type Finding = Schemas["Finding"];
export type DiagnosisFinding = Schemas["DiagnosisFinding"];
export type Findings = Schemas["Findings"];
export type Dropped = Schemas["Dropped"];
export type DropsAnswer = Schemas["DropsAnswer"];
export type FiguresAnswer = Schemas["FiguresAnswer"];
export type FigureSeries = Schemas["FigureSeries"];
export type Incident = Schemas["Incident"];
export type IncidentHead = Schemas["IncidentHead"];
export type IncidentInterface = Schemas["IncidentInterface"];
export type IncidentQueue = Schemas["IncidentQueue"];
export type Incidents = Schemas["Incidents"];
export type Mark = Schemas["Mark"];
export type Marks = Schemas["Marks"];
export type Why = Schemas["Why"];
export type PacketPath = Schemas["PacketPath"];
export type PathProof = Schemas["PacketProof"];
export type PathProofInput = Schemas["ProofInput"];
export type PacketPathQuery = NonNullable<paths["/api/v1/diagnosis/path"]["get"]["parameters"]["query"]>;
export type Remedy = Schemas["Remedy"];
export type ProblemDocument = Schemas["Problem"];
export type Candidate = Schemas["Candidate"];
export type OtherCandidate = Schemas["OtherCandidate"];
/** The fields of an object, for code that treats all kinds alike; the schemas say which fields a kind has. */
type Fields = Record<string, unknown>;
type OfAnyKind<T> = Omit<T, "old" | "new"> & { old: Fields | null; new: Fields | null };
/** Of a staged change also its version and when it was staged. */
export type Change = OfAnyKind<Schemas["Change"]> &
  Partial<Pick<Schemas["StagedChange"], "etag" | "staged_at" | "effect">>;
export type CandidateDiff = Omit<Schemas["CandidateDiff"], "changes"> & {
  changes: OfAnyKind<Schemas["StagedChange"]>[];
};
/** `base`: the version that it was made on; without one, whatever is staged is replaced. */
export type ChangeInput = Omit<Schemas["ChangeInput"], "id" | "new" | "base"> & {
  id: string | null;
  new: Fields | null;
  base?: string | null;
};
export type YourWay = Schemas["YourWay"];
export type Counts = Schemas["Counts"];
export type FieldChange = Schemas["FieldChange"];
export type KernelEffect = Schemas["KernelEffect"];
export type ObjectEffect = Schemas["ObjectEffect"];
export type Pending = Schemas["Pending"];
export type CommitAnswer = Schemas["CommitAnswer"];
export type Revision = Schemas["Revision"];
export type ObjectVersion = Schemas["ObjectVersion"];
export type Raise = Schemas["Raise"];
export type Explain = Schemas["Explain"];
export type Explanation = Schemas["Explanation"];
export type QueueStats = Schemas["QueueStats"];
export type QueueStatsAnswer = Schemas["QueueStatsAnswer"];
export type QueueDetails = Schemas["QueueDetails"];
export type QueueHistory = Schemas["QueueHistory"];
export type InterfaceHistory = Schemas["InterfaceHistory"];
export type InterfaceStats = Schemas["InterfaceStats"];
export type InterfaceStatsAnswer = Schemas["InterfaceStatsAnswer"];
export type SystemStats = Schemas["SystemStats"];
export type System = Schemas["System"];
export type Store = Schemas["Store"];
export type Updates = Schemas["Updates"];
export type Setup = Schemas["Setup"];
export type SetupPort = Schemas["SetupPort"];
export type SetupPreset = Schemas["SetupPreset"];
export type SetupPlan = Schemas["SetupPlanInput"];
export type SetupWishes = Schemas["SetupInput"];
export type Tuning = Schemas["Tuning"];
export type Setting = Schemas["Setting"];
export type BackupReport = Schemas["BackupReport"];
export type Slot = Schemas["Slot"];
export type Me = Schemas["Me"];
export type Session = Schemas["Session"];
export type User = Schemas["User"];
export type Token = Schemas["Token"];
export type AuditEntry = Schemas["AuditEntry"];
export type ImportReport = Schemas["ImportReport"];
export type ImportLine = Schemas["ImportLine"];
export type Kind = Change["kind"];
export type Scope = Me["scope"];

/** One value per direction, as seen by the target. */
export interface Pair<T> {
  upload: T;
  download: T;
}
