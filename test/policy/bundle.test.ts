import { execFile } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { type BuildOptions, build } from 'esbuild';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { PROJECT_ROOT } from '#infra/project.ts';
import { POLICY_ASSETS } from '#shared/policy/files.ts';

/** As a function is deployed: bundles and the artefact in one folder, and nothing of the project around. */
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'policy-bundle-'));
});
afterAll(() => rm(folder, { recursive: true }));

async function bundle(main: string, assets: readonly (keyof typeof POLICY_ASSETS)[]): Promise<void> {
  await writeFile(join(folder, 'main.ts'), main);
  const options = {
    absWorkingDir: PROJECT_ROOT,
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    outdir: folder,
    entryNames: '[name]',
    outExtension: { '.js': '.mjs' },
    mainFields: ['module', 'main'],
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  } satisfies BuildOptions;
  const entries = assets.flatMap((name) => [...POLICY_ASSETS[name].entries]);
  await build({ ...options, entryPoints: [join(folder, 'main.ts'), ...entries] });
  for (const file of assets.flatMap((name) => [...POLICY_ASSETS[name].copies]))
    await copyFile(join(PROJECT_ROOT, file), join(folder, basename(file)));
}

async function run(): Promise<unknown> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, ['main.mjs'], {
    cwd: folder,
    env: { PATH: process.env.PATH },
  });
  expect(stderr).toBe('');
  return JSON.parse(stdout);
}

test('both evaluators work from a bundle', async () => {
  const from = (file: string) => JSON.stringify(`${PROJECT_ROOT}/shared/policy/${file}.ts`);
  await bundle(
    `import { createBulk } from ${from('bulk')};
     import { checkPolicy } from ${from('check')};
     import { evaluateMany } from ${from('evaluate')};
     import { policyFiles } from ${from('files')};
     import { createReactor } from ${from('reactor')};
     const files = policyFiles(${JSON.stringify(folder)});
     const reactor = createReactor(files);
     const bulk = createBulk(files);
     const rego = 'package svc.triage\\nimport rego.v1\\ntext := sprintf("%v", [input.x])';
     const checked = await checkPolicy(reactor, { kind: 'triage', rego, samples: [{ x: 1 }] });
     const results = await evaluateMany({ bulk, reactor: () => reactor }, checked.compiled!, [{ x: 1 }, { x: [1] }]);
     console.log(JSON.stringify(results));
     await Promise.all([reactor.close(), bulk.close()]);`,
    ['bulk', 'reactor'],
  );
  expect(await run()).toEqual([{ result: { text: '1' } }, { result: { text: '[1]' } }]);
});
