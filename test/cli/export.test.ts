import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, inject, it } from 'vitest';
import * as z from 'zod';
import { operations } from '#contract/index.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { fromOpaque, toOpaque } from '#domain/ids.ts';
import { EXPORTED_LISTS } from '#infra/cli/exported-lists.ts';
import { PROJECT_ROOT } from '#infra/project.ts';
import { startHttpServer } from '#test/harness/http-server.ts';
import { freshAsset, importReport } from '#test/harness/importing.ts';
import { createTestOrganization } from '#test/harness/organization.ts';
import { sarifLog } from '#test/harness/sarif.ts';

/** Lists that hold nothing of their own: why. */
const SEEN_ELSEWHERE: Readonly<Record<string, string>> = {
  listOwnOrganizations: "the caller's, not the organization's",
  listMembers: 'users',
  listTeams: 'teams',
  listOrgProjects: 'projects',
  listOrgSubProjects: 'sub-projects',
  listProjectAssets: 'assets',
  listRepositories: 'assets',
  listScanFindings: 'findings',
  listFindings: 'findings',
  listAssetFindings: 'findings',
  listOpenPolicies: 'policies',
};

const run = promisify(execFile);

function isPaged(query: z.ZodType | undefined): boolean {
  return query instanceof z.ZodObject && 'per_page' in query.shape;
}

describe('an organization’s export', () => {
  it('has every list of the API', () => {
    const lists = operations
      .filter(({ method, path, query }) => method === 'GET' && (isPaged(query) || path.endsWith('/versions')))
      .map(({ id }) => id);
    const exported = EXPORTED_LISTS.map(({ operation }) => operation as object);
    const missing = operations.filter(
      (operation) =>
        lists.includes(operation.id) &&
        !(operation.id in SEEN_ELSEWHERE) &&
        !exported.some((one) => (one as { path: string }).path === operation.path),
    );
    expect(lists.length).toBeGreaterThan(20);
    expect(missing.map(({ id }) => id)).toEqual([]);
  });

  it('is a file a kind, whole, and without a secret', async () => {
    const org = await createTestOrganization();
    const asset = await freshAsset(org);
    await importReport(org, asset, sarifLog([{ rule: 'a', path: 'a.py' }]));
    const made = await Promise.all(
      Array.from({ length: 120 }, (_, index) =>
        org.client.call(projects.operations.createProject, { body: { name: `project ${index}` } }),
      ),
    );
    await org.client.call(policies.operations.createPolicy, {
      body: {
        name: 'kept',
        kind: 'triage',
        rego: 'package svc.triage\nimport rego.v1\ndecision := "accept"',
      },
    });
    const { key } = await org.withKey('findings:read');
    const parentId = made[0]?.id ?? '';
    const sub = await org.client.call(projects.operations.createSubProject, {
      params: { project_id: parentId },
      body: { name: 'sub' },
    });
    await org.client.call(organizations.operations.addProjectMember, {
      params: { org_id: org.orgId, project_id: fromOpaque('project', sub.id) ?? '' },
      body: { user_id: org.admin.userId, role: 'member' },
    });
    const parent = await mkdtemp(join(tmpdir(), 'aspm-export-'));
    const folder = join(parent, 'export');
    try {
      await run(process.execPath, ['infra/cli/export.ts', folder], {
        cwd: PROJECT_ROOT,
        env: {
          ...process.env,
          ASPM_URL: inject('service').url,
          ASPM_ADMIN_EMAIL: org.admin.email,
          ASPM_ADMIN_PASSWORD: org.admin.password,
        },
      });
      const files = await readdir(folder);
      expect(files.sort()).toEqual(
        [...EXPORTED_LISTS.map(({ kind }) => kind), 'findings'].map((kind) => `${kind}.jsonl`).sort(),
      );
      const text = Object.fromEntries(
        await Promise.all(
          files.map(async (file) => [file, await readFile(join(folder, file), 'utf8')] as const),
        ),
      );
      const rows = (kind: string) =>
        (text[`${kind}.jsonl`] ?? '')
          .split('\n')
          .filter((line) => line !== '')
          .map((line) => JSON.parse(line));
      expect(
        rows('projects')
          .map(({ id }) => id)
          .sort(),
      ).toEqual(made.map(({ id }) => id).sort());
      expect(rows('project-members').map(({ project_id }) => project_id)).toEqual([
        fromOpaque('project', sub.id),
      ]);
      expect(rows('findings')).toHaveLength(1);
      expect(rows('assets').map(({ id }) => id)).toEqual([asset]);
      expect(rows('policy-versions')).toMatchObject([{ version: 1, rego: expect.any(String) }]);
      expect(rows('organization')).toMatchObject([{ id: toOpaque('organization', org.orgId) }]);
      expect(rows('audit-log').length).toBeGreaterThan(120);
      const all = Object.values(text).join('\n');
      expect(all).not.toContain(key);
      expect(all).not.toContain('hash');
    } finally {
      await rm(parent, { recursive: true, force: true });
    }
  });

  it('goes into no folder that is there, and asks at no address where something else answers', async () => {
    const { url } = inject('service');
    const attempt = (folder: string, at: string) =>
      run(process.execPath, ['infra/cli/export.ts', folder], {
        cwd: PROJECT_ROOT,
        env: { ...process.env, ASPM_URL: at, ASPM_API_KEY: 'none' },
      }).catch((error: { code: number; stderr: string }) => error);
    expect(await attempt(tmpdir(), url)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is there already'),
    });
    await using elsewhere = await startHttpServer((_, response) => response.end('hello'));
    const other = `http://127.0.0.1:${elsewhere.port}`;
    expect(await attempt('nowhere', other)).toMatchObject({
      code: 1,
      stderr: `This service does not answer at ${other}\n`,
    });
  });

  it.each(['export', 'smoke', 'admin'])(
    'npm run %s shows its usage where an option is unknown',
    async (name) => {
      const refused = await run(process.execPath, [`infra/cli/${name}.ts`, '--bogus'], {
        cwd: PROJECT_ROOT,
      }).catch((error: { code: number; stderr: string }) => error);
      expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage') });
      const { stdout } = await run(process.execPath, [`infra/cli/${name}.ts`, '--help'], {
        cwd: PROJECT_ROOT,
      });
      expect(stdout).toContain('Usage');
    },
  );

  it('says who it needs where nobody is signed in', async () => {
    const { ASPM_API_KEY: _, ...env } = process.env;
    const refused = await run(process.execPath, ['infra/cli/export.ts', 'nowhere'], {
      cwd: PROJECT_ROOT,
      env: { ...env, ASPM_URL: inject('service').url },
    }).catch((error: { code: number; stderr: string }) => error);
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('ASPM_ADMIN_EMAIL') });
  });
});
