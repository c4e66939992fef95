import * as z from 'zod';
import { readRole } from '#domain/permissions.ts';
import { REPOSITORY_EXCLUSIONS, SCANNERS } from '#domain/vocabulary.ts';
import { declareGroup } from '../operation.ts';
import {
  clearableText,
  deletedOf,
  listOf,
  opaqueIdInput,
  optionalPageQuery,
  pageQuery,
  Slug,
  text,
  Uuid,
} from '../schemas/common.ts';
import {
  AuditEntry,
  CreatedUser,
  Invitation,
  Organization,
  OrgMembershipRead,
  OrgRead,
  ProjectMemberRead,
  SlaDays,
  Team,
  TeamMemberRead,
  TeamRead,
  User,
} from '../schemas/records.ts';

const org = z.object({ org_id: Uuid });
const team = z.object({ org_id: Uuid, team_id: Uuid });
const project = z.object({ org_id: Uuid, project_id: Uuid });

/** A role in any spelling that the design allows. */
const RoleInput = z
  .string()
  .transform((value, context) => {
    const role = readRole(value);
    if (role !== null) return role;
    context.issues.push({
      code: 'custom',
      input: value,
      message: 'must be one of Viewer, Editor, Policy Editor, Project Admin, Admin, member',
    });
    return z.NEVER;
  })
  .meta({ example: 'Viewer' });

/** Five fields; the finer rules of each are checked when the schedule is carried out. */
const Cron = z
  .string()
  .max(100)
  .regex(/^\s*(?:[\d*/,\-A-Za-z]+\s+){4}[\d*/,\-A-Za-z]+\s*$/, 'must be a cron expression of five fields');

const GroupMemberCreate = z.object({ user_id: Uuid, role: RoleInput.optional() });
const Removed = z.object({ user_id: Uuid, deleted: z.literal(true) });
const Deleted = z.object({ id: Uuid, deleted: z.literal(true) });
const member = { member_user_id: Uuid };

