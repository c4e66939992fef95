import { beforeAll, describe, expect, inject, it } from 'vitest';
import { operations } from '#contract/index.ts';
import type { Operation } from '#contract/operation.ts';
import { scopesOfRole } from '#domain/permissions.ts';
import type { PermissionScope, Role } from '#domain/vocabulary.ts';
import { request } from '#test/harness/http.ts';
import { createTestOrganization, type TestOrganization } from '#test/harness/organization.ts';

let org: TestOrganization;
beforeAll(async () => {
  org = await createTestOrganization();
});

const UNKNOWN = '0199c0de-5eed-7000-a000-0000000000aa';

/** A path of an operation with ids that fit its family; `orgId` for the organization. */
function pathOf(operation: (typeof operations)[number], orgId: string): string {
  const opaque: Record<string, string> = {
    project_id: 'proj',
    asset_id: 'asset',
    scan_id: 'scan',
    finding_id: 'f',
  };
  return operation.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (name === 'org_id') return orgId;
    const prefix = opaque[name];
    return operation.family === 'B' && prefix ? `${prefix}_${UNKNOWN.replaceAll('-', '')}` : UNKNOWN;
  });
}

describe('every response', () => {
  it.each([
    ['a success', 'GET', '/api/health'],
    ['a 401', 'GET', '/api/projects'],
    ['a 404 outside of the interface', 'GET', '/nowhere'],
    ['a 405', 'DELETE', '/api/projects'],
    ['a bad request', 'POST', '/api/auth/login'],
  ])('carries request id and rate-limit headers: %s', async (_, method, path) => {
    const { headers } = await request(method, path);
    expect(headers.get('x-request-id')).toMatch(/^req_[0-9a-f]{32}$/);
    expect(Number(headers.get('x-ratelimit-limit'))).toBeGreaterThan(0);
    expect(Number(headers.get('x-ratelimit-remaining'))).toBeGreaterThanOrEqual(0);
    expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000 - 1);
    expect(headers.get('x-content-type-options')).toBe('nosniff');
  });

  it('carries them on the reference page too', async () => {
    const response = await fetch(`${inject('service').url}/docs`);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
    expect(response.headers.get('x-ratelimit-limit')).not.toBeNull();
  });
});

describe('verbose=true', () => {
  it('adds stack context and a suggestion to errors of both families, and only then', async () => {
    const path = `/api/orgs/${org.orgId}/api-keys`;
    const family = { A: { path, body: {} }, B: { path: '/api/projects', body: {} } };
    for (const { path, body } of Object.values(family)) {
      const quiet = await request('POST', path, { key: org.accessToken, body });
      const verbose = await request('POST', `${path}?verbose=true`, { key: org.accessToken, body });
      expect(JSON.stringify(quiet.body)).not.toContain('suggestion');
      const parts = (verbose.body.error ?? verbose.body) as {
        suggestion?: string;
        stack_context?: { frames: string[] };
      };
      expect(parts.suggestion).toMatch(/fields listed in details/);
      expect(parts.stack_context?.frames.length).toBeGreaterThan(0);
      expect(JSON.stringify(parts)).not.toContain(process.cwd());
    }
  });
});

describe('access', () => {
  const guarded = operations.filter((operation) => operation.permission !== 'public');

  it.each(guarded.map((operation) => [operation.id, operation] as const))(
    '%s needs a credential',
    async (_, operation) => {
      const answer = await request(operation.method, pathOf(operation, org.orgId), {
        ...(operation.body && { body: {} }),
      });
      expect([answer.status, answer.body.error?.code]).toEqual([401, 'unauthorized']);
    },
  );

  const scoped = guarded.filter(
    (operation) => operation.permission.includes(':') || operation.permission === 'admin',
  );
  /** The first of these that may, and the last that may not: the edge of the permission. */
  const BY_POWER = ['Viewer', 'Editor', 'Policy Editor', 'Project Admin', 'Admin'] as const;
  const may = (role: Role, { permission }: Operation) =>
    scopesOfRole(role).some((scope) => scope === permission);

  const keys = new Map<string, Promise<{ key: string }>>();
  const keyOf = (scope: PermissionScope) => {
    const key = keys.get(scope) ?? org.withKey(scope);
    keys.set(scope, key);
    return key;
  };
  const tokens = new Map<Role, Promise<string>>();
  const tokenOf = (role: Role) => {
    const token = tokens.get(role) ?? org.signInAs(role);
    tokens.set(role, token);
    return token;
  };
  const send = (operation: Operation, key: string, orgId = org.orgId) =>
    request(operation.method, pathOf(operation, orgId), { key, ...(operation.body && { body: {} }) });
  const sendAsAdmin = async (operation: Operation) => {
    const own = await createTestOrganization();
    return send(operation, own.accessToken, own.orgId);
  };

  it.each(scoped.map((operation) => [operation.id, operation] as const))(
    '%s names the missing scope',
    async (_, operation) => {
      const { key } = await keyOf(operation.permission === 'tickets:read' ? 'scans:read' : 'tickets:read');
      const denied = BY_POWER.findLast((role) => !may(role, operation));
      const credentials = [key, ...(denied ? [await tokenOf(denied)] : [])];
      for (const credential of credentials) {
        const answer = await send(operation, credential);
        expect([answer.status, answer.body.error?.code]).toEqual([403, 'insufficient_permissions']);
        expect(answer.body.error?.message).toContain(operation.permission);
      }
    },
  );

  it.each(scoped.map((operation) => [operation.id, operation] as const))(
    '%s lets in the scope, and the least role that has it',
    async (_, operation) => {
      const least = BY_POWER.find((role) => may(role, operation));
      if (!least) throw new Error(`No role may ${operation.id}`);
      const own = await createTestOrganization();
      const { key } = await own.withKey(operation.permission as PermissionScope);
      const asKey = await send(operation, key, own.orgId);
      // An admin is let in to whatever ends the organization, too: not to the one of all the others.
      const asRole =
        least === 'Admin' ? await sendAsAdmin(operation) : await send(operation, await tokenOf(least));
      for (const answer of [asRole, asKey]) expect([401, 403]).not.toContain(answer.status);
    },
  );

  const inOrg = guarded.filter((operation) => operation.path.includes('{org_id}'));

  it.each(inOrg.map((operation) => [operation.id, operation] as const))(
    '%s hides other organizations',
    async (_, operation) => {
      const other = await createTestOrganization();
      const path = pathOf(operation, other.orgId);
      const answer = await request(operation.method, path, {
        key: org.accessToken,
        ...(operation.body && { body: {} }),
      });
      expect([answer.status, answer.body.error?.code]).toEqual([404, 'not_found']);
    },
  );
});
