import { reference } from '#contract/operations/reference.ts';
import { createHandler } from '#http/chain.ts';
import { readConfig } from '#shared/config.ts';
import { referenceOperations } from './operations.ts';
import { createPage } from './page.ts';

const config = readConfig(['PUBLIC_URL', 'ASSETS_DIR']);

export const handler = createHandler(
  reference,
  referenceOperations,
  { publicUrl: config.PUBLIC_URL },
  { page: createPage(config.ASSETS_DIR) },
);
