import { PERMISSIONS, type PermissionScope, type Role } from './vocabulary.ts';

const READ = PERMISSIONS.filter((scope) => scope.endsWith(':read'));
const EDITOR: readonly PermissionScope[] = [...READ, 'findings:write', 'tickets:write'];

/** What each role may do: the specification's table, spelled out in scopes (design 4). */
const SCOPES_OF_ROLE: Record<Role, readonly PermissionScope[]> = {
  Viewer: READ,
  Editor: EDITOR,
  'Policy Editor': [...EDITOR, 'policies:write'],
  'Project Admin': [...EDITOR, 'projects:write', 'scans:write'],
  Admin: PERMISSIONS,
};

export function scopesOfRole(role: Role): readonly PermissionScope[] {
  return SCOPES_OF_ROLE[role];
}

/** `admin` implies every scope. */
export function allows(held: readonly string[], needed: PermissionScope): boolean {
  return held.includes(needed) || held.includes('admin');
}
