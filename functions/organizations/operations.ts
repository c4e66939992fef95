import type { organizations } from '#contract/operations/organizations.ts';
import type { Implementations } from '#http/chain.ts';
import type { OrganizationDependencies } from './dependencies.ts';
import { invitationOperations } from './invitation-operations.ts';
import { memberOperations } from './member-operations.ts';
import { organizationOperations } from './organization-operations.ts';
import { teamOperations } from './team-operations.ts';

export const operationsOfOrganizations: Implementations<
  typeof organizations.operations,
  OrganizationDependencies
> = { ...organizationOperations, ...memberOperations, ...invitationOperations, ...teamOperations };
