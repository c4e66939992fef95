import { timestamp } from '#domain/clock.ts';
import { findingId } from '#domain/ids.ts';
import type { IngestStep } from '#events/pipeline.ts';
import { readActivePolicies } from '#shared/judging/active-policies.ts';
import { AskedPolicies } from '#shared/judging/asked-policies.ts';
import { createJudge, type Judge, type JudgeDependencies } from '#shared/judging/judge.ts';
import type { ReportBucket } from '#shared/report-bucket.ts';
import type { ReportedFinding } from '#shared/reports/reported-finding.ts';
import type { AssetRecord, AssetStore } from '#store/assets.ts';
import type { FindingRecord } from '#store/finding-record.ts';
import type { FindingWriteStore } from '#store/finding-writes.ts';
import type { ManifestStore } from '#store/manifests.ts';
import type { PolicyStore } from '#store/policies.ts';
import type { PolicyCodeStore } from '#store/policy-code.ts';
import type { RunRecord, RunRef, RunStore } from '#store/runs.ts';
import type { ScanRecord, ScanStore } from '#store/scans.ts';
import type { ReportReader } from './reader/report-reader.ts';

export interface IngestDependencies extends JudgeDependencies {
  readonly scans: ScanStore;
  readonly runs: RunStore;
  readonly assets: AssetStore;
  readonly manifests: ManifestStore;
  readonly writes: FindingWriteStore;
  readonly bucket: ReportBucket;
  readonly reader: Pick<ReportReader, 'readRun'>;
  readonly policies: Pick<PolicyStore, 'listActive'>;
  readonly policyCode: Pick<PolicyCodeStore, 'readCompiled'>;
  /** The organization's setting `auto_resolve`: whether what a scanner no longer reports is resolved. */
  readonly readAutoResolve: (orgId: string) => Promise<boolean>;
}

/** What one (scanner, report) of a run is ingested with. */
export interface IngestContext {
  readonly ref: RunRef;
  readonly run: RunRecord;
  readonly asset: AssetRecord;
  readonly scanner: IngestStep['scanner'];
  readonly format: IngestStep['format'];
  readonly scan: ScanRecord;
  /** Names this one attempt at the manifest's lease. */
  readonly holder: string;
  readonly at: number;
}

/** Another run is ingesting the same (asset, scanner): the state machine tries again. */
export class ManifestBusy extends Error {
  override readonly name = 'ManifestBusy';
}

/** The policies that judge what this ingest writes, as they are now. */
export async function openJudge(
  { ref, asset, scan, at }: IngestContext,
  dependencies: IngestDependencies,
): Promise<{ judge: Judge; asked: AskedPolicies }> {
  const active = await readActivePolicies(ref.orgId, dependencies);
  const asked = new AskedPolicies('ingest', at);
  return { judge: createJudge(active, { orgId: ref.orgId, asset, scan }, asked, dependencies), asked };
}

/** The record of a finding that nobody has seen before. */
export function newFinding({ ref, scanner, at }: IngestContext, reported: ReportedFinding): FindingRecord {
  const now = timestamp(at);
  return {
    ...reported,
    cwe: [...reported.cwe],
    id: findingId(ref.orgId, ref.assetId, scanner, reported.fingerprint),
    org_id: ref.orgId,
    asset_id: ref.assetId,
    status: 'open',
    tool: reported.tool ?? null,
    revision: 1,
    reported: true,
    suppressed_in_repository: null,
    status_set_by: 'scanner',
    status_without_policy: null,
    first_seen_scan_id: ref.scanId,
    last_seen_scan_id: ref.scanId,
    resolved_by_scan_id: null,
    created_at: now,
    updated_at: now,
    resolved_at: null,
    assignee: null,
    notes: null,
    suppression: null,
    priority: null,
    owner: null,
    routed_to: null,
    policy_results: [],
  };
}
