import * as z from 'zod';
import { SCANNERS } from '#domain/vocabulary.ts';

/**
 * What travels between the steps of the scan pipeline. References only: a message holds at
 * most a few hundred bytes, reports stay in the bucket and state stays in the table.
 */

/** Queue `scan-requests`: "this scan was accepted; admit it and plan its runs". Repeats are harmless. */
export const ScanRequested = z.object({ org_id: z.uuid(), scan_id: z.uuid() });
export type ScanRequested = z.infer<typeof ScanRequested>;

/** Queue `run-dispatch`: "something of this organization may be able to start now". Repeats are harmless. */
export const DispatchRequested = z.object({
  org_id: z.uuid(),
  /** From the sweep: organizations are said to wait for a place of the deployment's. */
  has_turns: z.boolean().optional(),
});
export type DispatchRequested = z.infer<typeof DispatchRequested>;

/**
 * Input of the run state machine: one execution per (scan, asset), named `run_id`.
 * `claim` is used up by the runner's first call, so that it may stay in the history.
 */
export const RunExecution = z.object({
  org_id: z.uuid(),
  scan_id: z.uuid(),
  asset_id: z.uuid(),
  run_id: z.uuid(),
  claim: z.string().min(20),
  scanners: z.array(z.enum(SCANNERS)).min(1),
  /** The request that asked for the scan. Executions of older versions have none: no step may need it. */
  request_id: z.string().nullish(),
});
export type RunExecution = z.infer<typeof RunExecution>;

/** Input of the ingest step: one scanner's report of one run. */
export const IngestStep = RunExecution.pick({
  org_id: true,
  scan_id: true,
  asset_id: true,
  run_id: true,
}).extend({
  scanner: z.enum(SCANNERS),
  /** How the report is kept: as the scanner wrote it, or (an import) in our own terms. */
  format: z.enum(['native', 'findings']).default('native'),
});
export type IngestStep = z.infer<typeof IngestStep>;

/** Queue `imports`: "reports of this import wait in the bucket". Repeats are harmless. */
export const ImportRequested = RunExecution.pick({
  org_id: true,
  scan_id: true,
  asset_id: true,
  run_id: true,
});
export type ImportRequested = z.infer<typeof ImportRequested>;

/** Input of the last step. `failure` is what a Catch adds when the runner or an ingest was lost. */
export const FinishRunStep = RunExecution.pick({
  org_id: true,
  scan_id: true,
  asset_id: true,
  run_id: true,
  request_id: true,
}).extend({
  failure: z.object({ Error: z.string(), Cause: z.string().optional() }).optional(),
});
export type FinishRunStep = z.infer<typeof FinishRunStep>;
