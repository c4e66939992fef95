import { createHash } from 'node:crypto';
import { TIER_LIMITS } from '#contract/limits.ts';
import type { Attribution } from '#domain/actor.ts';
import { notFound, ServiceError } from '#domain/errors.ts';
import type { Ids } from '#domain/ids.ts';
import type { Scanner, Scope } from '#domain/vocabulary.ts';
import type { ScanRequested } from '#events/pipeline.ts';
import { logError, logInfo } from '#shared/log.ts';
import type { Queue } from '#shared/queue.ts';
import type { AssetStore } from '#store/assets.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { ProjectStore } from '#store/projects.ts';
import { IdempotentReplay, type ScanRecord, type ScanStore } from '#store/scans.ts';

export interface SubmitDependencies {
  readonly scans: ScanStore;
  readonly assets: AssetStore;
  readonly projects: ProjectStore;
  readonly organizations: OrganizationStore;
  readonly scanRequests: Queue<ScanRequested>;
  readonly ids: Ids;
}

export interface ScanRequest {
  readonly scope: Scope;
  readonly targetId: string | null;
  readonly scanners: readonly Scanner[];
  readonly branch: string | null;
  readonly trigger: ScanRecord['trigger'];
  readonly idempotencyKey: string | null;
}

/**
 * Accepts a scan and hands it to the planner. The record comes first: where the message is lost, the
 * sweep sends it again.
 * @throws ServiceError not_found, conflict, scan_already_running, scan_limit_exceeded
 */
export async function submitScan(
  orgId: string,
  request: ScanRequest,
  attribution: Attribution,
  dependencies: SubmitDependencies,
): Promise<ScanRecord> {
  const { scans, organizations, ids } = dependencies;
  const [organization] = await Promise.all([
    organizations.getOrganization(orgId),
    checkTarget(orgId, request, dependencies),
  ]);
  if (!organization) throw notFound('organization');
  const scan = {
    id: ids.next(),
    scope: request.scope,
    targetId: request.targetId,
    scanners: [...new Set(request.scanners)],
    branch: request.branch,
    trigger: request.trigger,
  };
  const idempotency =
    request.idempotencyKey === null ? null : { key: request.idempotencyKey, request: digest(scan) };
  try {
    const record = await scans.create(orgId, scan, TIER_LIMITS[organization.tier], idempotency, attribution);
    await sendRequest(orgId, record.id, dependencies);
    logInfo('scan accepted', { org_id: orgId, scan_id: record.id });
    return record;
  } catch (error) {
    if (!(error instanceof IdempotentReplay) || !idempotency) throw error;
    return replayScan(orgId, idempotency, scans);
  }
}

async function checkTarget(
  orgId: string,
  request: ScanRequest,
  { assets, projects }: SubmitDependencies,
): Promise<void> {
  if (request.scope === 'organization' || request.targetId === null) return;
  if (request.scope === 'project') {
    await projects.require(orgId, request.targetId);
    return;
  }
  const asset = await assets.require(orgId, request.targetId);
  if (asset.type !== 'repository' || asset.clone_url === null)
    throw new ServiceError('conflict', 'The asset has no repository to clone; add its URL first');
}

/** A failed send is no failure of the request: the scan is recorded, and the sweep sends it again within a minute. */
async function sendRequest(
  orgId: string,
  scanId: string,
  { scanRequests }: SubmitDependencies,
): Promise<void> {
  try {
    await scanRequests.send({ org_id: orgId, scan_id: scanId });
  } catch (error) {
    logError('scan request not sent; the sweep will', error, { org_id: orgId, scan_id: scanId });
  }
}

/** The scan that an Idempotency-Key made before. @throws ServiceError conflict */
export async function replayScan(
  orgId: string,
  idempotency: { key: string; request: string },
  scans: ScanStore,
): Promise<ScanRecord> {
  const held = await scans.findByIdempotencyKey(orgId, idempotency.key);
  if (held && held.request !== idempotency.request)
    throw new ServiceError('conflict', 'This Idempotency-Key was used for another request');
  const scan = held && (await scans.get(orgId, held.scanId));
  if (!scan) throw new ServiceError('conflict', 'The scan of this Idempotency-Key is gone');
  return scan;
}

function digest({ id: _, ...scan }: { id: string } & Record<string, unknown>): string {
  return createHash('sha256').update(JSON.stringify(scan)).digest('hex');
}
