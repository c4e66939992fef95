import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { findings } from '#contract/operations/findings.ts';
import { imports } from '#contract/operations/imports.ts';
import { toOpaque } from '#domain/ids.ts';
import { createAssetStore } from '#store/assets.ts';
import { createCounterStore } from '#store/counters.ts';
import { type TestOrganization, testTable } from './organization.ts';
import { sampleAsset, testAttribution } from './samples.ts';
import { awaitScan } from './scanning.ts';

type Query = Record<string, string>;

/** An asset that has no repository, and knows no branch unless it is told one; answers its opaque id. */
export async function freshAsset(
  org: TestOrganization,
  change: Parameters<typeof sampleAsset>[0] = {},
): Promise<string> {
  const asset = sampleAsset(change);
  const store = createAssetStore(testTable(), createCounterStore(testTable(), 1));
  await store.create(org.orgId, asset, testAttribution());
  return toOpaque('asset', asset.id);
}

const zipped = (report: unknown) =>
  new Uint8Array(gzipSync(typeof report === 'string' ? report : JSON.stringify(report)));

/** Imports a report, or a text as it is; answers the scan as it was accepted. */
export async function sendReport(
  org: TestOrganization,
  asset: string,
  report: unknown,
  query: Query = {},
  key?: string,
) {
  return org.client.call(imports.operations.importFindings, {
    params: { asset_id: asset },
    query,
    upload: zipped(report),
    headers: { 'content-type': 'application/gzip', ...(key && { 'idempotency-key': key }) },
  });
}

/** Imports a report; answers the scan once it has ended. */
export async function importReport(org: TestOrganization, asset: string, report: unknown, query: Query = {}) {
  return awaitScan(org, (await sendReport(org, asset, report, query)).id);
}

/** The same by an address to upload to; `more` is of the request for it. */
export async function uploadReport(org: TestOrganization, asset: string, report: unknown, more: object = {}) {
  const body = report instanceof Uint8Array ? new Uint8Array(report) : zipped(report);
  const { upload: to, scan } = await org.client.call(imports.operations.createImportUrl, {
    params: { asset_id: asset },
    body: { bytes: body.length, ...more },
  });
  expect(scan).toMatchObject({ status: 'queued', trigger: 'import', scanners: [] });
  const answer = await fetch(to.url, { method: to.method, headers: to.headers, body });
  expect(answer.status).toBe(200);
  return awaitScan(org, scan.id);
}

export async function listFindingsOf(org: TestOrganization, asset: string, query: Query = {}) {
  const asked = { asset_id: asset, per_page: 100, sort: 'created_at', ...query };
  return (await org.client.call(findings.operations.listFindings, { query: asked })).data;
}

/** Statuses of an asset's findings by their paths. */
export async function statusesOf(org: TestOrganization, asset: string) {
  return Object.fromEntries(
    (await listFindingsOf(org, asset)).map(({ location, status }) => [location.path, status]),
  );
}
