import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { assets } from '#contract/operations/assets.ts';
import { findings } from '#contract/operations/findings.ts';
import { projects } from '#contract/operations/projects.ts';
import { scans } from '#contract/operations/scans.ts';
import { SCANNERS } from '#domain/vocabulary.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';
import { requireScanner } from '#test/harness/scanner-databases.ts';
import { addRepository, scanToEnd } from '#test/harness/scanning.ts';
import { storedItems } from '#test/harness/stored-items.ts';
import {
  commitFiles,
  createVulnerableRepository,
  git,
  type VulnerableRepository,
} from '#test/harness/vulnerable-repository.ts';

let org: TestOrganization;
let repository: VulnerableRepository;
let assetId: string;
let first: Awaited<ReturnType<typeof scanToEnd>>;

beforeAll(async () => {
  for (const scanner of SCANNERS) await requireScanner(scanner);
  org = await createTestOrganization();
  repository = await createVulnerableRepository();
  assetId = await addRepository(org, pathToFileURL(repository.path).href);
  first = await scanToEnd(org, assetId, SCANNERS);
});
afterAll(() => repository?.remove());

const findingsOf = async (scanId: string) =>
  (
    await org.client.call(scans.operations.listScanFindings, {
      params: { scan_id: scanId },
      query: { per_page: 100 },
    })
  ).data;

