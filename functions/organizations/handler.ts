import { operations } from '#contract/index.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { systemClock } from '#domain/clock.ts';
import { createIds } from '#domain/ids.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createQueue } from '#shared/queue.ts';
import { createAuditLogStore } from '#store/audit-log.ts';
import { createCounterStore } from '#store/counters.ts';
import { createGroupMemberStore } from '#store/group-members.ts';
import { createInvitationStore } from '#store/invitations.ts';
import { createMemberStore } from '#store/members.ts';
import { createOrganizationPurge } from '#store/organization-purge.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createProjectStore } from '#store/projects.ts';
import { createTable } from '#store/table.ts';
import { createTeamStore } from '#store/teams.ts';
import { operationsOfOrganizations } from './operations.ts';

const config = readConfig([
  'TABLE_NAME',
  'COUNTER_LANES',
  'ASPM_DEFAULT_TIER',
  'ASPM_ORG_CREATION',
  'ASPM_ORG_CREATION_CAP',
  'DELETION_QUEUE_URL',
]);
const table = createTable(config.TABLE_NAME);
const groups = createGroupMemberStore(table);

/** Serves `$default` as well: what no route of the gateway fits becomes a 404 in the envelope here. */
export const handler = createHandler(
  organizations,
  operationsOfOrganizations,
  {
    organizations: createOrganizationStore(table),
    members: createMemberStore(table, groups),
    invitations: createInvitationStore(table),
    teams: createTeamStore(table),
    projects: createProjectStore(table, createCounterStore(table, config.COUNTER_LANES)),
    groups,
    auditLog: createAuditLogStore(table),
    purge: createOrganizationPurge(table),
    deletions: createQueue(config.DELETION_QUEUE_URL),
    clock: systemClock,
    ids: createIds(systemClock),
    defaultTier: config.ASPM_DEFAULT_TIER,
    creation: { by: config.ASPM_ORG_CREATION, most: config.ASPM_ORG_CREATION_CAP },
  },
  { elsewhere: operations },
);
