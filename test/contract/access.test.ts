import { describe, expect, it } from 'vitest';
import { operations } from '#contract/index.ts';
import type { Operation } from '#contract/operation.ts';
import { ServiceError } from '#domain/errors.ts';
import { scopesOfRole } from '#domain/permissions.ts';
import { MEMBER_ROLES, type MemberRole, PERMISSIONS, type PermissionScope } from '#domain/vocabulary.ts';
import type { Caller } from '#http/caller.ts';
import { permission } from '#http/middleware/permission.ts';
import { specifiedOperations } from '#test/harness/specified-operations.ts';

/**
 * The specification's tables once more, in words of the test's own: "JWT permissions follow the
 * user's role". `shared/domain/permissions.ts` is what is tested, so nothing here comes from it.
 */
const READ = ['scans:read', 'findings:read', 'policies:read', 'projects:read', 'tickets:read'];
const EDITOR = [...READ, 'findings:write', 'tickets:write'];
const ROLE_TABLE: Record<MemberRole, readonly string[] | 'everything'> = {
  Viewer: READ,
  Editor: EDITOR,
  'Policy Editor': [...EDITOR, 'policies:write'],
  'Project Admin': [...EDITOR, 'projects:write', 'scans:write'],
  Admin: 'everything',
  // No role of the table, but the default when a member is added: as a Viewer (design 3).
  member: READ,
};
const KEY_SCOPES: readonly PermissionScope[] = [
  'scans:read',
  'scans:write',
  'findings:read',
  'findings:write',
  'policies:read',
  'policies:write',
  'projects:read',
  'projects:write',
  'tickets:read',
  'tickets:write',
  'admin',
];

/** What an operation needs: as the fixture says; additions are not in it, and say so themselves. */
const specified = new Map(specifiedOperations.map(({ method, path, scope }) => [`${method} ${path}`, scope]));
function neededBy({ method, path, permission: own }: Operation): string {
  const scope = specified.get(`${method} ${path}`) ?? own;
  return scope === 'signed-in (users only)' ? 'signed-in-user' : scope;
}

function mayAsRole(role: MemberRole, needed: string): boolean {
  const held = ROLE_TABLE[role];
  return !isScope(needed) || held === 'everything' || held.includes(needed);
}

function mayAsKey(scope: PermissionScope, needed: string): boolean {
  if (isScope(needed)) return scope === 'admin' || scope === needed;
  return needed !== 'signed-in-user';
}

function isScope(needed: string): boolean {
  return !['public', 'signed-in', 'signed-in-user'].includes(needed);
}

const userOf = (role: MemberRole): Caller => ({
  kind: 'user',
  id: 'u',
  name: 'User',
  email: 'user@example.com',
  sessionId: 's',
  orgId: 'o',
  role,
  scopes: scopesOfRole(role),
});
const keyWith = (scope: PermissionScope): Caller => ({
  kind: 'api_key',
  id: 'k',
  name: 'key',
  orgId: 'o',
  scopes: [scope],
});

const middleware = permission();

/** What the chain's permission check says: null, or the refusal. */
function refusalOf(operation: Operation, caller: Caller | null): ServiceError | null {
  try {
    middleware.before?.({ context: { state: { operation, caller } } } as never);
    return null;
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

describe('operation × role × scope', () => {
  it('has all roles and all eleven scopes to try', () => {
    expect(Object.keys(ROLE_TABLE)).toEqual([...MEMBER_ROLES]);
    expect(KEY_SCOPES).toEqual([...PERMISSIONS]);
  });

  it.each(operations.map((operation) => [operation.id, operation] as const))('%s', (_, operation) => {
    const needed = neededBy(operation);
    const columns = [
      ...MEMBER_ROLES.map((role) => ({ name: role, caller: userOf(role), may: mayAsRole(role, needed) })),
      ...KEY_SCOPES.map((scope) => ({ name: scope, caller: keyWith(scope), may: mayAsKey(scope, needed) })),
    ];
    for (const { name, caller, may } of columns) {
      const refusal = refusalOf(operation, caller);
      expect([name, refusal === null]).toEqual([name, may]);
      if (refusal === null) continue;
      expect(refusal.code).toBe('insufficient_permissions');
      expect(refusal.message).toContain(isScope(needed) ? needed : 'signed-in user');
    }
  });

  it.each(
    operations
      .filter((operation) => !['public', 'signed-in'].includes(neededBy(operation)))
      .map((operation) => [operation.id, operation] as const),
  )('%s is closed to whom the authorizer did not name', (_, operation) => {
    expect(refusalOf(operation, null)?.code).toBe('unauthorized');
  });

  it('lets a user of no organization do nothing behind a scope', () => {
    const stranger: Caller = { ...(userOf('Admin') as Caller & { kind: 'user' }), orgId: null, scopes: [] };
    for (const operation of operations.filter((candidate) => isScope(neededBy(candidate))))
      expect([operation.id, refusalOf(operation, stranger)?.code]).toEqual([operation.id, 'not_found']);
  });

  it('prints the table’s size', () => {
    const columns = MEMBER_ROLES.length + KEY_SCOPES.length;
    const open = operations.flatMap((operation) => {
      const needed = neededBy(operation);
      return [
        ...MEMBER_ROLES.map((role) => mayAsRole(role, needed)),
        ...KEY_SCOPES.map((scope) => mayAsKey(scope, needed)),
      ];
    });
    console.log(
      `access: ${operations.length} operations × ${columns} callers, ${open.filter(Boolean).length} allowed, ${open.filter((may) => !may).length} refused`,
    );
    expect(open).toHaveLength(operations.length * columns);
  });
});