describe('a scan of a repository with all four scanners', () => {
  it('completes, with findings of each', async () => {
    expect(first).toMatchObject({
      status: 'completed',
      error: null,
      progress: { total: 4, done: 4, failed: 0 },
      commit: repository.head,
    });
    const found = await findingsOf(first.id);
    expect(new Set(found.map(({ scanner }) => scanner))).toEqual(new Set(SCANNERS));
    expect(first.new_count).toBe(found.length);
  });

  it('finds the secret of the history, the packages, the code and the Dockerfile', async () => {
    const found = await findingsOf(first.id);
    const has = (expected: object) => expect(found).toContainEqual(expect.objectContaining(expected));
    has({
      scanner: 'gitleaks',
      category: 'secret',
      location: expect.objectContaining({ path: 'app/config.py' }),
    });
    has({
      scanner: 'grype',
      cve_id: 'CVE-2020-7471',
      severity: 'critical',
      kev: true,
      package: expect.objectContaining({ name: 'django', version: '2.2.0', fixed_version: '2.2.10' }),
    });
    has({
      scanner: 'trivy',
      cve_id: 'CVE-2020-8203',
      package: expect.objectContaining({ name: 'lodash', version: '4.17.15' }),
    });
    has({
      scanner: 'trivy',
      category: 'misconfiguration',
      location: expect.objectContaining({ path: 'Dockerfile' }),
    });
    for (const language of ['.py', '.js'])
      expect(
        found.some(({ scanner, location }) => scanner === 'semgrep' && location.path.endsWith(language)),
        language,
      ).toBe(true);
    for (const finding of found)
      expect(finding).toMatchObject({
        status: 'open',
        asset_id: assetId,
        first_seen_scan_id: first.id,
        last_seen_scan_id: first.id,
        age_days: 0,
      });
  });

  it('keeps the secret out of every answer and out of everything stored', async () => {
    const runs = await org.client.call(scans.operations.listScanRuns, { params: { scan_id: first.id } });
    const list = await org.client.call(findings.operations.listFindings, { query: { per_page: 100 } });
    expect(JSON.stringify([first, runs, list])).not.toContain(repository.secret);
    expect(JSON.stringify(await storedItems())).not.toContain(repository.secret);
  });

  it('agrees with itself: summaries, counts, lists and filters', async () => {
    const found = await findingsOf(first.id);
    const [ofScan, ofOrg] = await Promise.all([
      org.client.call(scans.operations.getScanSummary, { params: { scan_id: first.id } }),
      org.client.call(findings.operations.getFindingSummary),
    ]);
    expect(ofScan).toEqual(ofOrg);
    expect(ofOrg.total).toBe(found.length);
    expect(ofOrg.by_status.open).toBe(found.length);
    const asset = await org.client.call(assets.operations.getAsset, { params: { asset_id: assetId } });
    expect(asset.finding_counts).toEqual(ofOrg.by_severity);
    expect(first.finding_counts).toEqual(ofOrg.by_severity);
    expect(asset).toMatchObject({ default_branch: 'main' });
    expect(asset.last_scan_at).not.toBeNull();

    const list = (
      query: Parameters<typeof org.client.call<typeof findings.operations.listFindings>>[1] extends infer I
        ? I extends { query?: infer Q }
          ? Q
          : never
        : never,
    ) => org.client.call(findings.operations.listFindings, { query });
    for (const severity of ['critical', 'high', 'medium', 'low', 'info'] as const)
      expect((await list({ severity })).pagination.total).toBe(
        found.filter((finding) => finding.severity === severity).length,
      );
    for (const scanner of SCANNERS)
      expect((await list({ scanner, asset_id: assetId })).pagination.total).toBe(
        found.filter((finding) => finding.scanner === scanner).length,
      );
    expect(
      (await list({ cve_id: 'cve-2020-7471' })).data.every(({ cve_id }) => cve_id === 'CVE-2020-7471'),
    ).toBe(true);
    expect((await list({ status: 'resolved,suppressed' })).data).toEqual([]);
    expect((await list({ age_min: 1 })).pagination.total).toBe(0);
    expect((await list({ age_max: 0 })).pagination.total).toBe(found.length);
    const ids = found.slice(0, 3).map(({ id }) => id);
    const unknown = `f_${'0'.repeat(32)}`;
    expect((await list({ id: [...ids, unknown].join(',') })).data.map(({ id }) => id).sort()).toEqual(
      ids.sort(),
    );
    const page = await list({ per_page: 2, page: 2, sort: '-severity' });
    const all = await list({ per_page: 100, sort: '-severity' });
    expect(page.data.map(({ id }) => id)).toEqual(all.data.slice(2, 4).map(({ id }) => id));
    expect(all.data[0]?.severity).toBe('critical');
    const ascending = await list({ per_page: 100, sort: 'severity' });
    expect(ascending.data.at(-1)?.severity).toBe('critical');
    const [one] = found;
    expect(
      await org.client.call(findings.operations.getFinding, { params: { finding_id: one?.id ?? '' } }),
    ).toEqual(one);
  });

  it('moves its findings with the asset to a project', async () => {
    const project = await org.client.call(projects.operations.createProject, { body: { name: 'Shop' } });
    const sub = await org.client.call(projects.operations.createSubProject, {
      params: { project_id: project.id },
      body: { name: 'Cart' },
    });
    await org.client.call(projects.operations.assignProjectAssets, {
      params: { project_id: sub.id },
      body: { asset_ids: [assetId] },
    });
    const total = (await findingsOf(first.id)).length;
    for (const project_id of [project.id, sub.id]) {
      expect(await org.client.call(projects.operations.getProject, { params: { project_id } })).toMatchObject(
        { asset_count: 1, finding_count: total },
      );
      expect(
        (await org.client.call(findings.operations.listFindings, { query: { project_id } })).pagination.total,
      ).toBe(total);
      expect(
        (await org.client.call(findings.operations.getFindingSummary, { query: { project_id } })).total,
      ).toBe(total);
    }
    const [moved] = (
      await org.client.call(findings.operations.listFindings, {
        query: { sub_project_id: sub.id, per_page: 1 },
      })
    ).data;
    expect(moved).toMatchObject({ project_id: project.id, sub_project_id: sub.id });
  });
});

describe('a first scan that names the default branch', () => {
  it('is recognised as the default branch’s', async () => {
    const own = await createTestOrganization();
    const id = await addRepository(own, pathToFileURL(repository.path).href);
    const scan = await scanToEnd(own, id, ['gitleaks'], 'main');
    expect(scan).toMatchObject({ status: 'completed', new_count: 1 });
    expect((await own.client.call(findings.operations.getFindingSummary)).total).toBe(1);
    expect(await own.client.call(assets.operations.getAsset, { params: { asset_id: id } })).toMatchObject({
      default_branch: 'main',
    });
  });
});

