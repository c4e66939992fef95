import { operations } from '#contract/index.ts';
import { organizations } from '#contract/operations/organizations.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { createOrganizationStore } from '#store/organizations.ts';
import { createTable } from '#store/table.ts';
import { organizationOperations } from './operations.ts';

const config = readConfig(['TABLE_NAME']);

/** Serves `$default` as well: what no route of the gateway fits becomes a 404 in the envelope here. */
export const handler = createHandler(
  organizations,
  organizationOperations,
  { organizations: createOrganizationStore(createTable(config.TABLE_NAME)) },
  { elsewhere: operations },
);