export const organizations = declareGroup('organizations', {
  createOrganization: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/',
    summary: 'Create an organization, where users may; the caller becomes its admin',
    permission: 'signed-in-user',
    body: z.object({ name: text(200), slug: Slug.nullish() }),
    response: { status: 200, schema: OrgRead },
    errors: ['already_exists', 'conflict'],
  },
  getOrganization: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}',
    summary: 'One organization',
    permission: 'projects:read',
    params: org,
    response: { status: 200, schema: OrgRead },
    errors: [],
  },
  updateOrganization: {
    family: 'A',
    method: 'PATCH',
    path: '/api/orgs/{org_id}',
    summary: 'Change name or settings',
    permission: 'admin',
    params: org,
    body: z.object({
      name: text(200).optional(),
      settings: z
        .object({
          sla_days: SlaDays.partial().optional(),
          scan_schedule: z
            .object({ cron: Cron, scanners: z.array(z.enum(SCANNERS)).min(1) })
            .nullable()
            .optional(),
          auto_resolve: z.boolean().optional(),
          repository_exclusions: z.enum(REPOSITORY_EXCLUSIONS).optional(),
        })
        .optional(),
    }),
    response: { status: 200, schema: OrgRead },
    errors: ['conflict'],
  },
  deleteOrganization: {
    family: 'A',
    method: 'DELETE',
    path: '/api/orgs/{org_id}',
    summary: 'Delete the organization: at once for everybody, in the background for its records',
    permission: 'admin',
    params: org,
    response: { status: 200, schema: Deleted },
    errors: [],
  },
  listMembers: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/members',
    summary: 'Members of the organization',
    permission: 'projects:read',
    params: org,
    query: z.object(optionalPageQuery),
    response: { status: 200, schema: z.array(OrgMembershipRead) },
    errors: [],
  },
  addMember: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/{org_id}/members',
    summary: 'Invite a user, or change the role of a member',
    permission: 'admin',
    params: org,
    query: z.object({ user_id: Uuid, role: RoleInput.optional() }),
    response: { status: 200, schema: OrgMembershipRead },
    errors: ['already_exists', 'conflict'],
  },
  removeMember: {
    family: 'A',
    method: 'DELETE',
    path: '/api/orgs/{org_id}/members/{member_user_id}',
    summary: 'Remove a member, from its teams and projects too',
    permission: 'admin',
    params: z.object({ org_id: Uuid, ...member }),
    response: { status: 200, schema: Removed },
    errors: ['conflict'],
  },
  listTeams: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/teams/',
    summary: 'Teams of the organization',
    permission: 'projects:read',
    params: org,
    query: z.object(optionalPageQuery),
    response: { status: 200, schema: z.array(TeamRead) },
    errors: [],
  },
  createTeam: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/{org_id}/teams/',
    summary: 'Create a team',
    permission: 'projects:write',
    params: org,
    body: z.object({ name: text(200), description: clearableText(2000) }),
    response: { status: 200, schema: TeamRead },
    errors: ['already_exists'],
  },
  getTeam: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/teams/{team_id}',
    summary: 'One team',
    permission: 'projects:read',
    params: team,
    response: { status: 200, schema: TeamRead },
    errors: [],
  },
  updateTeam: {
    family: 'A',
    method: 'PATCH',
    path: '/api/orgs/{org_id}/teams/{team_id}',
    summary: 'Change name or description',
    permission: 'projects:write',
    params: team,
    body: z.object({ name: text(200).optional(), description: clearableText(2000) }),
    response: { status: 200, schema: TeamRead },
    errors: ['already_exists', 'conflict'],
  },
  deleteTeam: {
    family: 'A',
    method: 'DELETE',
    path: '/api/orgs/{org_id}/teams/{team_id}',
    summary: 'Delete a team that no project belongs to',
    permission: 'projects:write',
    params: team,
    response: { status: 200, schema: Deleted },
    errors: ['cannot_delete', 'conflict'],
  },
  listTeamMembers: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/teams/{team_id}/members',
    summary: 'Members of a team',
    permission: 'projects:read',
    params: team,
    query: z.object(optionalPageQuery),
    response: { status: 200, schema: z.array(TeamMemberRead) },
    errors: [],
  },
  addTeamMember: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/{org_id}/teams/{team_id}/members',
    summary: 'Add a member of the organization to a team, or change the role',
    permission: 'projects:write',
    params: team,
    body: GroupMemberCreate,
    response: { status: 200, schema: TeamMemberRead },
    errors: ['already_exists'],
  },
  removeTeamMember: {
    family: 'A',
    method: 'DELETE',
    path: '/api/orgs/{org_id}/teams/{team_id}/members/{member_user_id}',
    summary: 'Remove a member from a team',
    permission: 'projects:write',
    params: z.object({ org_id: Uuid, team_id: Uuid, ...member }),
    response: { status: 200, schema: Removed },
    errors: [],
  },
  listProjectMembers: {
    family: 'A',
    method: 'GET',
    path: '/api/orgs/{org_id}/{project_id}/members',
    summary: 'Members of a project',
    permission: 'projects:read',
    params: project,
    query: z.object(optionalPageQuery),
    response: { status: 200, schema: z.array(ProjectMemberRead) },
    errors: [],
  },
  addProjectMember: {
    family: 'A',
    method: 'POST',
    path: '/api/orgs/{org_id}/{project_id}/members',
    summary: 'Add a member of the organization to a project, or change the role',
    permission: 'projects:write',
    params: project,
    body: GroupMemberCreate,
    response: { status: 200, schema: ProjectMemberRead },
    errors: ['already_exists'],
  },
  removeProjectMember: {
    family: 'A',
    method: 'DELETE',
    path: '/api/orgs/{org_id}/{project_id}/members/{member_user_id}',
    summary: 'Remove a member from a project',
    permission: 'projects:write',
    params: z.object({ org_id: Uuid, project_id: Uuid, ...member }),
    response: { status: 200, schema: Removed },
    errors: [],
  },
  getOwnOrganization: {
    family: 'B',
    method: 'GET',
    path: '/api/organization',
    summary: 'The organization of the caller',
    permission: 'admin',
    response: { status: 200, schema: Organization },
    errors: [],
  },
  listOwnTeams: {
    family: 'B',
    method: 'GET',
    path: '/api/organization/teams',
    summary: 'Teams of the organization',
    permission: 'admin',
    query: z.object({
      ...pageQuery,
      sort: z.enum(['name', '-name', 'created_at', '-created_at']).default('name'),
    }),
    response: { status: 200, schema: listOf(Team) },
    errors: [],
  },
  listUsers: {
    family: 'B',
    method: 'GET',
    path: '/api/organization/users',
    summary: 'Users of the organization',
    permission: 'admin',
    query: z.object({
      ...pageQuery,
      sort: z.enum(['name', '-name', 'created_at', '-created_at']).default('name'),
      role: RoleInput.optional(),
    }),
    response: { status: 200, schema: listOf(User) },
    errors: [],
  },
  createUser: {
    family: 'B',
    method: 'POST',
    path: '/api/organization/users',
    summary:
      'Make a user who is a member, or invite one who is known elsewhere; without a password the identity provider signs them in',
    permission: 'admin',
    addition: true,
    body: z.object({
      email: z.email().max(254),
      name: text(200),
      password: z.string().min(1).max(1024).nullish(),
      role: RoleInput.optional(),
    }),
    response: { status: 201, schema: CreatedUser },
    errors: ['already_exists', 'conflict'],
  },
  listInvitations: {
    family: 'B',
    method: 'GET',
    path: '/api/organization/invitations',
    summary: 'Invitations that can still be accepted, newest first',
    permission: 'admin',
    addition: true,
    query: z.object(pageQuery),
    response: { status: 200, schema: listOf(Invitation) },
    errors: [],
  },
  revokeInvitation: {
    family: 'B',
    method: 'DELETE',
    path: '/api/organization/invitations/{invitation_id}',
    summary: 'Take an invitation back',
    permission: 'admin',
    addition: true,
    params: z.object({ invitation_id: opaqueIdInput('invitation') }),
    response: { status: 200, schema: deletedOf('invitation') },
    errors: [],
  },
  listAuditLog: {
    family: 'B',
    method: 'GET',
    path: '/api/organization/audit-log',
    summary: 'What was done, by whom, newest first',
    permission: 'admin',
    query: z.object({
      ...pageQuery,
      // Both names of the one time that an entry has.
      sort: z.enum(['at', '-at', 'created_at', '-created_at']).default('-created_at'),
      actor: text(300).optional(),
      action: text(100).optional(),
      target_id: text(100).optional(),
      from: z.iso.datetime({ offset: true }).optional(),
      to: z.iso.datetime({ offset: true }).optional(),
    }),
    response: { status: 200, schema: listOf(AuditEntry) },
    errors: [],
  },
});
