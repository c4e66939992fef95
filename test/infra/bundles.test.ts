import { execFile } from 'node:child_process';
import { on } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import type { Metafile } from 'esbuild';
import { beforeAll, describe, expect, it } from 'vitest';
import { bundleFunctions } from '#infra/functions/bundle.ts';
import { FUNCTION_NAMES, FUNCTIONS, type FunctionDeclaration } from '#infra/functions/catalogue.ts';
import { BUNDLES, POLICY_FOLDER, PROJECT_ROOT } from '#infra/project.ts';
import { REPORT_LIMITS } from '#shared/ingest/reader/report-limits.ts';

const LIMIT = 620_000;

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

  it.each(FUNCTION_NAMES)('%s is told its name where it measures, and nowhere else', (name) => {
    const { inputs = {} } = outputs[`${BUNDLES}/${name}/index.mjs`.slice(PROJECT_ROOT.length + 1)] ?? {};
    const { measures }: FunctionDeclaration = FUNCTIONS[name];
    expect('shared/metrics.ts' in inputs).toBe(measures === true);
  });

  it('brings the policy engine where it is needed, each thread as small as a function', () => {
    const folder = `${BUNDLES}/policies/${POLICY_FOLDER}`;
    expect(statSync(`${folder}/reactor-worker.mjs`).size).toBeLessThan(LIMIT);
    for (const file of ['opa.wasm.br', 'opa.wasm.br.sha256', 'NOTICE'])
      expect(statSync(`${folder}/${file}`).size).toBeGreaterThan(0);
  });

  it.each(['imports', 'take-upload', 'ingest-report', 'ingest-import'])(
    '%s reads reports as it is deployed: in the thread that its bundle brings',
    async (name) => {
      const path = `${BUNDLES}/${name}/reader-worker.mjs`;
      expect(statSync(path).size).toBeLessThan(LIMIT);
      const thread = new Worker(path, { env: {} });
      try {
        const messages = on(thread, 'message');
        expect(await messages.next()).toMatchObject({ value: [{ ready: true }] });
        const report = { results: [], errors: [], paths: { scanned: [] } };
        const bytes = Buffer.from(JSON.stringify(report));
        thread.postMessage({ from: 'runner', scanner: 'semgrep', bytes, limits: REPORT_LIMITS });
        expect(await messages.next()).toMatchObject({
          value: [{ end: { lines: [expect.any(Uint8Array)] } }],
        });
      } finally {
        await thread.terminate();
      }
    },
  );

  it('evaluates a policy as it is deployed: from the bundle alone', async () => {
    const path = '/api/policies/evaluate';
    const caller = { kind: 'api_key', id: 'k', name: 'k', orgId: 'o', scopes: ['policies:write'] };
    const rego = 'package svc.triage\nimport rego.v1\ndecision := input.x';
    const event = {
      rawPath: path,
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ kind: 'triage', rego, input: { x: 'accept' } }),
      isBase64Encoded: false,
      requestContext: {
        http: { method: 'POST', path, sourceIp: '192.0.2.1' },
        authorizer: { lambda: { caller: JSON.stringify(caller) } },
      },
    };
    const script = `const { handler } = await import('./index.mjs');
      console.log((await handler(${JSON.stringify(event)}, {})).body);
      process.exit();`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: `${BUNDLES}/policies`,
      env: {
        PATH: process.env.PATH,
        AWS_REGION: 'eu-west-1',
        TABLE_NAME: 'x',
        COUNTER_LANES: '1',
        POLICY_ASSETS_DIR: POLICY_FOLDER,
        REEVALUATION_QUEUE_URL: 'http://127.0.0.1:9/queue',
      },
    });
    expect(JSON.parse(stdout)).toMatchObject({ decision: 'accept' });
  });

  it('tells places in the sources of what fails as it is deployed', async () => {
    const event = {
      rawPath: '/api/projects',
      rawQueryString: 'verbose=true',
      queryStringParameters: { verbose: 'true' },
      headers: {},
      requestContext: { http: { method: 'GET', path: '/api/projects', sourceIp: '192.0.2.1' } },
    };
    const script = `const { handler } = await import('./index.mjs');
      console.log((await handler(${JSON.stringify(event)}, {})).body);
      process.exit();`;
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      cwd: `${BUNDLES}/projects`,
      env: { PATH: process.env.PATH, AWS_REGION: 'eu-west-1', TABLE_NAME: 'x', COUNTER_LANES: '1' },
    });
    const [frame = ''] = JSON.parse(stdout).error.stack_context.frames;
    expect(frame).toMatch(/^shared\/http\/middleware\/[a-z-]+\.ts:\d+$/);
    const [path = '', line] = frame.split(':');
    const source = readFileSync(`${PROJECT_ROOT}/${path}`, 'utf8').split('\n');
    expect(source[Number(line) - 1]).toMatch(/ServiceError|throw/);
  });

  it('brings the files of the reference page', () => {
    for (const file of ['page/index.html', 'assets/swagger-ui-bundle.js', 'assets/swagger-ui.css'])
      expect(statSync(`${BUNDLES}/reference/${file}`).size).toBeGreaterThan(0);
  });
});