describe('the next scans', () => {
  it('change nothing where nothing changed', async () => {
    const before = await findingsOf(first.id);
    const again = await scanToEnd(org, assetId, SCANNERS);
    expect(again).toMatchObject({
      status: 'completed',
      new_count: 0,
      resolved_count: 0,
      finding_counts: first.finding_counts,
    });
    const after = await findingsOf(again.id);
    const stable = (list: typeof before) =>
      list.map(({ last_seen_scan_id: _, ...rest }) => rest).sort((a, b) => (a.id < b.id ? -1 : 1));
    // The move to a project changed where they are; nothing else may have.
    expect(stable(after).map(({ project_id: _, sub_project_id: __, ...rest }) => rest)).toEqual(
      stable(before).map(({ project_id: _, sub_project_id: __, ...rest }) => rest),
    );
    expect(after.every(({ last_seen_scan_id }) => last_seen_scan_id === again.id)).toBe(true);
  });

  it('resolve what was mended, reopen what came back, and leave the rest', async () => {
    const requirements = await git(repository.path, 'show', 'HEAD:requirements.txt');
    await commitFiles(repository.path, { 'requirements.txt': 'django==4.2.16\n' }, 'update django');
    const mended = await scanToEnd(org, assetId, SCANNERS);
    expect(mended.status).toBe('completed');
    expect(mended).toMatchObject({ new_count: 0 });
    expect(mended.resolved_count).toBeGreaterThanOrEqual(2);
    const django = async () =>
      (await org.client.call(findings.operations.listFindings, { query: { cve_id: 'CVE-2020-7471' } })).data;
    for (const finding of await django()) {
      expect(finding.status).toBe('resolved');
      expect(finding.resolved_at).not.toBeNull();
      expect(finding.last_seen_scan_id).not.toBe(mended.id);
    }
    await commitFiles(repository.path, { 'requirements.txt': requirements }, 'downgrade django');
    const back = await scanToEnd(org, assetId, SCANNERS);
    expect(back).toMatchObject({ status: 'completed', new_count: 0, resolved_count: 0 });
    for (const finding of await django())
      expect(finding).toMatchObject({
        status: 'reopened',
        resolved_at: null,
        first_seen_scan_id: first.id,
        last_seen_scan_id: back.id,
      });
    const summary = await org.client.call(findings.operations.getFindingSummary);
    expect(summary.total).toBe(Object.values(first.finding_counts).reduce((sum, count) => sum + count, 0));
    expect(summary.by_status.resolved).toBe(0);
  });

  it('of another branch keep their findings for themselves', async () => {
    const before = await org.client.call(findings.operations.getFindingSummary);
    await git(repository.path, 'checkout', '--quiet', '-b', 'feature');
    await commitFiles(
      repository.path,
      {
        'app/feature.py':
          'import os\nfrom flask import request\n\n\ndef run():\n    os.system(request.args["c"])\n',
      },
      'add a feature',
    );
    await git(repository.path, 'checkout', '--quiet', 'main');
    const scan = await scanToEnd(org, assetId, ['semgrep'], 'feature');
    expect(scan).toMatchObject({ status: 'completed', branch: 'feature', new_count: 0, resolved_count: 0 });
    const own = await findingsOf(scan.id);
    expect(own.some(({ location }) => location.path === 'app/feature.py')).toBe(true);
    expect(await org.client.call(findings.operations.getFindingSummary)).toEqual(before);
    expect(
      (await org.client.call(scans.operations.getScanSummary, { params: { scan_id: scan.id } })).total,
    ).toBe(own.length);
  });

  it('are listed, newest first, by page and status', async () => {
    const all = await org.client.call(scans.operations.listScans, { query: { per_page: 100 } });
    expect(all.pagination.total).toBe(all.data.length);
    expect(all.data.at(-1)?.id).toBe(first.id);
    const oldest = await org.client.call(scans.operations.listScans, {
      query: { sort: 'created_at', per_page: 1 },
    });
    expect(oldest.data[0]?.id).toBe(first.id);
    const failed = await org.client.call(scans.operations.listScans, {
      query: { status: 'failed,cancelled' },
    });
    expect(failed.data).toEqual([]);
  });

  it('cover a project or the whole organization', async () => {
    const scan = await org.client.call(scans.operations.createScan, {
      body: { scope: 'organization', scanners: ['gitleaks'] },
    });
    const { awaitScan } = await import('#test/harness/scanning.ts');
    expect(await awaitScan(org, scan.id)).toMatchObject({
      status: 'completed',
      target_id: null,
      progress: { total: 1, done: 1 },
    });
  });
});
