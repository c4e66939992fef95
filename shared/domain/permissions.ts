import { MEMBER_ROLES, type MemberRole, PERMISSIONS, type PermissionScope } from './vocabulary.ts';

const READ = PERMISSIONS.filter((scope) => scope.endsWith(':read'));
const EDITOR: readonly PermissionScope[] = [...READ, 'findings:write', 'tickets:write'];

/** What each role may do: the specification's table, spelled out in scopes (design 4). */
const SCOPES_OF_ROLE: Record<MemberRole, readonly PermissionScope[]> = {
  Viewer: READ,
  Editor: EDITOR,
  'Policy Editor': [...EDITOR, 'policies:write'],
  'Project Admin': [...EDITOR, 'projects:write', 'scans:write'],
  Admin: PERMISSIONS,
  // The default of the specification when a member is added; it has Viewer's permissions (design 3).
  member: READ,
};

export function scopesOfRole(role: MemberRole): readonly PermissionScope[] {
  return SCOPES_OF_ROLE[role];
}

/** `admin` implies every scope. */
export function allows(held: readonly string[], needed: PermissionScope): boolean {
  return held.includes(needed) || held.includes('admin');
}

const ROLE_BY_SPELLING = new Map<string, MemberRole>(MEMBER_ROLES.map((role) => [spelling(role), role]));

/** Reads a role in any case, with a space, an underscore or a hyphen; null where it is none. */
export function readRole(text: string): MemberRole | null {
  return ROLE_BY_SPELLING.get(spelling(text)) ?? null;
}

function spelling(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[_\- ]+/g, ' ')
    .trim();
}
