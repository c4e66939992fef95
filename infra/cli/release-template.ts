import { existsSync, writeFileSync } from 'node:fs';
import {
  RELEASED_TEMPLATE,
  readReleasedTemplate,
  synthesizeTemplate,
} from '#infra/released/template-file.ts';
import { compact, findLosses } from '#infra/released/upgrade-gate.ts';

/**
 * `npm run release-template`: keeps what of this version's template later ones are held to. A version that would
 * lose something of the last one is not kept.
 */
const template = synthesizeTemplate();
const losses = existsSync(RELEASED_TEMPLATE) ? findLosses(readReleasedTemplate(), template) : [];
if (losses.length > 0) {
  console.error(`This version is no update of the released one:\n${losses.join('\n')}`);
  process.exitCode = 1;
} else {
  const kept = compact(template);
  writeFileSync(RELEASED_TEMPLATE, `${JSON.stringify(kept, null, 2)}\n`);
  console.log(`Kept ${Object.keys(kept.Resources).length} resources in ${RELEASED_TEMPLATE}`);
}
