import type { organizations } from '#contract/operations/organizations.ts';
import { notFound } from '#domain/errors.ts';
import type { Implementations } from '#http/chain.ts';
import type { OrganizationStore } from '#store/organizations.ts';

export const organizationOperations: Implementations<
  typeof organizations.operations,
  { readonly organizations: OrganizationStore }
> = {
  async getOrganization({ caller }, { organizations }) {
    const organization = await organizations.getOrganization(caller.orgId);
    if (!organization) throw notFound('organization');
    return organization;
  },
};
