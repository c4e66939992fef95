import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { scans } from '#contract/operations/scans.ts';
import { toOpaque } from '#domain/ids.ts';
import type { Scanner } from '#domain/vocabulary.ts';
import type { TestOrganization } from './organization.ts';

/** How the service under test can clone what is at a path of this machine. */
export function cloneUrl(place: string): string {
  const { repositories } = inject('service');
  if (repositories === '') return place;
  const path = place.startsWith('file:') ? fileURLToPath(place) : place;
  return path.startsWith('/') ? `${repositories}${path}` : place;
}

/** Registers a repository; answers its opaque id. */
export async function addRepository(
  org: TestOrganization,
  url: string,
  name = 'repository',
): Promise<string> {
  const made = await org.client.call(assets.operations.addRepository, {
    params: { org_id: org.orgId },
    body: { name, url: cloneUrl(url) },
  });
  return toOpaque('asset', made.id);
}

export async function triggerScan(
  org: TestOrganization,
  assetId: string,
  scanners: readonly Scanner[],
  branch?: string,
) {
  return org.client.call(scans.operations.createScan, {
    body: { scope: 'asset', target_id: assetId, scanners: [...scanners], ...(branch && { branch }) },
  });
}

/** The scan once it has ended. */
export async function awaitScan(org: TestOrganization, scanId: string) {
  for (;;) {
    const scan = await org.client.call(scans.operations.getScan, { params: { scan_id: scanId } });
    if (scan.status !== 'queued' && scan.status !== 'running') return scan;
    await sleep(50);
  }
}

/** Triggers a scan of an asset and waits for its end. */
export async function scanToEnd(
  org: TestOrganization,
  assetId: string,
  scanners: readonly Scanner[],
  branch?: string,
) {
  return awaitScan(org, (await triggerScan(org, assetId, scanners, branch)).id);
}
