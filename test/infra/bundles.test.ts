import { statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import type { Metafile } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleFunctions } from '#infra/functions/bundle.ts';
import { FUNCTION_NAMES } from '#infra/functions/catalogue.ts';
import { BUNDLES, PROJECT_ROOT } from '#infra/project.ts';

const LIMIT = 600_000;

describe('bundles', () => {
  let outputs: Metafile['outputs'];
  beforeAll(async () => {
    ({ outputs } = await bundleFunctions());
  });

  it.each(FUNCTION_NAMES)('%s is small, and needs nothing that Lambda does not bring', (name) => {
    const path = `${BUNDLES}/${name}/index.mjs`;
    expect(statSync(path).size).toBeLessThan(LIMIT);
    const { imports = [] } = outputs[path.slice(PROJECT_ROOT.length + 1)] ?? {};
    const external = imports.map((imported) => imported.path);
    expect(external).not.toEqual([]);
    expect(external.filter((module) => !isBuiltin(module))).toEqual([]);
  });

  it('brings the files of the reference page', () => {
    for (const file of ['page/index.html', 'assets/swagger-ui-bundle.js', 'assets/swagger-ui.css'])
      expect(statSync(`${BUNDLES}/reference/${file}`).size).toBeGreaterThan(0);
  });
});
