import type { Clock } from '#domain/clock.ts';
import type { Ids } from '#domain/ids.ts';
import type { Tier } from '#domain/vocabulary.ts';
import type { DeletionRequested } from '#events/deletions.ts';
import type { Queue } from '#shared/queue.ts';
import type { AuditLogStore } from '#store/audit-log.ts';
import type { GroupMemberStore } from '#store/group-members.ts';
import type { InvitationStore } from '#store/invitations.ts';
import type { MemberStore } from '#store/members.ts';
import type { OrganizationPurge } from '#store/organization-purge.ts';
import type { OrganizationStore } from '#store/organizations.ts';
import type { ProjectStore } from '#store/projects.ts';
import type { TeamStore } from '#store/teams.ts';

export interface OrganizationDependencies {
  readonly organizations: OrganizationStore;
  readonly members: MemberStore;
  readonly invitations: InvitationStore;
  readonly teams: TeamStore;
  readonly projects: ProjectStore;
  readonly groups: GroupMemberStore;
  readonly auditLog: AuditLogStore;
  readonly purge: OrganizationPurge;
  readonly deletions: Queue<DeletionRequested>;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Tier of a new organization. */
  readonly defaultTier: Tier;
  /** Who may make organizations, and how many of them one user may. */
  readonly creation: { readonly by: 'anyone' | 'admins' | 'operator'; readonly most: number };
}
