import type { OperationDeclaration } from '#contract/operation.ts';
import { apiKeys } from '#contract/operations/api-keys.ts';
import { assets } from '#contract/operations/assets.ts';
import { integrations } from '#contract/operations/integrations.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { policies } from '#contract/operations/policies.ts';
import { projects } from '#contract/operations/projects.ts';
import { scans } from '#contract/operations/scans.ts';

/** One kind of record that an organization takes along. */
export interface ExportedList {
  /** Name of its file. */
  readonly kind: string;
  readonly operation: OperationDeclaration;
  /** Asked for each record of kinds before it, by the id in this path parameter. */
  readonly of?: { readonly kinds: readonly string[]; readonly param: string };
  /** Where the list is short of what a record has: the operation that shows one, by this field of the list's. */
  readonly detail?: { readonly operation: OperationDeclaration; readonly param: string };
}

/** In the order in which they are read: parents first. Findings come after them, as one file. */
export const EXPORTED_LISTS: readonly ExportedList[] = [
  { kind: 'organization', operation: organizations.operations.getOwnOrganization },
  { kind: 'users', operation: organizations.operations.listUsers },
  { kind: 'invitations', operation: organizations.operations.listInvitations },
  { kind: 'teams', operation: organizations.operations.listOwnTeams },
  {
    kind: 'team-members',
    operation: organizations.operations.listTeamMembers,
    of: { kinds: ['teams'], param: 'team_id' },
  },
  { kind: 'api-keys', operation: apiKeys.operations.listApiKeys },
  { kind: 'integrations', operation: integrations.operations.listIntegrations },
  { kind: 'projects', operation: projects.operations.listProjects },
  {
    kind: 'sub-projects',
    operation: projects.operations.listSubProjects,
    of: { kinds: ['projects'], param: 'project_id' },
  },
  {
    kind: 'project-members',
    operation: organizations.operations.listProjectMembers,
    of: { kinds: ['projects', 'sub-projects'], param: 'project_id' },
  },
  { kind: 'assets', operation: assets.operations.listAssets },
  { kind: 'scans', operation: scans.operations.listScans },
  {
    kind: 'scan-runs',
    operation: scans.operations.listScanRuns,
    of: { kinds: ['scans'], param: 'scan_id' },
  },
  { kind: 'policies', operation: policies.operations.listPolicies },
  {
    kind: 'policy-versions',
    operation: policies.operations.listPolicyVersions,
    of: { kinds: ['policies'], param: 'policy_id' },
    detail: { operation: policies.operations.getPolicyVersion, param: 'version' },
  },
  {
    kind: 'policy-runs',
    operation: policies.operations.listOpenPolicyRuns,
    of: { kinds: ['policies'], param: 'policy_id' },
  },
  { kind: 'audit-log', operation: organizations.operations.listAuditLog },
];
