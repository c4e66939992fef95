import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { scans } from '#contract/operations/scans.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { capacityKey, scanLockKey } from '#store/keys.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization, testTable } from '#test/harness/organization.ts';
import { addRepository, awaitScan, triggerScan } from '#test/harness/scanning.ts';

let org: TestOrganization;
let folder: string;
beforeAll(async () => {
  org = await createTestOrganization();
  folder = await mkdtemp(join(tmpdir(), 'aspm-bad-input-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Nothing of an ended scan is left behind: no lock, no slot, no place in a queue. */
async function expectNothingLocked(assetId: string): Promise<void> {
  const table = testTable();
  const uuid = fromOpaque('asset', assetId);
  expect(await table.get(scanLockKey(org.orgId, 'asset', uuid, null))).toBeNull();
  expect(await table.get(capacityKey(org.orgId))).toMatchObject({
    queued_scans: 0,
    running_scans: 0,
    running_scanners: 0,
  });
}

describe('a repository that can not be had', () => {
  it.each([
    ['a path that does not exist', () => join(folder, 'nowhere')],
    ['a folder that is no repository', () => folder],
    ['a URL at which nobody answers', () => 'http://127.0.0.1:9/team/service.git'],
  ])('ends the scan as failed with clone_failed: %s', async (_, url) => {
    const assetId = await addRepository(org, url());
    const scan = await awaitScan(org, (await triggerScan(org, assetId, ['gitleaks'])).id);
    expect(scan).toMatchObject({
      status: 'failed',
      error: { code: 'clone_failed', details: [{ asset_id: assetId, scanner: null, code: 'clone_failed' }] },
    });
    expect(scan.error?.message.length).toBeGreaterThan(10);
    expect(scan.progress).toEqual({ total: 1, done: 0, failed: 1 });
    await expectNothingLocked(assetId);
    // It can be tried again at once.
    await awaitScan(org, (await triggerScan(org, assetId, ['gitleaks'])).id);
  });
});

describe('a scan that can not be', () => {
  const post = (body: unknown) => request('POST', '/api/scans', { key: org.accessToken, body });

  it.each([
    [
      { scope: 'organization', scanners: [] },
      400,
      'validation_error',
      'scanners must contain at least one scanner',
    ],
    [
      { scope: 'planet', scanners: ['trivy'] },
      400,
      'validation_error',
      'scope must be one of organization, project, asset',
    ],
    [
      { scope: 'organization', scanners: ['nmap'] },
      400,
      'validation_error',
      'must be one of semgrep, grype, trivy, gitleaks',
    ],
    [{ scope: 'organization' }, 400, 'missing_field', 'scanners is required'],
    [
      { scope: 'asset', scanners: ['trivy'] },
      400,
      'missing_field',
      'target_id is required for the scope asset',
    ],
    [
      {
        scope: 'organization',
        target_id: toOpaque('asset', '0199c0de-5eed-7000-a000-0000000000aa'),
        scanners: ['trivy'],
      },
      400,
      'validation_error',
      'target_id must be absent',
    ],
    [
      { scope: 'asset', target_id: 'asset_1', scanners: ['trivy'] },
      400,
      'validation_error',
      'target_id must be an identifier',
    ],
    [
      {
        scope: 'asset',
        target_id: toOpaque('asset', '0199c0de-5eed-7000-a000-0000000000aa'),
        scanners: ['trivy'],
      },
      404,
      'not_found',
      'asset not found',
    ],
    [
      {
        scope: 'project',
        target_id: toOpaque('project', '0199c0de-5eed-7000-a000-0000000000aa'),
        scanners: ['trivy'],
      },
      404,
      'not_found',
      'project not found',
    ],
    [
      { scope: 'organization', scanners: ['trivy'], branch: '--upload-pack=x' },
      400,
      'validation_error',
      'branch must be the name of a branch',
    ],
  ])('%j answers %i %s', async (body, status, code, message) => {
    const answer = await post(body);
    expect([answer.status, answer.body.error?.code]).toEqual([status, code]);
    expect(answer.body.error?.message).toContain(message);
  });

  it('refuses another scan of the same scope while one runs, and lets it through afterwards', async () => {
    const assetId = await addRepository(org, join(folder, 'absent'));
    const [first, second] = await Promise.allSettled([
      triggerScan(org, assetId, ['gitleaks']),
      triggerScan(org, assetId, ['gitleaks']),
    ]);
    const outcomes = [first, second].map((outcome) => outcome.status).sort();
    expect(outcomes).toEqual(['fulfilled', 'rejected']);
    const refused = [first, second].find((outcome) => outcome.status === 'rejected');
    expect(refused?.reason).toMatchObject({ status: 409, code: 'scan_already_running' });
    const accepted = [first, second].find((outcome) => outcome.status === 'fulfilled');
    await awaitScan(org, accepted?.value.id ?? '');
    await awaitScan(org, (await triggerScan(org, assetId, ['gitleaks'])).id);
  });

  it('answers the same scan to the same Idempotency-Key, and refuses it for another request', async () => {
    const assetId = await addRepository(org, join(folder, 'idempotent'));
    const send = (scanners: 'gitleaks' | 'trivy') =>
      org.client.call(scans.operations.createScan, {
        body: { scope: 'asset', target_id: assetId, scanners: [scanners] },
        headers: { 'idempotency-key': 'the-same' },
      });
    const scan = await send('gitleaks');
    expect((await send('gitleaks')).id).toBe(scan.id);
    await expect(send('trivy')).rejects.toMatchObject({ status: 409, code: 'conflict' });
    await awaitScan(org, scan.id);
    expect((await send('gitleaks')).id).toBe(scan.id);
  });
});

describe('an asset that can not be', () => {
  it.each([
    [{ name: 'x' }, 'url is required'],
    [{ name: 'x', url: 'ftp://example.com/x' }, 'must be an http or https URL'],
    [{ name: 'x', url: 'ext::sh -c id' }, 'must be an http or https URL'],
    [{ name: 'x', url: 'https://user:secret@example.com/x.git' }, 'must not contain credentials'],
    [{ url: 'https://example.com/x.git' }, 'name is required'],
    [{ name: 'x', url: 'https://example.com/x.git', default_branch: '-x' }, 'must be the name of a branch'],
  ])('%j answers 422', async (body, message) => {
    const answer = await request('POST', `/api/orgs/${org.orgId}/repositories/add`, {
      key: org.accessToken,
      body,
    });
    expect(answer.status).toBe(422);
    expect(JSON.stringify(answer.body.detail)).toContain(message);
    expect(JSON.stringify(answer.body)).not.toContain('secret');
  });

  it('is there once only', async () => {
    await addRepository(org, 'https://git.example.com/once.git');
    await expect(addRepository(org, 'https://git.example.com/once.git/')).rejects.toMatchObject({
      status: 409,
      code: 'already_exists',
    });
  });
});

describe('cancelling', () => {
  it('ends a scan at once, and refuses what has ended', async () => {
    const assetId = await addRepository(org, join(folder, 'cancelled'));
    const scan = await triggerScan(org, assetId, ['gitleaks']);
    const params = { scan_id: scan.id };
    const outcome = await org.client
      .call(scans.operations.cancelScan, { params })
      .catch((error: unknown) => error);
    const after = await awaitScan(org, scan.id);
    // The scan may have failed before the cancel arrived: then the cancel was refused.
    if (after.status === 'cancelled') expect(outcome).toMatchObject({ status: 'cancelled' });
    else expect(outcome).toMatchObject({ code: 'conflict' });
    await expect(org.client.call(scans.operations.cancelScan, { params })).rejects.toMatchObject({
      status: 409,
      code: 'conflict',
    });
    await expect.poll(async () => (await testTable().get(capacityKey(org.orgId)))?.running_scanners).toBe(0);
    await expectNothingLocked(assetId);
  });
});
